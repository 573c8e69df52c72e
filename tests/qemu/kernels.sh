# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # some variables are for the sourcing scripts
#
# From a series ("7.2") to a kernel: release, vmlinuz, headers and an image with
# its modules. Sourced after lib.sh, apt.sh and root.sh.
#
# A kernel's directory in the cache holds
#   release      the kernel release, as uname -r prints it
#   vmlinuz
#   hdr/         the header packages, unpacked (usr/src, usr/lib)
#   headers      the path of the build directory as seen in the root
#   modules.img  lib/modules of that kernel; not there when no package has it
#   initrd       only for a kernel whose disk drivers are modules
#
# A series may name a flavour: "7.2" is the cloud one, "7.2-rt" has PREEMPT_RT.

KERNELS_DIR=${KERNELS_DIR:-$TOP/../shared/kernels}

# flavour SERIES: as Debian names it
flavour() { case $1 in *-rt) echo rt-amd64 ;; *) echo cloud-amd64 ;; esac; }

# newest_release SERIES: the newest kernel with headers in the index
newest_release() {
	local version=${1%-rt} flavour re all

	flavour=$(flavour "$1")
	re=${version//./\\.}
	all=$(apt-cache pkgnames "linux-headers-$version" |
		sed -nE "s/^linux-headers-($re(\.[0-9]+)*[+-].*$flavour)\$/\1/p" | sort -V)
	# deb13 is trixie's own; others only when that is all there is.
	{ grep "+deb13-$flavour\$" <<<"$all" || grep . <<<"$all"; } | tail -n 1
}

# header_packages RELEASE: the header package and the parts it is split into
header_packages() {
	echo "linux-headers-$1"
	apt-cache depends "linux-headers-$1" |
		sed -nE 's/.*Depends: (linux-(headers|kbuild)-.*)/\1/p'
}

# image_packages RELEASE: 7.x split the image into binary and modules
image_packages() {
	if apt_has "linux-binary-$1"; then
		printf '%s\n' "linux-binary-$1" "linux-modules-$1"
	elif apt_has "linux-image-$1"; then
		echo "linux-image-$1"
	fi
}

# make_initrd DIR RELEASE: if NVMe is a module of the kernel in DIR/mod, an
# initrd of bash, mount, modprobe and the modules that reach the root disk.
make_initrd() {
	local dir=$1

	grep -qx 'CONFIG_BLK_DEV_NVME=m' "$dir/hdr$(cat "$dir/headers")/.config" || return 0
	mkdir "$dir/rd"
	# shellcheck disable=SC2016 # expands in the root
	run_in_root "$ROOT" d="$dir" init="$QEMU_DIR/initrd" -- bash -ec '
		cd /mnt/d/rd
		mkdir -p usr/bin usr/sbin usr/lib usr/lib64 dev proc sys root
		ln -s usr/bin usr/sbin usr/lib usr/lib64 .
		programs="/usr/bin/bash /usr/bin/mount /usr/bin/sleep /usr/bin/kmod /usr/sbin/switch_root"
		cp $programs usr/bin/
		ln -s kmod usr/bin/modprobe
		for lib in $(ldd $programs | grep -o "/[^ ]*" | grep -v : | sort -u); do
			mkdir -p ".${lib%/*}"
			cp -n "$lib" ".$lib"
		done
		for module in nvme ext4; do
			modprobe -d /mnt/d/mod -S "$1" --show-depends "$module"
		done | sed -n "s/^insmod \([^ ]*\).*/\1/p" | sort -u | while read -r file; do
			to=.${file#/mnt/d/mod}
			mkdir -p "${to%/*}"
			cp "$file" "$to"
			case $to in *.xz) xz -d "$to" ;; esac
		done
		depmod -b . "$1" 2>/dev/null	# it misses lists that 7.x has in another package
		cp /mnt/init init
		find . | cpio --quiet -o -H newc | gzip -1 >/mnt/d/initrd' initrd "$2" || return
	rm -rf "$dir/rd"
}

# unpack_kernel DIR: DIR/debs/*.deb (and DIR/vmlinuz, if given) to the layout above
unpack_kernel() {
	local dir=$1 deb release moddir k

	mkdir -p "$dir/hdr" "$dir/img"
	for deb in "$dir"/debs/*.deb; do
		case ${deb##*/} in
		linux-headers-*|linux-kbuild-*) dpkg-deb -x "$deb" "$dir/hdr" || return ;;
		*) dpkg-deb -x "$deb" "$dir/img" || return ;;
		esac
	done
	k=$(find "$dir/hdr/usr/src" -path '*/include/config/kernel.release' | head -n 1)
	[ -n "$k" ] || { echo "no include/config/kernel.release in the header packages"; return 1; }
	release=$(cat "$k")
	echo "$release" >"$dir/release"
	k=${k%/include/config/kernel.release}
	echo "${k#"$dir/hdr"}" >"$dir/headers"
	[ -e "$dir/vmlinuz" ] || cp "$(find "$dir/img" -name "vmlinuz*" -type f | head -n 1)" "$dir/vmlinuz" ||
		{ echo "no vmlinuz in the packages"; return 1; }
	moddir=$(find "$dir/img" -type d -path "*/modules/$release" | head -n 1)
	if [ -n "$moddir" ] && [ -d "$moddir/kernel" ]; then
		mkdir -p "$dir/mod/lib/modules"
		mv "$moddir" "$dir/mod/lib/modules/"
		run_in_root "$ROOT" m="$dir/mod" -- depmod -b /mnt/m "$release" &&
			make_initrd "$dir" "$release" &&
			make_image "$ROOT" "$dir/mod/lib/modules" "$dir/modules.img" 8 || return
	fi
	rm -rf "$dir/debs" "$dir/img" "$dir/mod"
}

