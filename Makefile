# A thin front door to CMake: `make help` lists the targets. Builds are in build/<preset>.
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
export JOBS

.PHONY: all run test test-deep sim-deep sim-asan bench compare compare-setup counts check mutants sim-faults format tidy test-full install install-checking clean help setup

all: ## build the release library, build/weft and build/weft-check
	@tools/setup build
	@tools/build release weft weft_static weft_shared weft_sim weft_sim_shared
	@tools/build check
	@tools/place

run: all ## the guided demo
	@build/weft demo

test: ## the short lane, six minutes; the last line counts what passed and failed (NAME=... for one thing)
	@tools/setup test
	@tools/run-tests $(if $(NAME),--name '$(NAME)')

test-deep: ## what `make test` leaves out for its six minutes, and pushes need
	@tools/setup deep
	@tools/run-tests --deep

bench: all ## every benchmark, one line each (NAME=... for some, ARGS=... for options)
	@build/weft bench $(NAME) $(ARGS)

compare-setup: ## install the peers of `make compare`, and gnuplot: not needed by anything else
	@tools/setup compare

compare: compare-setup all ## weft beside Go, Tokio, Erlang and others in one run; renews docs/results/compare (ARGS=--quick and the like: build/compare)
	@build/weft compare $(or $(ARGS),--out docs/results/compare)

counts: ## instructions, and locked ones, of the hot paths, beside the table that is kept (ARGS=--renew writes it)
	@tools/build release counts.counts
	@tools/counts $(ARGS)

check: all ## the model checker on every scenario (NAME=... for some, ARGS=... for options)
	@build/weft check $(NAME) $(ARGS)

mutants: ## weaken the proved parts one place at a time; the checker must notice
	@tools/setup test
	@tools/mutants $(ARGS)

sim-deep: ## combinations and mixtures in the simulation with 200,000 seeds (SCALE=100 times those of `make test`); about an hour
	@tools/build release sim.test_combinations sim.test_sim_mixture
	@WEFT_TEST_SCALE=$(or $(SCALE),100) WEFT_TEST_PATIENCE=100 build/release/tests/sim/test_combinations
	@WEFT_TEST_SCALE=$(or $(SCALE),100) WEFT_TEST_PATIENCE=100 build/release/tests/sim/test_sim_mixture

sim-asan: ## the simulation's own tests with the address sanitizer; two minutes on two cores
	@tools/setup test
	@tools/build release weft
	@tests/sim/run_asan

sim-faults: ## put faults back that were fixed, one at a time; the simulator must find them (NAME=... for some)
	@tools/setup test
	@tools/sim-faults $(NAME) $(ARGS)

test-full: ## the whole matrix, in shards that resume (SHARD=name for one, ARGS=--list for their names)
	@tools/setup deep
	@tools/test-full $(SHARD) $(ARGS)

format: ## clang-format all C files in place
	@tools/setup format
	@tools/format

tidy: ## clang-tidy on what differs from the main branch (ARGS=--all: on everything)
	@tools/setup format
	@tools/tidy $(ARGS)

install: all ## install below PREFIX (/usr/local); DESTDIR is honoured
	@cmake --install build/release --prefix $(PREFIX)
	@cmake --install build/check --prefix $(PREFIX) --component checker

install-checking: ## install the checking builds below PREFIX: pkg-config weft-debug, weft-asan, weft-tsan
	@tools/setup test
	@for build in debug asan tsan; do tools/build $$build weft_static && cmake --install build/$$build --prefix $(PREFIX) --component checking || exit; done

setup: ## install all packages that the other targets need
	@tools/setup all

clean: ## remove build/
	@rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
