# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Debian's package index, read through a private apt configuration, so that the
# machine's own apt state is neither used nor changed. Sourced after lib.sh.

APT_DIR=$CACHE/apt
SUITES="trixie trixie-updates trixie-backports"
INDEX_MAX_AGE=$((12 * 3600))	# seconds before the index is fetched again

# Prints "URI|KEYRING": the first Debian archive in this machine's own apt
# configuration, whichever form that has (deb822 or one-line).
apt_own_mirror() {
	apt-get indextargets --format "\$(SITE)|\$(RELEASE)|\$(COMPONENT)|\$(SOURCESENTRY)" \
		'Created-By: Packages' 2>/dev/null | awk -F'|' '
		$3 == "main" && $1 !~ /security/ &&
		$2 ~ /^(bullseye|bookworm|trixie|forky|sid|duke|oldstable|stable|testing|unstable)(-updates|-backports)?$/ {
			sub(/:[0-9]+$/, "", $4); print $1 "|" $4; exit }' |
	while IFS='|' read -r uri file; do
		key=$(sed -nE -e 's/^Signed-By:[[:space:]]*(\/[^[:space:]]+).*/\1/Ip' \
			-e 's/^deb[[:space:]]*\[.*signed-by=(\/[^],[:space:]]+).*/\1/p' \
			"$file" 2>/dev/null | head -n 1)
		printf '%s|%s\n' "$uri" "$key"
	done
}

# Writes the private configuration and exports APT_CONFIG.
apt_configure() {
	local own uri key suite

	unset APT_CONFIG
	own=$(apt_own_mirror)
	uri=${DEBIAN_MIRROR:-${own%%|*}}
	key=${own#*|}
	[ -n "$uri" ] ||
		die "no Debian archive in this machine's apt configuration; name one with DEBIAN_MIRROR=URI."
	[ -n "$key" ] && [ -r "$key" ] || key=
	for own in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
		[ -n "$key" ] || { [ -r "$own" ] && key=$own; }
	done
	[ -n "$key" ] ||
		die "no keyring for $uri; install the package debian-archive-keyring."

	mkdir -p "$APT_DIR"/{none/partial,state/lists/partial,cache/archives/partial,etc/{apt.conf.d,preferences.d,sources.list.d,trusted.gpg.d}}
	# Empty: nothing counts as installed, so apt resolves whole closures.
	: >"$APT_DIR/state/status"
	for suite in $SUITES; do
		echo "deb [signed-by=$key] $uri $suite main"
	done >"$APT_DIR/etc/sources.list.new"
	{
		# Proxies and the like are the machine's to say.
		apt-config dump | grep -E '^Acquire::(http|https|ftp|Check-|Retries|Force|Queue)' || :
		cat <<-C
		Dir::State "$APT_DIR/state/";
		Dir::State::status "$APT_DIR/state/status";
		Dir::Cache "$APT_DIR/cache/";
		Dir::Etc "$APT_DIR/etc/";
		Dir::Log "$APT_DIR/";
		APT::Architecture "amd64";
		APT::Architectures { "amd64"; };
		APT::Install-Recommends "false";
		APT::Sandbox::User "root";
		Acquire::Languages "none";
		Acquire::Retries "3";
		C
	} >"$APT_DIR/apt.conf"
	if ! cmp -s "$APT_DIR/etc/sources.list.new" "$APT_DIR/etc/sources.list"; then
		rm -f "$APT_DIR/updated"
	fi
	mv "$APT_DIR/etc/sources.list.new" "$APT_DIR/etc/sources.list"
	export APT_CONFIG=$APT_DIR/apt.conf
}

# apt_index [fresh]: have the index; "fresh" fetches it whatever its age.
apt_index() {
	local age

	apt_configure
	age=$(($(date +%s) - $(stat -c %Y "$APT_DIR/updated" 2>/dev/null || echo 0)))
	if [ "${OFFLINE:-0}" = 1 ]; then
		[ -e "$APT_DIR/updated" ] || die "OFFLINE=1, but no package index was fetched before."
		return 0
	fi
	[ "${1:-}" != fresh ] && ((age < INDEX_MAX_AGE)) && return 0
	step "package index ($SUITES)" apt-get -qq -o APT::Update::Error-Mode=any update ||
		die "the package index cannot be fetched; check the network or name another mirror with DEBIAN_MIRROR=URI."
	touch "$APT_DIR/updated"
}

# apt_closure PKG...: the file names of these packages and all they depend on.
# apt prints no URI of what it has downloaded before, hence the empty archive.
apt_closure() {
	apt-get -o Dir::Cache::archives="$APT_DIR/none/" --print-uris -qq -y install "$@" | awk '{ print $2 }' | sort
}

apt_fetch_closure() {
	apt-get -qq -y --download-only install "$@"
}

# apt_fetch DIR PKG...: these packages alone, into DIR
apt_fetch() {
	(cd "$1" && shift && apt-get -qq download "$@")
}

# apt_has PKG: does the index list it with a version?
# (no grep -q: it would end apt-cache with a SIGPIPE, which pipefail reports)
apt_has() { apt-cache pkgnames "$1" | grep -xF -- "$1" >/dev/null; }