# add_kernel DIR SERIES SOURCE...: make the cache directory DIR from packages of
# the index, or from local .deb and vmlinuz files.
add_kernel() {
	local dir=$1 series=$2 tmp f
	shift 2

	tmp=$(mktemp -d "$CACHE/tmp.kernel.XXXXXX")
	mkdir "$tmp/debs"
	case $1 in
	/*)
		for f in "$@"; do
			case $f in
			*.deb) cp "$f" "$tmp/debs/" ;;
			*) cp "$f" "$tmp/vmlinuz" ;;
			esac
		done
		;;
	*)
		step "kernel $series: download $#: $*" apt_fetch "$tmp/debs" "$@" ||
			{ rm -rf "$tmp"; return 1; }
		;;
	esac
	step "kernel $series: unpack" unpack_kernel "$tmp" || { rm -rf "$tmp"; return 1; }
	printf '%s\n' "$@" >"$tmp/stamp"
	chmod 755 "$tmp"
	rm -rf "$dir"
	mkdir -p "$(dirname "$dir")"
	mv -T "$tmp" "$dir"
}

kernel_whole() { [ -s "$1/stamp" ] && [ -s "$1/vmlinuz" ] && [ -s "$1/headers" ] && [ -s "$1/release" ]; }

# ensure_kernel SERIES: sets KERNEL_CACHE (its directory), or SKIP_REASON when
# the series cannot be had.
ensure_kernel() {
	local series=$1 release local_dir=$KERNELS_DIR/$1 packages=() files=() key

	KERNEL_CACHE='' SKIP_REASON=''
	release=$(newest_release "$series")
	if [ -n "$release" ]; then
		mapfile -t packages < <(image_packages "$release"; header_packages "$release")
		case ${packages[*]} in
		linux-headers-*) SKIP_REASON="the package index has headers of $release but no image"; return 0 ;;
		esac
		key=$(apt-cache policy "${packages[@]}" | awk '/Candidate/ { print $2 }' |
			cat - "$QEMU_DIR"/{kernels.sh,initrd} | digest)
		KERNEL_CACHE=$CACHE/kernels/$release-$key
		if kernel_whole "$KERNEL_CACHE"; then
			say "kernel $series: cached $release"
		else
			add_kernel "$KERNEL_CACHE" "$series" "${packages[@]}" ||
				die "kernel $series ($release) cannot be set up (see above)"
		fi
		return 0
	fi
	if [ -d "$local_dir" ]; then
		mapfile -t files < <(find "$(cd "$local_dir" && pwd)" -maxdepth 1 \
			\( -name 'linux-*.deb' -o -name 'vmlinuz*' \) | sort)
		case "${files[*]}" in
		*linux-headers-*vmlinuz*|*vmlinuz*linux-headers-*|*linux-headers-*linux-image-*) ;;
		*) SKIP_REASON="$local_dir lacks header packages or a vmlinuz"; return 0 ;;
		esac
		key=$( (stat -c '%n %s %Y' "${files[@]}"; cat "$QEMU_DIR/kernels.sh") | digest)
		KERNEL_CACHE=$CACHE/kernels/local-$series-$key
		if kernel_whole "$KERNEL_CACHE"; then
			say "kernel $series: cached $(cat "$KERNEL_CACHE/release") (from $local_dir)"
		else
			add_kernel "$KERNEL_CACHE" "$series" "${files[@]}" ||
				die "kernel $series of $local_dir cannot be set up (see above)"
		fi
		return 0
	fi
	SKIP_REASON="the package index lists no linux-headers-${series%-rt}.*-$(flavour "$series"), and there is no directory $local_dir"
}

# ensure_custom: KERNEL=vmlinuz HEADERS=dir-or-debs, any kernel. Sets KERNEL_CACHE.
ensure_custom() {
	local files=() key dir

	[ -r "$KERNEL" ] || die "KERNEL=$KERNEL cannot be read"
	[ -n "${HEADERS:-}" ] || die "KERNEL= needs HEADERS= beside it: a build directory, or a directory of header packages"
	[ -d "$HEADERS" ] || die "HEADERS=$HEADERS is not a directory"
	KERNEL=$(readlink -f "$KERNEL") HEADERS=$(readlink -f "$HEADERS")
	mapfile -t files < <(find "$HEADERS" -maxdepth 1 -name 'linux-*.deb' | sort)
	if ((${#files[@]})); then
		key=$( (stat -c '%n %s %Y' "${files[@]}" "$KERNEL"; cat "$QEMU_DIR/kernels.sh") | digest)
		KERNEL_CACHE=$CACHE/kernels/custom-$key
		kernel_whole "$KERNEL_CACHE" && return
		add_kernel "$KERNEL_CACHE" custom "${files[@]}" "$KERNEL" ||
			die "KERNEL=$KERNEL HEADERS=$HEADERS cannot be set up (see above)"
		return
	fi
	[ -r "$HEADERS/include/config/kernel.release" ] ||
		die "HEADERS=$HEADERS is no prepared kernel build directory (include/config/kernel.release is missing)"
	key=$(stat -c '%n %s %Y' "$KERNEL" "$HEADERS/include/config/kernel.release" | digest)
	KERNEL_CACHE=$CACHE/kernels/custom-$key
	dir=$(mktemp -d "$CACHE/tmp.kernel.XXXXXX")
	chmod 755 "$dir"
	cp "$KERNEL" "$dir/vmlinuz"
	cat "$HEADERS/include/config/kernel.release" >"$dir/release"
	echo "$HEADERS" >"$dir/headers"
	echo "$HEADERS" >"$dir/hostdir"	# bound into the root, not unpacked
	echo "$KERNEL" >"$dir/stamp"
	rm -rf "$KERNEL_CACHE"
	mkdir -p "$CACHE/kernels"
	mv -T "$dir" "$KERNEL_CACHE"
}

# header_binds DIR: the BINDs which make a kernel's headers visible in the root
header_binds() {
	local d

	if [ -e "$1/hostdir" ]; then
		d=$(cat "$1/hostdir")
		case $d in
		/usr/src/*)
			echo "/usr/src=/usr/src"
			for d in /usr/lib/linux-kbuild-*; do [ -d "$d" ] && echo "$d=$d"; done
			;;
		*) echo "$d=$d" ;;
		esac
		return 0
	fi
	echo "/usr/src=$1/hdr/usr/src"
	for d in "$1"/hdr/usr/lib/linux-kbuild-*; do
		[ -d "$d" ] && echo "/usr/lib/${d##*/}=$d"
	done
	return 0
}
