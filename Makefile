# Two commands do everything on a fresh machine:
#   make demo    builds gentle and runs its main job
#   make test    passes all tests

.DEFAULT_GOAL := build

.PHONY: build
build:
	scripts/bootstrap build
	cargo build --release --locked

# gentle compare with its defaults: the traffic of spa-2018, every scheme, five seeds.
.PHONY: demo
demo: build
	mkdir -p demo
	target/release/gentle compare --html demo/compare.html --csv demo/compare.csv
	@echo
	@echo "The same with plots: $(CURDIR)/demo/compare.html (one file, opens in any browser)"

.PHONY: test
test:
	scripts/bootstrap test
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	GENTLE_TESTBED=required cargo test --workspace --locked
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	$(MAKE) test-kernel-headers

# The modules against Debian's headers of 6.1, 6.12 and 7.2.
.PHONY: test-kernel-headers
test-kernel-headers:
	kernel/testing/compile-all

# The modules on the kernel that watches memory, locks and contexts: options, changes under load, malformed messages,
# decisions. Builds that kernel first if it has not been built.
.PHONY: test-kernel-debug
test-kernel-debug:
	scripts/bootstrap test
	GENTLE_TESTBED=required GENTLE_TESTBED_KERNEL=debug cargo test -p gentle --locked --test testbed -- modules:: decisions::

# The same scenario in ns-2, ns-3 and gentle, side by side.
.PHONY: bench-sim
bench-sim:
	scripts/bootstrap bench-sim
	bench/run-sim

# capinfos, tcptrace, tshark and gentle analyze on the same capture, side by side; then a SYN flood.
.PHONY: bench-trace
bench-trace:
	scripts/bootstrap bench-trace
	bench/run-trace
	bench/run-trace --flood

# A packet's cost in the kernel's queue disciplines, ours and Linux's own, side by side.
.PHONY: bench-kernel
bench-kernel:
	scripts/bootstrap bench-kernel
	bench/run-kernel

# A SYN flood through the wire engine of gentle rexmit, on one core.
.PHONY: bench-rexmit
bench-rexmit:
	scripts/bootstrap bench-rexmit
	bench/run-rexmit

# Every parser on inputs made to break it, FUZZ_SECONDS (60) each; see CONTRIBUTING.md.
.PHONY: fuzz
fuzz:
	scripts/bootstrap fuzz
	fuzz/run

PREFIX ?= /usr/local

.PHONY: install
install: build
	install -D -m 755 target/release/gentle $(DESTDIR)$(PREFIX)/bin/gentle
	for file in $$(cd kernel && ls Kbuild Makefile LICENSE-GPL-2.0 *.[ch] include/uapi/*.h tc/*.[ch]); do \
		install -D -m 644 "kernel/$$file" "$(DESTDIR)$(PREFIX)/share/gentle/kernel/$$file" || exit; done
	target/release/gentle man $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	target/release/gentle completions bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/gentle
	target/release/gentle completions zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_gentle
	target/release/gentle completions fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/gentle.fish

.PHONY: clean
clean:
	cargo clean
	rm -rf demo
