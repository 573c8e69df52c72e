#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# host-tools.sh [TOOL...]: are the programs here that the tests (and TOOL) need?
# What is missing is installed through apt, after saying so; without root or
# apt, the command to install it is printed and the exit status is 1.

set -euo pipefail
# shellcheck source=tests/qemu/lib.sh
. "$(dirname "$0")/qemu/lib.sh"

PACKAGES=()
# The harness names what it needs by calls of this; collect instead of dying.
need_tool() { command -v "$1" >/dev/null || PACKAGES+=("$2"); }

need_libc_headers() {
	command -v gcc >/dev/null || return 0
	echo '#include <stdio.h>' | gcc -E - >/dev/null 2>&1 || PACKAGES+=(libc6-dev)
}

need_keyring() {
	local f

	for f in /usr/share/keyrings/debian-archive-keyring.{gpg,pgp}; do
		[ ! -r "$f" ] || return 0
	done
	PACKAGES+=(debian-archive-keyring)
}

install_packages() {
	step "apt-get update" apt-get -qq update &&
		step "apt-get install ${PACKAGES[*]}" env DEBIAN_FRONTEND=noninteractive \
			apt-get -qq -y --no-install-recommends install "${PACKAGES[@]}"
}

need_host_tools
need_tool gcc gcc
need_tool make make
need_tool shellcheck shellcheck
need_tool xz xz-utils
need_libc_headers
need_keyring
for tool in "$@"; do
	case $tool in
	gnuplot) need_tool gnuplot gnuplot-nox ;;
	*) need_tool "$tool" "$tool" ;;
	esac
done
((${#PACKAGES[@]})) || exit 0

mapfile -t PACKAGES < <(printf '%s\n' "${PACKAGES[@]}" | sort -u)
say "missing on this machine: ${PACKAGES[*]}"
if ! command -v apt-get >/dev/null; then
	die "this machine has no apt-get; the tests need a Debian or Ubuntu host with ${PACKAGES[*]}."
elif [ "$(id -u)" != 0 ]; then
	die "not root, so nothing was installed. Run: apt-get install ${PACKAGES[*]}"
fi
say "installing them with apt-get"
install_packages || die "they could not be installed (see above). Run: apt-get install ${PACKAGES[*]}"
