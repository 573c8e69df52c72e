# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The two Debian trixie trees made with apt and dpkg-deb alone: the root that
# builds modules and runs QEMU, and the guest's root image. Both are made in a
# temporary place and renamed when complete: what has its final name is whole.
# Sourced after lib.sh and apt.sh.

ROOT_PACKAGES="base-files bash dash coreutils libc-bin sed grep mawk findutils gzip tar
	xz-utils diffutils util-linux mount kmod e2fsprogs gcc-14 gcc binutils make
	perl python3 sparse pahole libc6-dev libelf1t64 qemu-system-x86
	flex bison bc cpio libelf-dev libssl-dev"
GUEST_PACKAGES="base-files bash dash coreutils libc-bin sed grep mawk findutils gzip tar
	xz-utils diffutils util-linux mount kmod e2fsprogs procps"

# PARTUUID of the guest's root partition: an MBR disk signature, because NVMe
# names swap between boots and a kernel without initramfs knows no serials.
GUEST_SIGNATURE=6d676c72

# extract_debs TREE NAME...: unpack downloaded packages, without their scripts
extract_debs() {
	local tree=$1 deb f
	shift

	mkdir -p "$tree"
	# base-files first: it ships the usr-merge links.
	for f in "$@"; do
		case $f in base-files_*) dpkg-deb -x "$APT_DIR/cache/archives/$f" "$tree" ;; esac
	done
	for deb in "$@"; do
		case $deb in base-files_*) continue ;; esac
		dpkg-deb -x "$APT_DIR/cache/archives/$deb" "$tree" || return
	done
	# What the maintainer scripts would link.
	[ -e "$tree/usr/bin/awk" ] || ln -s mawk "$tree/usr/bin/awk"
	[ ! -e "$tree/usr/bin/gcc" ] || [ -e "$tree/usr/bin/cc" ] || ln -s gcc "$tree/usr/bin/cc"
	mkdir -p "$tree"/{proc,sys,dev,tmp,mnt,run,data,mglru}
	for f in null:3 zero:5 random:8 urandom:9; do
		[ -e "$tree/dev/${f%:*}" ] || mknod -m 666 "$tree/dev/${f%:*}" c 1 "${f#*:}"
	done
	[ -e "$tree/dev/console" ] || mknod -m 600 "$tree/dev/console" c 5 1
	rm -rf "$tree"/usr/share/{doc,man,locale,info,lintian,bash-completion}
	chroot "$tree" /usr/sbin/ldconfig
}

root_works() {
	run_in_root "$1" -- sh -c \
		'gcc --version && make --version && qemu-system-x86_64 --version && mke2fs -V && sparse --version'
}

# Roots, images and kernels that no run took for a week, and what interrupted
# runs left, go.
prune_cache() {
	find "$CACHE" -maxdepth 1 \( -name 'root-*' -o -name 'guest-*' \) -mtime +7 -exec rm -rf {} +
	find "$CACHE/kernels" -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} + 2>/dev/null || :
	find "$CACHE" -maxdepth 1 \( -name 'tmp.*' -o -name 'kvm-*' \) -mtime +2 -exec rm -rf {} +
}

# ensure_root: sets ROOT
ensure_root() {
	local files key tmp
	# shellcheck disable=SC2086 # a list
	files=$(apt_closure $ROOT_PACKAGES)
	# shellcheck disable=SC2086
	[ -n "$files" ] ||
		die "apt cannot resolve the packages of the build root: $(apt-get -s install $ROOT_PACKAGES 2>&1 | tail -n 3)"
	key=$(printf '%s\n' "$files" | cat - "$QEMU_DIR/root.sh" | digest)
	ROOT=$CACHE/root-$key
	if [ "$(cat "$ROOT/.packages" 2>/dev/null)" = "$files" ]; then
		if root_works "$ROOT" >/dev/null 2>&1; then
			say "build root: cached"
			return
		fi
		warn "the cached build root $ROOT is damaged: making it again"
	fi
	# shellcheck disable=SC2086
	step "build root: download $(wc -l <<<"$files") packages" apt_fetch_closure $ROOT_PACKAGES ||
		die "the packages of the build root cannot be fetched; check the network and the mirror (DEBIAN_MIRROR=URI)."
	tmp=$(mktemp -d "$CACHE/tmp.root.XXXXXX")
	# shellcheck disable=SC2086
	if ! step "build root: unpack" extract_debs "$tmp" $files ||
	   ! step "build root: check" root_works "$tmp"; then
		rm -rf "$tmp"
		die "the build root cannot be made (see above); is there room in $CACHE?"
	fi
	printf '%s\n' "$files" >"$tmp/.packages"
	chmod 755 "$tmp"
	rm -rf "$ROOT"
	mv -T "$tmp" "$ROOT"
}

