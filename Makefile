# On a fresh machine:
#   make demo    builds gentle and runs gentle compare
#   make test    runs the tests

.DEFAULT_GOAL := build

# cargo and its tests run without the job server of make -j2: a make within a test would wait for one of its tokens.
CARGO := env -u MAKEFLAGS -u MFLAGS cargo

.PHONY: build
build:
	scripts/bootstrap build
	$(CARGO) build --release --locked --bin gentle

# For packages: whole-program optimisation, which takes minutes on one core and 4 GB of memory.
.PHONY: dist
dist:
	scripts/bootstrap build
	$(CARGO) build --profile dist --locked --bin gentle

# Packages in dist/, and tests that install each and run its main job. PACKAGES="static deb" names some of packaging/order.
.PHONY: packages
packages:
	scripts/bootstrap packages
	packaging/build $(PACKAGES)

.PHONY: test-packages
test-packages:
	scripts/bootstrap test-packages
	packaging/test $(PACKAGES)

# Everything of a release in dist/: all packages, bill of materials, changelog, SHA-256 sums, and a checklist, which says what
# make test-packages has tried where.
.PHONY: release
release: packages
	packaging/release

# gentle compare with its defaults: the traffic of spa-2018, every scheme, five seeds.
.PHONY: demo
demo:
	@echo "make demo compiles gentle, then simulates web-like connections over a busy link under 17 queue schemes. It takes"
	@echo "about 3 minutes on two cores, 0.7 GB of memory and 0.8 GB of disk; missing packages are installed first."
	@echo
	$(MAKE) --no-print-directory build
	mkdir -p demo
	@echo "Simulating 85 runs of 1,000 s:"
	@COLUMNS=$${COLUMNS:-120} target/release/gentle compare --html demo/compare.html --csv demo/compare.csv
	@echo
	@echo "The same with plots, for a browser:            $(CURDIR)/demo/compare.html"
	@echo "Your own capture:                              target/release/gentle analyze FILE.pcap"
	@echo "The queues packet by packet, in a browser:     make lab && make && target/release/gentle lab   (needs Node.js)"

# The page of gentle lab: static files in lab/dist, which the next build of gentle embeds.
.PHONY: lab
lab:
	scripts/bootstrap lab
	lab/build

