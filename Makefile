# One entry point per task; each target does what its line in `make help` says. The work is in CMake and scripts/.
.DEFAULT_GOAL := help
.PHONY: help deps build demo test wheel sanitize chaos large-table engine-scale mutants bench bench-instructions bench-secure fuzz tidy format format-check docs install clean

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 300
CHAOS_JOBS ?= 200
CHAOS_SEED ?= 0
MUTANTS ?= 150
MUTANTS_SEED ?= 0
DEMO_DIR := build/demo
sources = $(shell git ls-files '*.cpp' '*.hpp')

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

deps: ## install the packages that are missing (Debian)
	@scripts/install-deps

build: deps ## build the command line: build/bin/couplet
	@cmake --preset release --log-level=WARNING
	@cmake --build --preset release -j $(JOBS) --target product
	@mkdir -p build/bin
	@ln -sfn ../release/bin/couplet build/bin/couplet

demo: build ## run the product's main job; results in build/demo
	@scripts/demo build/bin/couplet $(DEMO_DIR)

test: deps ## build and run every test, side by side; the last line is the sum
	@scripts/run-tests --compile $(JOBS)

wheel: build ## the Python package with the command line as one wheel in dist, for every CPython from 3.10 that is here
	@scripts/make-wheel --jobs $(JOBS)

sanitize: build ## run the test programs under the address, undefined behaviour and thread sanitizers, and the Python module
	@scripts/sanitize asan
	@scripts/sanitize tsan
	@scripts/python-asan

chaos: build ## hold floods for 30 s, run CHAOS_JOBS (200) jobs of both networks under faults; table in build/chaos (about 15 minutes)
	@test -x build/venv/bin/python || /usr/bin/python3 -m venv --system-site-packages build/venv
	@COUPLET_FLOOD_SECONDS=30 build/venv/bin/python -m pytest -q -p no:cacheprovider tests/hostile/test_floods.py
	@build/venv/bin/python tests/chaos/storm.py --jobs $(CHAOS_JOBS) --seed $(CHAOS_SEED) --parallel 2 --output build/chaos $(CHAOS_FLAGS)

large-table: build ## read a table of a gigabyte of events; prints time and memory (about 3 minutes)
	@/usr/bin/python3 tests/clinical/large_table.py

engine-scale: build ## 1,000 sites in Flower's simulation engine and 32 in FLARE's simulator beside apps without content; figures in build/engines (half an hour)
	@"$$(scripts/engine-environment flower)" tests/engines/flower/scale.py --output build/engines/flower-scale
	@"$$(scripts/engine-environment nvflare)" tests/engines/nvflare/scale.py --output build/engines/nvflare-scale

mutants: build ## plant MUTANTS (150) single-line faults in src; what no test notices is in build/mutants (hours)
	@cmake --build --preset release -j $(JOBS)
	@/usr/bin/python3 tests/mutants/mutants.py --count $(MUTANTS) --seed $(MUTANTS_SEED) $(MUTANTS_FLAGS)

bench: build ## TT-SVD, the federation and the baselines beside NumPy and TensorLy (about 20 minutes; BENCH_FLAGS=--quick: less)
	@cmake --build --preset release -j $(JOBS) --target benchmarks
	@test -x build/venv/bin/python || /usr/bin/python3 -m venv --without-pip --system-site-packages build/venv
	@build/venv/bin/python -c 'import tensorly' 2>/dev/null || scripts/environments.py build/venv/bin/python --no-deps tensorly
	@scripts/test-python --collect-only >/dev/null
	@build/venv/bin/python bench/tt_svd.py $(BENCH_FLAGS)
	@build/python/venv/bin/python bench/python.py $(BENCH_FLAGS)
	@build/venv/bin/python bench/scaling.py
	@build/venv/bin/python bench/federation.py
	@build/venv/bin/python bench/baselines.py
	@build/release/bench/bin/network
	@build/release/bench/bin/secure_sum
	@build/venv/bin/python bench/report.py

bench-instructions: build ## instructions of a TT-SVD by callgrind, beside those kept (KEEP=--keep keeps them; about 2 minutes)
	@/usr/bin/python3 bench/instructions.py $(KEEP)

bench-secure: build ## one secure sum of 64 clients with a million numbers each, end to end
	@cmake --build --preset release -j $(JOBS) --target bench_secure_sum
	@build/release/bench/bin/secure_sum

fuzz: deps ## fuzz every decoder for FUZZ_SECONDS (300) each
	@cmake --preset fuzz --log-level=WARNING
	@cmake --build --preset fuzz -j $(JOBS)
	@scripts/run-fuzzers build/fuzz/bin $(FUZZ_SECONDS)

tidy: deps ## clang-tidy over src
	@cmake --preset tidy --log-level=WARNING
	@cmake --build --preset tidy --target couplet_proto
	@run-clang-tidy -quiet -p build/tidy -j $(JOBS) "$(CURDIR)/src/.*\.cpp$$"

format: deps ## rewrite the sources in the project's style
	@clang-format -i $(sources)

format-check: deps ## fail when a source is not in the project's style
	@clang-format --dry-run -Werror $(sources)

docs: build ## build the site of the documents: build/docs/site/index.html, with tutorials that are run (about a minute)
	@scripts/docs-check
	@scripts/make-docs

install: build ## install library, headers and command line under PREFIX (/usr/local)
	@cmake --install build/release --prefix "$(PREFIX)"

clean: ## remove everything that was built
	@rm -rf build dist
