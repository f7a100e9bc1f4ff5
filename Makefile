# Two commands do everything on a fresh machine:
#   make demo    builds gentle and runs its main job
#   make test    passes the tests

.DEFAULT_GOAL := build

# Neither cargo nor what its tests run gets the job server of make -j2: make within a test would wait for a token of it.
CARGO := env -u MAKEFLAGS -u MFLAGS cargo

.PHONY: build
build:
	scripts/bootstrap build
	$(CARGO) build --release --locked --bin gentle

# For packages: optimised as a whole program, which takes minutes on one core and 4 GB of memory.
.PHONY: dist
dist:
	scripts/bootstrap build
	$(CARGO) build --profile dist --locked --bin gentle

# gentle compare with its defaults: the traffic of spa-2018, every scheme, five seeds.
.PHONY: demo
demo:
	@echo "make demo compiles gentle, then simulates web-like connections over a busy link under 17 queue schemes. It takes"
	@echo "about 4 minutes on two cores, 1 GB of memory and 1.5 GB of disk; packages that are missing are installed first."
	@echo
	$(MAKE) --no-print-directory build
	mkdir -p demo
	@echo "Simulating 85 runs of 1,000 s:"
	@COLUMNS=$${COLUMNS:-120} target/release/gentle compare --html demo/compare.html --csv demo/compare.csv
	@echo
	@echo "The same with plots, one file for any browser: $(CURDIR)/demo/compare.html"
	@echo "Your own capture:                              target/release/gentle analyze FILE.pcap"
	@echo "The queues packet by packet, in a browser:     make lab && make && target/release/gentle lab   (needs Node.js)"

# The page of gentle lab, static files in lab/dist, which the next build of gentle has within it.
.PHONY: lab
lab:
	scripts/bootstrap lab
	lab/build

# The manual as static files in site/dist, with the lab, the notebooks and the papers, which the program makes anew.
.PHONY: site
site: build wheel
	scripts/bootstrap lab
	lab/build dist
	site/install
	crates/python/tests/install
	rm -rf target/site
	"$$(crates/python/tests/install --path)/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --no-deps \
		--target target/site dist/*.whl
	site/build --package target/site site/dist

# Everything that a change has to pass. test-all adds what belongs before a release.
.PHONY: test
test:
	scripts/bootstrap test
	scripts/compiled-dependencies restore
	$(MAKE) -j2 test-lints test-environments
	$(MAKE) test-lab
	$(CARGO) test --workspace --locked --no-run
	scripts/compiled-dependencies keep
	GENTLE_TESTBED=required env -u MAKEFLAGS -u MFLAGS scripts/run-tests

