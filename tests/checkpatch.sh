# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The kernel's checkpatch.pl. Header packages do not have it, so it is taken
# from the newest linux-source package of the index and cached.
# Sourced after tests/qemu/setup.sh.

CHECKPATCH_FILES="checkpatch.pl spelling.txt const_structs.checkpatch"

# checkpatch_unpack DEB DIR: the three files, out of a tar file inside the package
checkpatch_unpack() {
	local inner name=${1##*/} f members=()

	name=${name%%_*}
	inner=$(dpkg-deb --fsys-tarfile "$1" | tar -t | grep -E '/linux-source-[0-9.]+\.tar\.xz$')
	[ -n "$inner" ] || { echo "no source archive in $1"; return 1; }
	for f in $CHECKPATCH_FILES; do
		members+=("$name/scripts/$f")
	done
	dpkg-deb --fsys-tarfile "$1" | tar -xO "$inner" |
		tar -xJ -C "$2" --strip-components=2 "${members[@]}"
}

# checkpatch_make DIR PACKAGE: apt checks the package's digest
checkpatch_make() {
	local tmp

	tmp=$(mktemp -d "$CACHE/tmp.checkpatch.XXXXXX")
	mkdir "$tmp/deb" "$tmp/out"
	if step "download $2 (checkpatch is in it)" apt_fetch "$tmp/deb" "$2" &&
		step "unpack checkpatch" checkpatch_unpack "$tmp"/deb/*.deb "$tmp/out"; then
		rm -rf "$CACHE"/checkpatch-*
		chmod 755 "$tmp/out"
		mv -T "$tmp/out" "$1"
	fi
	rm -rf "$tmp"
}

# checkpatch_get: sets CHECKPATCH_DIR
checkpatch_get() {
	local package

	index_once cached
	package=$(apt-cache pkgnames linux-source- | grep -E '^linux-source-[0-9]+\.[0-9]+$' | sort -V | tail -n 1)
	[ -n "$package" ] || { echo "the package index lists no linux-source package, which holds checkpatch"; return 1; }
	CHECKPATCH_DIR=$CACHE/checkpatch-$package-$(apt-cache policy "$package" |
		awk '/Candidate/ { print $2 }' | digest)
	if [ ! -s "$CHECKPATCH_DIR/checkpatch.pl" ]; then
		with_lock "$CACHE/lock" checkpatch_make "$CHECKPATCH_DIR" "$package" || return
	fi
	[ -s "$CHECKPATCH_DIR/checkpatch.pl" ] ||
		{ echo "checkpatch cannot be had from $package (see above)"; return 1; }
}
