# SPDX-License-Identifier: GPL-2.0-only
# A front for people. The kernel's build system needs Kbuild alone.

KDIR ?= /lib/modules/$(shell uname -r)/build
KREL = $(shell cat $(KDIR)/include/config/kernel.release)
KBUILD_MAKE = $(MAKE) -C $(KDIR) M=$(CURDIR)

all: kdir
	$(KBUILD_MAKE) modules

install: all
	$(KBUILD_MAKE) modules_install
	depmod $(if $(INSTALL_MOD_PATH),-b $(INSTALL_MOD_PATH)) $(KREL)

clean: kdir
	$(KBUILD_MAKE) clean

kdir:
	@test -e $(KDIR)/include/config/kernel.release || { \
		echo 'error: $(KDIR) holds no kernel headers.' \
		'Install linux-headers-'"$$(uname -r)"', or give KDIR=DIRECTORY.' >&2; exit 1; }

check:
	@tests/host-tools.sh
	@SERIES="$(S)" tests/check.sh

test:
	@tests/host-tools.sh
	@TESTS="$(T)" SERIES="$(S)" tests/run-tests.sh

test-debug:
	@tests/host-tools.sh
	@TESTS="$(T)" SERIES="$(S)" tests/run-tests.sh plan-debug

demo:
	@tests/host-tools.sh gnuplot
	@tests/demo.sh

help:
	@echo 'make            build mglru_policy.ko for the running kernel, or KDIR=DIRECTORY'
	@echo 'make install    install it and run depmod; INSTALL_MOD_PATH=DIRECTORY'
	@echo 'make clean      remove what make built here'
	@echo 'make check      static checks: warnings, sparse, checkpatch, shellcheck, dkms ...'
	@echo 'make test       all tests, in virtual machines; root, 3 GB of cache'
	@echo '                T="basic unit" only these (names in tests/plan), S="7.2" only these series'
	@echo 'make test-debug the functional tests on a debug kernel, which it builds, and on PREEMPT_RT; hours'
	@echo 'make demo       a stock kernel, policies switched live: a table and a picture; root'

.PHONY: all install clean kdir check test test-debug demo help