# Formatting, lints, the documentation of the crates; and fuzz/, which is a workspace of its own. Its library in C++ is compiled
# for fuzzing only: a check links nothing.
.PHONY: test-lints
test-lints:
	$(CARGO) fmt --all --check
	rustfmt --edition 2024 --check crates/aqm/src/schemes/*.rs
	scripts/third-party --check
	scripts/update-vendor --check
	if $(CARGO) clippy --version >/dev/null 2>&1; then $(CARGO) clippy --workspace --all-targets --locked -- -D warnings; \
	else echo "make test: this Rust has no clippy (Debian packages none for it), so lints are not checked; rustup's has" >&2; fi
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked
	CUSTOM_LIBFUZZER_PATH=/none/libfuzzer.a $(CARGO) check --manifest-path fuzz/Cargo.toml --target-dir target --locked

# What the tests of the pages and of the Python package need besides packages of the system.
.PHONY: test-environments
test-environments:
	crates/cli/tests/pages/install
	crates/python/tests/install
	site/install

# The page of the lab, which the command under test has within it; Debian packages no library for WebAssembly with the Rust that
# it builds browsers with.
.PHONY: test-lab
test-lab:
	if [ -d "$$(rustc --print target-libdir --target wasm32-unknown-unknown)" ]; then lab/build; \
	else echo "make test: this Rust has no library for WebAssembly, so the lab is not tested; rustup's has" >&2; fi

# Without a kernel, a browser, Python packages, lints and documentation: minutes, to be run while working.
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

# Licences and sources of all crates in Cargo.lock, and known vulnerabilities where the database can be fetched (deny.toml).
.PHONY: test-deny
test-deny:
	if $(CARGO) deny --version >/dev/null 2>&1; then \
		$(CARGO) deny --locked check bans licenses sources && \
		if $(CARGO) deny fetch db; then $(CARGO) deny --locked check advisories; \
		else echo "make test-deny: the database of advisories could not be fetched, so they are not checked" >&2; fi; \
	else echo "make test-deny: cargo-deny is not installed, so it is not run: cargo install --locked cargo-deny" >&2; fi

# The modules against Debian's headers of 6.1, 6.12 and 7.2.
.PHONY: test-kernel-headers
test-kernel-headers:
	scripts/bootstrap test
	kernel/testing/compile-all

# The modules on the kernel that watches memory, locks and contexts: options, changes under load, malformed messages,
# decisions. Builds that kernel first if it has not been built.
.PHONY: test-kernel-debug
test-kernel-debug:
	scripts/bootstrap test
	GENTLE_TESTBED=required GENTLE_TESTBED_KERNEL=debug $(CARGO) test -p gentle --locked --test testbed -- modules:: decisions::

# The modules on Debian's own kernels 6.1, 6.12 and 7.2, with two processors each, in qemu: options, malformed messages,
# changes and dumps while packets pass, set-ups of other origin that gentle qdisc replaces, trees of other qdiscs.
.PHONY: test-kernel-smp
test-kernel-smp:
	scripts/bootstrap test-kernel-smp
	kernel/testing/smp/run

# The same on Linux 7.2 with KCSAN, which reports accesses that race. Builds that kernel first if it has not been built.
.PHONY: test-kernel-races
test-kernel-races:
	scripts/bootstrap test-kernel-races
	kernel/testing/smp/run --races

# The patches for Linux (upstream/) on Debian's kernel 7.2 in qemu: what they mend is broken without them and works with them.
.PHONY: test-upstream
test-upstream:
	scripts/bootstrap test-kernel-smp
	upstream/try

# The pages in Chromium, alone; needs no other part of make test.
.PHONY: test-pages
test-pages:
	scripts/bootstrap test
	crates/cli/tests/pages/install
	site/install
	$(MAKE) test-lab
	$(CARGO) test -p gentle --locked --test pages

# The pictures in README.md, made anew by the tests of the pages.
.PHONY: docs-images
docs-images: lab
	scripts/bootstrap test
	crates/cli/tests/pages/install
	UPDATE_DOCS=1 $(CARGO) test --workspace --locked --test pages -- pages_hold_in_a_browser the_lab_holds_in_a_browser

# The Python package as a source distribution and, built from that alone, a wheel, in dist/. The wheel is tried in an
# environment of its own.
.PHONY: wheel
wheel:
	scripts/bootstrap wheel
	scripts/wheel

# The crates of use to other programs, each packaged and built from its package alone.
.PHONY: package
package:
	scripts/bootstrap build
	$(CARGO) package --locked $(foreach crate,identity units aqm tcp wire capture experiment sim trace model,-p gentle-$(crate))

# The tests of the Python package, alone. The second test is there for the command, which they call.
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

# Every parser on inputs made to break it, FUZZ_SECONDS (60) each; see CONTRIBUTING.md.
.PHONY: fuzz
fuzz:
	scripts/bootstrap fuzz
	fuzz/run

# Fresh seeds of the random tests for SECONDS (3600): all kinds in turn, or KIND=scenarios, relations, loops, damage, qdiscs;
# KIND=machine for qdiscs in Linux in virtual time. Findings, each made small, are in target/search.
SECONDS ?= 3600
KIND ?=
SEARCH_TEST = $(if $(filter machine,$(KIND)),testbed -- --exact modules::foreign::random::fresh_setups,search -- --exact fresh_seeds)
.PHONY: search
search: build
	mkdir -p target/search
	GENTLE_SEARCH_SECONDS=$(SECONDS) GENTLE_SEARCH_KIND=$(KIND) GENTLE_SEARCH_FOLDER=$(CURDIR)/target/search \
		GENTLE_SEARCH_PROGRAM=$(CURDIR)/target/release/gentle \
		$(CARGO) test --workspace --locked --test $(SEARCH_TEST) --ignored --nocapture

# The pages that show what the program prints, and the numbers in their sentences. "make test" compares them.
.PHONY: docs
docs:
	UPDATE_DOCS=1 $(CARGO) test --workspace --locked --test docs -- --include-ignored
	crates/python/tests/install
	"$$(crates/python/tests/install --path)/bin/python" crates/python/tests/reference.py

# Those that come from a real kernel as well: hours.
.PHONY: docs-kernel
docs-kernel:
	scripts/bootstrap test
	UPDATE_DOCS=1 DOCS_KERNEL=1 GENTLE_TESTBED=required $(CARGO) test --workspace --locked --test docs -- --include-ignored

PREFIX ?= /usr/local
GENTLE ?= target/release/gentle

# What "make" has built, so that whoever installs builds nothing: make && sudo make install
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