# The manual as static files in site/dist, with the lab, the notebooks, and the papers, which the program reproduces.
.PHONY: site
site: build wheel
	scripts/bootstrap lab
	LAB_URL=$(SITE_URL:%=%lab/) lab/build dist
	site/install
	crates/python/tests/install
	rm -rf target/site
	"$$(crates/python/tests/install --path)/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
		--target target/site dist/*-manylinux*.whl
	site/build --package target/site site/dist

# Required for every change. test-all adds the tests before a release.
.PHONY: test
test:
	scripts/bootstrap test
	scripts/compiled-dependencies restore
	$(MAKE) -j2 test-lints test-environments
	$(MAKE) test-lab
	$(CARGO) test --workspace --locked --no-run
	scripts/compiled-dependencies keep
	GENTLE_TESTBED=required env -u MAKEFLAGS -u MFLAGS scripts/run-tests

# Formatting, lints, the documentation of the crates, and fuzz/, a separate workspace. Its library in C++ is compiled for fuzzing
# only: a check does not link.
.PHONY: test-lints
test-lints:
	$(CARGO) fmt --all --check
	rustfmt --edition 2024 --check crates/aqm/src/schemes/*.rs
	scripts/third-party --check
	scripts/update-vendor --check
	if $(CARGO) clippy --version >/dev/null 2>&1; then $(CARGO) clippy --workspace --all-targets --locked -- -D warnings; \
	else echo "make test: this Rust has no clippy, so lints are not checked; install Rust with rustup to check them" >&2; fi
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked
	CUSTOM_LIBFUZZER_PATH=/none/libfuzzer.a $(CARGO) check --manifest-path fuzz/Cargo.toml --target-dir target --locked

# Dependencies of the tests of the pages and of the Python package that are not system packages.
.PHONY: test-environments
test-environments:
	crates/cli/tests/pages/install
	crates/python/tests/install
	site/install

# The page of the lab, which the tested command embeds. The Rust with which Debian builds browsers has no packaged library for
# WebAssembly.
.PHONY: test-lab
test-lab:
	if [ -d "$$(rustc --print target-libdir --target wasm32-unknown-unknown)" ]; then lab/build; \
	else echo "make test: this Rust has no library for WebAssembly, so the lab is not tested; install Rust with rustup to test it" >&2; fi

# Tests without a kernel, a browser, Python packages, lints and documentation, for use while working: minutes.
.PHONY: test-fast
test-fast:
	scripts/bootstrap test
	$(CARGO) test --workspace --locked --lib --bins $$(scripts/fast-tests)

# Before a release, and before an issue is resolved: the tests marked "make test-all" as well (scenarios on the kernel at full
# length, papers at full size), the modules against three kernels' headers with gcc, clang and sparse, and cargo-deny.
.PHONY: test-all
test-all: test
	scripts/bootstrap test-all
	GENTLE_TESTBED=required $(CARGO) test --workspace --locked --no-fail-fast --test docs --test pages --test search --test sim --test testbed -- --ignored full_size
	$(MAKE) test-kernel-headers
	$(MAKE) test-deny

# Licences and sources of all crates in Cargo.lock, and known vulnerabilities if the database can be downloaded (deny.toml).
.PHONY: test-deny
test-deny:
	if $(CARGO) deny --version >/dev/null 2>&1; then \
		$(CARGO) deny --locked check bans licenses sources && \
		if $(CARGO) deny fetch db; then $(CARGO) deny --locked check advisories; \
		else echo "make test-deny: cannot download the database of advisories, so they are not checked" >&2; fi; \
	else echo "make test-deny: cargo-deny is missing, so nothing is checked; install it with: cargo install --locked cargo-deny" >&2; fi

# The modules against Debian's headers of 6.1, 6.12 and 7.2.
.PHONY: test-kernel-headers
test-kernel-headers:
	scripts/bootstrap test
	kernel/testing/compile-all

# The modules on a debugging kernel, which checks memory, locks and contexts: options, changes under load, malformed messages,
# decisions. Builds the kernel first if necessary.
.PHONY: test-kernel-debug
test-kernel-debug:
	scripts/bootstrap test
	GENTLE_TESTBED=required GENTLE_TESTBED_KERNEL=debug $(CARGO) test -p gentle --locked --test testbed -- modules:: decisions::

# The modules on Debian's own kernels 6.1, 6.12 and 7.2, with two processors each, in qemu: options, malformed messages,
# changes and dumps while packets pass, existing set-ups that gentle qdisc replaces, trees of other qdiscs.
.PHONY: test-kernel-smp
test-kernel-smp:
	scripts/bootstrap test-kernel-smp
	kernel/testing/smp/run

# The same on Linux 7.2 with KCSAN, which reports data races. Builds the kernel first if necessary.
.PHONY: test-kernel-races
test-kernel-races:
	scripts/bootstrap test-kernel-races
	kernel/testing/smp/run --races

# The patches for Linux (upstream/) on Debian's kernel 7.2 in qemu: the test cases fail without the patches and pass with them.
.PHONY: test-upstream
test-upstream:
	scripts/bootstrap test-kernel-smp
	upstream/try

# Only the tests of the pages, in Chromium and Firefox; they need no other part of make test.
.PHONY: test-pages
test-pages:
	scripts/bootstrap test
	crates/cli/tests/pages/install
	site/install
	$(MAKE) test-lab
	$(CARGO) test -p gentle --locked --test pages

# Regenerates the pictures in README.md, with the tests of the pages.
.PHONY: docs-images
docs-images: lab
	scripts/bootstrap test
	crates/cli/tests/pages/install
	UPDATE_DOCS=1 $(CARGO) test --workspace --locked --test pages -- pages_hold_in_a_browser the_lab_holds_in_a_browser

# The Python package in dist/: a source distribution, and a wheel for glibc built from it alone, which is tested in a new
# environment. PACKAGES=wheel of "make packages" also builds one for musl.
.PHONY: wheel
wheel:
	scripts/bootstrap wheel
	packaging/wheel/build manylinux
	packaging/wheel/test manylinux

# Only the tests of the Python package. The test "install" makes cargo build the command, which they call.
.PHONY: test-python
test-python:
	scripts/bootstrap test
	crates/python/tests/install
	$(CARGO) test --workspace --locked --test python --test install

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

# Fuzzes every parser for FUZZ_SECONDS (60); see CONTRIBUTING.md.
.PHONY: fuzz
fuzz:
	scripts/bootstrap fuzz
	fuzz/run

# Random tests with fresh seeds for SECONDS (3600): all kinds in turn, or KIND=scenarios, relations, loops, damage, qdiscs;
# KIND=machine for qdiscs in Linux in virtual time. Findings are reduced and kept in target/search.
SECONDS ?= 3600
KIND ?=
SEARCH_TEST = $(if $(filter machine,$(KIND)),testbed -- --exact modules::foreign::random::fresh_setups,search -- --exact fresh_seeds)
.PHONY: search
search: build
	mkdir -p target/search
	GENTLE_SEARCH_SECONDS=$(SECONDS) GENTLE_SEARCH_KIND=$(KIND) GENTLE_SEARCH_FOLDER=$(CURDIR)/target/search \
		GENTLE_SEARCH_PROGRAM=$(CURDIR)/target/release/gentle \
		$(CARGO) test --workspace --locked --test $(SEARCH_TEST) --ignored --nocapture

# Regenerates the program's output in the documentation, and the numbers in its sentences. "make test" compares them.
.PHONY: docs
docs:
	UPDATE_DOCS=1 $(CARGO) test --workspace --locked --test docs -- --include-ignored
	crates/python/tests/install
	"$$(crates/python/tests/install --path)/bin/python" crates/python/tests/reference.py

# Also regenerates output from a real kernel: hours.
.PHONY: docs-kernel
docs-kernel:
	scripts/bootstrap test
	UPDATE_DOCS=1 DOCS_KERNEL=1 GENTLE_TESTBED=required $(CARGO) test --workspace --locked --test docs -- --include-ignored

PREFIX ?= /usr/local
GENTLE ?= target/release/gentle

# Installs the program that "make" has built, and builds nothing: make && sudo make install
.PHONY: install
install:
	DESTDIR="$(DESTDIR)" scripts/install "$(GENTLE)" "$(PREFIX)"

.PHONY: uninstall
uninstall:
	DESTDIR="$(DESTDIR)" scripts/install --uninstall "$(PREFIX)"

.PHONY: clean
clean:
	$(CARGO) clean
	rm -rf demo dist site/dist lab/node_modules lab/src/wasm
	find lab/dist -mindepth 1 -not -name .gitignore -delete