# mbr FILE SECTORS: one Linux partition from 1 MiB on
mbr() {
	local le32='\\x%02x\\x%02x\\x%02x\\x%02x' sig=$((16#$GUEST_SIGNATURE)) n=$2 b

	# shellcheck disable=SC2059 # formats by design
	{
		printf -v b "$le32" $((sig & 255)) $((sig >> 8 & 255)) $((sig >> 16 & 255)) $((sig >> 24))
		printf "$b" | dd of="$1" bs=1 seek=440 conv=notrunc status=none
		printf -v b "\\\\x00\\\\x00\\\\x02\\\\x00\\\\x83\\\\xff\\\\xff\\\\xff\\\\x00\\\\x08\\\\x00\\\\x00$le32" \
			$((n & 255)) $((n >> 8 & 255)) $((n >> 16 & 255)) $((n >> 24))
		printf "$b" | dd of="$1" bs=1 seek=446 conv=notrunc status=none
		printf '\x55\xaa' | dd of="$1" bs=1 seek=510 conv=notrunc status=none
	}
}

# make_image ROOT TREE FILE SPARE_MB [OFFSET]: an ext4 image of TREE. The size
# follows from the contents.
make_image() {
	local root=$1 tree=$2 file=$3 spare=$4 offset=${5:-0} kb

	kb=$(du -sk "$tree" | cut -f1)
	kb=$((kb + kb / 4 + spare * 1024))
	rm -f "$file"
	truncate -s "$((kb * 1024 + offset))" "$file" || return
	run_in_root "$root" t="$tree" f="$(dirname "$file")" -- \
		mke2fs -q -F -t ext4 -m 0 -E "offset=$offset,lazy_itable_init=0,lazy_journal_init=0" \
		-d /mnt/t "/mnt/f/$(basename "$file")" "${kb}k" || return
	[ "$offset" = 0 ] || mbr "$file" $((kb * 2))
}

guest_image() {
	local tree=$1/tree file=$1/guest.img
	shift

	extract_debs "$tree" "$@" &&
		install -m 755 "$QEMU_DIR/stage1" "$tree/init" &&
		make_image "$ROOT" "$tree" "$file" 64 $((1024 * 1024))
}

# ensure_guest: sets GUEST_IMG
ensure_guest() {
	local files key tmp
	# shellcheck disable=SC2086
	files=$(apt_closure $GUEST_PACKAGES)
	[ -n "$files" ] ||
		die "apt cannot resolve the packages of the guest"
	key=$(printf '%s\n' "$files" | cat - "$QEMU_DIR/root.sh" "$QEMU_DIR/stage1" | digest)
	GUEST_IMG=$CACHE/guest-$key.img
	if [ -s "$GUEST_IMG" ]; then
		say "guest image: cached"
		return
	fi
	# shellcheck disable=SC2086
	step "guest image: download $(wc -l <<<"$files") packages" apt_fetch_closure $GUEST_PACKAGES ||
		die "the packages of the guest cannot be fetched; check the network and the mirror (DEBIAN_MIRROR=URI)."
	tmp=$(mktemp -d "$CACHE/tmp.guest.XXXXXX")
	# shellcheck disable=SC2086
	step "guest image: make" guest_image "$tmp" $files ||
		{ rm -rf "$tmp"; die "the guest image cannot be made (see above); is there room in $CACHE?"; }
	mv -T "$tmp/guest.img" "$GUEST_IMG"
	rm -rf "$tmp"
}
