# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # some variables are for the sourcing scripts
#
# The debug kernel of a series ("7.2-debug"): linux-source-7.2 of the index with
# debug.config, built in the trixie root and kept in the cache like a packaged
# kernel, see kernels.sh. Takes 20 minutes on two cores. Sourced after kernels.sh.

# configure_debug_kernel CONFIG: in the source tree, in the root
configure_debug_kernel() {
	local line bad=0

	make -s tinyconfig || return
	cat "$1" >>.config
	echo 'CONFIG_LOCALVERSION="-debug"' >>.config
	make -s olddefconfig || return
	while IFS= read -r line; do
		case $line in
		CONFIG_*) grep -qxF -- "$line" .config && continue ;;
		'# CONFIG_'*' is not set')
			line=${line#\# }
			grep -q "^${line%% *}=" .config || continue
			;;
		*) continue ;;
		esac
		echo "debug.config: not so in the final .config: $line"
		bad=1
	done <"$1"
	return "$bad"
}

# compile_debug_kernel: in the source tree, in the root. What modules need goes
# to /mnt/out/hdr, as a header package has it.
compile_debug_kernel() {
	local release hdr

	configure_debug_kernel /mnt/debug.config || return
	nice make -s -j"$(nproc)" bzImage modules || return
	release=$(make -s kernelrelease) || return
	hdr=/mnt/out/hdr/usr/src/linux-headers-$release
	mkdir -p "${hdr%/*}"
	# shellcheck disable=SC2016 # make's
	make -s run-command KBUILD_RUN_COMMAND='$(srctree)/scripts/package/install-extmod-build '"$hdr" || return
	cp .config "$hdr/" || return
	cp arch/x86/boot/bzImage /mnt/out/vmlinuz || return
	echo "$release" >/mnt/out/release
	echo "${hdr#/mnt/out/hdr}" >/mnt/out/headers
}

# unpack_source DIR: DIR/debs/*.deb to DIR/src
unpack_source() {
	local tar

	dpkg-deb -x "$1"/debs/linux-source-*.deb "$1/deb" || return
	tar=$(find "$1/deb" -name 'linux-source-*.tar.xz' | head -n 1)
	[ -n "$tar" ] || { echo "no source archive in the package"; return 1; }
	mkdir "$1/src"
	run_in_root "$ROOT" d="$1" -- tar -C /mnt/d/src --strip-components=1 -xf "/mnt/d/${tar#"$1"/}"
}

build_debug_kernel() {
	run_in_root "$ROOT" src="$1/src" out="$1" debug.config="$QEMU_DIR/debug.config" -- \
		bash -c "cd /mnt/src && $(declare -f configure_debug_kernel compile_debug_kernel)
			compile_debug_kernel"
}

debug_kernel_whole() {
	kernel_whole "$1" && (cd "$1" && sha256sum --status -c stamp)
}

# ensure_debug SERIES: sets KERNEL_CACHE, or SKIP_REASON if the index lacks the source
ensure_debug() {
	local package=linux-source-${1%-debug} version dir key

	if ! apt_has "$package"; then
		SKIP_REASON="the package index has no $package to build a debug kernel from"
		return 0
	fi
	version=$(apt-cache policy "$package" | awk '/Candidate/ { print $2 }')
	key=$({ echo "$version"; grep '^gcc-14_' "$ROOT/.packages"
		declare -f configure_debug_kernel compile_debug_kernel
		cat "$QEMU_DIR/debug.config"; } | digest)
	KERNEL_CACHE=$CACHE/kernels/$1-$key
	if debug_kernel_whole "$KERNEL_CACHE"; then
		say "kernel $1: cached $(cat "$KERNEL_CACHE/release")"
		return 0
	fi
	dir=$(mktemp -d "$CACHE/tmp.kernel.XXXXXX")
	mkdir "$dir/debs"
	if ! { step "kernel $1: download $package $version" apt_fetch "$dir/debs" "$package" &&
		step "kernel $1: unpack" unpack_source "$dir" &&
		step "kernel $1: build, 20 minutes on two cores" build_debug_kernel "$dir"; }; then
		rm -rf "$dir"
		die "the debug kernel $1 cannot be built (see above)"
	fi
	rm -rf "$dir"/{debs,deb,src}
	(cd "$dir" && find vmlinuz hdr -type f -print0 | sort -z | xargs -0 sha256sum >stamp.new && mv stamp.new stamp)
	chmod 755 "$dir"
	rm -rf "$KERNEL_CACHE"
	mkdir -p "${KERNEL_CACHE%/*}"
	mv -T "$dir" "$KERNEL_CACHE"
}
