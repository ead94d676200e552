# The front door. `make demo` shows Kymo at work, `make test` runs every test; both install what they
# need first. Everything real is in CMakeLists.txt, scripts/ and tests/.

# A preset, its folder if that has another name, and its target if not all are built.
build = @mkdir -p build; cmake --preset $(1) >build/$(1).log 2>&1 || { cat build/$(1).log; exit 1; }; \
	cmake --build build/$(or $(2),$(1)) --target $(or $(3),all) >build/$(1).log 2>&1 || { cat build/$(1).log; exit 1; }

SOURCES = $$(git ls-files -co --exclude-standard '*.c' '*.h')
FUZZ_SECONDS ?= 600

prefix ?= /usr/local

# Where ccache is installed, what was compiled before is not compiled again, in any checkout.
export CMAKE_C_COMPILER_LAUNCHER ?= $(shell command -v ccache)
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1

.PHONY: all setup test-setup test-build demo test check fresh bench gallery format lint fuzz soak install uninstall package wheel clean

all: setup
	$(call build,release)

# Where things go: docs/install.md. DESTDIR is put before every path.
install: all
	@cmake --preset release -DCMAKE_INSTALL_PREFIX=$(abspath $(prefix)) >build/release.log 2>&1 && \
		cmake --build build/release >>build/release.log 2>&1 || { cat build/release.log; exit 1; }
	@cmake --install build/release >build/install.log || { cat build/install.log; exit 1; }
	@echo "installed in $(DESTDIR)$(abspath $(prefix))"

# What the last install put there, and the folders of ours that are empty then.
uninstall:
	@sed 's|^|$(DESTDIR)|' build/release/install_manifest.txt | tr '\n' '\0' | xargs -0 rm -f
	@sed 's|^|$(DESTDIR)|' build/release/install_manifest.txt | while read -r file; do \
		while file=$$(dirname "$$file"); case $$file in */kymo|*/kymo/*|*/include/nrt) ;; *) false;; esac; do \
		rmdir "$$file" 2>/dev/null || break; done; done; true

# build/packages: a .deb for the Debian this is built on and later ones, and a tarball that runs where it is unpacked.
package: setup
	@scripts/package.sh

# build/wheels: the Python package with the program and its libraries, one file for CPython 3.9 and later.
wheel: setup
	@scripts/wheel.sh

setup:
	@scripts/setup.sh build

test-setup:
	@scripts/setup.sh test

demo: all
	@scripts/demo.sh

# The program and the unit tests in one, with warnings as errors.
test-build: test-setup
	$(call build,test,release)

test: test-build
	@.venv/bin/python tests/run.py

# A choice of the tests for every day: a minute and a half.
check: test-build
	@.venv/bin/python tests/run.py --quick

# Both commands where nothing is installed yet: in fresh Debians 12 and 13, as root and as a user. Takes hours.
fresh:
	@scripts/fresh.sh

bench: test-setup all
	$(call build,bench)
	@.venv/bin/python bench/run.py

# The pictures of docs/gallery.md.
gallery: test-setup all
	@node_modules/.bin/vite-node tests/ui/gallery.ts

format: test-setup
	@.venv/bin/clang-format -i $(SOURCES)

lint: test-setup all
	@.venv/bin/clang-format --dry-run --Werror $(SOURCES)
	@.venv/bin/clang-tidy --quiet -p build/release $$(git ls-files 'src/*.c') 2>build/lint.log || \
		{ cat build/lint.log; exit 1; }

fuzz: test-setup
	@KYMO_FUZZ_SECONDS=$(FUZZ_SECONDS) KYMO_FUZZ_SEED=0 .venv/bin/python tests/run.py --stage fuzz

# With ThreadSanitizer, a minute each: captures that begin and end under eight threads, very many threads that end, the
# runtime closed again and again while others fork, trace and run callbacks, and threads that annotate by NVTX.
soak: test-setup
	$(call build,tsan)
	KYMO_SOAK_SECONDS=60 build/tsan/unit/unit-record
	KYMO_SOAK_SECONDS=60 build/tsan/unit/unit-record_ended
	KYMO_SOAK_SECONDS=60 build/tsan/unit/unit-runtime_callback
	KYMO_SOAK_SECONDS=60 KYMO=$(CURDIR)/build/tsan/bin/kymo .venv/bin/python -m pytest -q tests/e2e/capture/test_cuda.py -k no_memory

clean:
	rm -rf build bin lib
