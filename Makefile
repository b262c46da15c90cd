# The commands of the project. `make help` lists them.
# What takes long to make (cargo's target, the Python environment) is kept in a cache folder of the user, so that a fresh
# clone finds it again; delete the folder and everything is made anew.

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/fermi
export CARGO_TARGET_DIR ?= $(CACHE)/target
VENV := $(CACHE)/venv
export FERMI_TEST_PYTHON ?= $(VENV)/bin/python
FERMI := target/release/fermi
CARGO := cargo
# What is shipped, shown and measured; what is tested is the development profile of Cargo.toml.
SHIPPED := --release --locked
TESTED := --locked

.DEFAULT_GOAL := help
.PHONY: help build wheel built console test-console test-pages shots test test-long simulate test-horovod test-gpu lint unit tools venv venv-bench demo demo-run up bench soak bench-collective bench-heal bench-hangs docs clean test-engines test-recipes test-recipes-long

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Tests must not change the features of what is shipped, or half of the crates are compiled twice and another binary is
# tested: `cargo tree -e features` of a dev-dependency that is also a dependency shows it.
build: console ## Build the binary with its web console: target/release/fermi
	$(CARGO) build $(SHIPPED)
	@mkdir -p target/release
	@cp -f "$(CARGO_TARGET_DIR)/release/fermi" $(FERMI).new && mv -f $(FERMI).new $(FERMI)

# Another target than that of the other commands, so most of it is compiled again.
wheel: console ## A wheel that carries the binary, for pip: dist/; with zig (from PyPI) for glibc 2.28, else for this machine's
	@binary="$$(packaging/portable.sh "$(CACHE)/zig")" && python3 packaging/wheel.py "$$binary" dist

# What is built is kept by the checksum of the console's files: a fresh clone finds it again.
console: ## Build the web console into console/dist, which the binary carries
	@console/scripts/build.sh "$(CACHE)/console"

# The browser is the system's chromium; CHROMIUM names another one.
test-pages: build ## The console in a real browser against the built binary and real agents
	@FERMI="$(CURDIR)/$(FERMI)" console/scripts/build.sh "$(CACHE)/console" e2e

shots: build ## Pictures of every page of the console in both languages, into docs/images; for the eye, in both themes and narrow too, into console/shots
	@FERMI="$(CURDIR)/$(FERMI)" console/scripts/build.sh "$(CACHE)/console" shots

test-console: ## The console's formatting, types and unit tests
	@console/scripts/build.sh "$(CACHE)/console" check

# The Python environment is made beside the builds: it waits for the network and unpacks on one processor.
test: ## Everything that must hold: formatting, lints, all tests, on the real engines
	@$(MAKE) --no-print-directory console test-console
	@$(MAKE) --no-print-directory -j2 built venv
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory test-recipes

# One after the other: cargo lets nobody else into its folder. Without MAKEFLAGS, or cargo would share the two jobs above
# with the Python environment instead of using all processors.
built:
	@MAKEFLAGS= $(MAKE) --no-print-directory lint
	@MAKEFLAGS= $(CARGO) test $(TESTED) --workspace --no-run --quiet

# The pages are read in this tree, where private items are no less interesting.
DOC_LINTS := -D warnings -A rustdoc::private-intra-doc-links -A rustdoc::redundant-explicit-links
lint: ## Formatting, lints, and documents of the code without a dead link
	$(CARGO) fmt --all --check
	$(CARGO) clippy $(TESTED) --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="$(DOC_LINTS)" $(CARGO) doc $(TESTED) --workspace --no-deps --quiet

# Two more than there are processors: many tests wait for real time-outs.
THREADS := $(shell echo $$(( $$(nproc) + 2 )))
LONG := test(/^(engines::more|syscalls::whole|partitions::long)::/) + binary(speed)
# The same for cargo test, which knows names alone.
LONG_NAMES := engines::more syscalls::whole partitions::long fifty_of_a_hundred_thousand_tasks
unit: ## All tests but those of make test-horovod and test-gpu
	@echo "left out here: further sizes and stages of the engines, lists of 100,000 tasks, the whole plan of faults (make test-long),"
	@echo "  Horovod's own build (make test-horovod), GPUs (make test-gpu)"
	@if $(CARGO) nextest --version >/dev/null 2>&1; \
	then $(CARGO) nextest run $(TESTED) --workspace --no-fail-fast --test-threads $(THREADS) -E 'not ($(LONG))'; \
	else echo "cargo-nextest is not installed (cargo install cargo-nextest --locked): cargo test takes longer and tries nothing again"; \
	$(CARGO) test $(TESTED) --workspace --no-fail-fast -- $(addprefix --skip ,$(LONG_NAMES)); fi

tools: ## What the tests need of the system: namespaces, sshd, Slurm, a compiler, mpirun
	@tests/tools.sh

# Its stamp has the checksum of what it is made from: a fresh clone makes nothing anew. DeepSpeed's op is compiled here, so
# that no test waits for a compiler.
MADE_FROM := $(shell cat tests/requirements.txt tests/engines/build_ops.py | cksum | cut -d' ' -f1)
venv: tools $(VENV)/.made-from-$(MADE_FROM) ## The Python environment with the real training engines

# Modules are compiled when they are first imported: most never are.
$(VENV)/.made-from-%: | tools
	python3 -m venv "$(VENV)"
	"$(VENV)/bin/pip" install --quiet --no-compile --requirement tests/requirements.txt
	PATH="$(VENV)/bin:$$PATH" TORCH_EXTENSIONS_DIR="$(VENV)/torch_extensions" "$(VENV)/bin/python" tests/engines/build_ops.py
	@rm -f "$(VENV)"/.made-from-*
	@touch "$@"

test-engines: build venv ## Of make test only DDP, FSDP, DeepSpeed, JAX and Megatron-core on the real engines
	$(CARGO) nextest run $(TESTED) -p fermi-cli --test it --no-fail-fast -E 'test(/^engines::/)'

# One process at a time: each test forks its ranks from one interpreter that has imported everything.
RECIPES := python/tests/recipes
PYTEST := OMP_NUM_THREADS=1 "$(VENV)/bin/python" -m pytest -q -o cache_dir="$(CACHE)/pytest"
test-recipes: venv ## The recipes of python/fermi_train on CPU: they learn (and do not by lot), agree, resume, divide; RECIPES=… chooses
	cd python && "$(VENV)/bin/ruff" check .
	python/tests/types.sh "$(CACHE)" "$(VENV)/bin/python"
	$(PYTEST) $(RECIPES) || { echo "once more, those that failed:"; $(PYTEST) --last-failed --last-failed-no-failures none $(RECIPES); }

test-recipes-long: venv ## All of them: ZeRO on other ranks in bf16, with LoRA and SGD, notebooks by a kernel, the demo's checks; and the hook in scripts of six kinds
	FERMI_TEST_LONG=1 $(PYTEST) $(RECIPES) python/tests/test_hook.py

# Every parser of what others send: each calls `fermi_mutator::try_all`.
STRANGERS := test(/(^|::)strangers_/) + binary(strangers)
test-long: build venv ## What make test leaves out, slow readers, kills with failing system calls, long partitions, power cuts, torchft's groups, all outcomes, a million cases for every parser, the simulator with each repair reverted
	FERMI_TEST_LONG=1 $(CARGO) nextest run $(SHIPPED) --workspace --no-fail-fast -E '$(LONG) + $(STRANGERS) + test(/^(slow_readers|fleet_schema|power_loss|torchft|outcomes)::/)'
	crates/simulator/teeth.sh

HISTORIES := 1000000
simulate: ## A million seeded histories of a cluster under faults (HISTORIES=n); make test plays ten thousand
	$(CARGO) run $(SHIPPED) -p fermi-simulator --bin simulate -- $(HISTORIES)

test-horovod: build venv ## Builds Horovod once (minutes, cached) and trains with it under fermi run and through agents
	@tests/engines/horovod.sh "$(VENV)" "$(CACHE)/horovod"
	FERMI_HOROVOD_PYTHON="$(CACHE)/horovod/bin/python" $(CARGO) test $(TESTED) -p fermi-cli --test it -- --nocapture the_real_horovod

test-gpu: ## On a machine with a GPU and PyTorch: DDP and FSDP with NCCL from the generated bundle (FERMI names the binary)
	@tests/gpu/nccl.sh

demo: build ## A server and three environments here train together over six ranks; nothing stays behind
	@$(FERMI) demo

up: build ## The same server and environments, staying; prints the console's address
	@$(FERMI) up --data-dir "$(CACHE)/up" --env pytorch-dev-env:北京可用区A:2:jupyter --env llm-training-env:深圳可用区C:2 --env nlp-research-lab:上海可用区A:2

demo-run: build ## Two ranks train a small transformer under fermi run
	@rm -rf "$(CACHE)/demo"
	$(FERMI) run --nproc-per-node 2 --max-restarts 1 --checkpoint-dir "$(CACHE)/demo" --no-python $(FERMI) trainer --steps 200 --log-every 20

bench: build venv-bench ## Measure beside torchrun, deepspeed and mpirun; tables here, JSON in bench-results/
	$(CARGO) bench --locked -p fermi-cli --bench launch
	$(CARGO) bench --locked -p fermi-cli --bench control_plane
	$(CARGO) bench --locked -p fermi-planner --bench layouts
	$(CARGO) bench --locked -p fermi-domain --bench group_ranks
	$(CARGO) bench --locked -p fermi-domain --bench queue
	"$(VENV)/bin/python" benches/prepare.py

SOAK ?= 600
soak: build ## Ten minutes of 100 log followers of 16 ranks: CPU, memory and open files of the server (SOAK=seconds)
	FERMI_SOAK_SECONDS=$(SOAK) $(CARGO) bench --locked -p fermi-cli --bench control_plane -- soak --strict

PROCESSES ?= 2
TURNS ?= 7
bench-collective: build venv ## All-reduce of two processes beside torch's gloo, in turn; PROCESSES=2 TURNS=7
	"$(VENV)/bin/python" benches/collective.py $(FERMI) "$(VENV)/bin/python" $(PROCESSES) $(TURNS)

NODES ?= 16 32 64
bench-preflight: build ## How long a preflight of many machines takes, each a network namespace here, as root; NODES="16 32 64"
	@python3 benches/preflight.py $(FERMI) $(NODES)

PAIRS ?= 20
MINUTES ?= 30
BETWEEN ?= 60
SEED ?= 1
REPEATS ?= 1
FAULTS ?= both
bench-heal: build venv ## From the kill of a rank to the next first step, cold and warm, with large libraries too (PAIRS=20 ROWS=plain,libraries,hook); what the hook costs (REPEATS=1); then a fault every minute beside torchrun (MINUTES=30 BETWEEN=60 SEED=1 FAULTS=both|crashes|hangs)
	@held=0; "$(VENV)/bin/python" benches/heal.py $(FERMI) "$(VENV)/bin/python" "$(PAIRS)" "$(ROWS)" "$(REPEATS)" || held=1; \
	"$(VENV)/bin/python" benches/chaos.py $(FERMI) "$(VENV)/bin/python" $(MINUTES) $(BETWEEN) $(SEED) "" $(FAULTS) && exit $$held

bench-hangs: build venv ## Fourteen kinds of hangs at five ranks: is the rank named, with its line, in time; KINDS= and RANKS= choose
	@held=0; "$(VENV)/bin/python" benches/hangs.py $(FERMI) "$(VENV)/bin/python" "$(KINDS)" "$(RANKS)" || held=1; \
	"$(VENV)/bin/python" benches/dumps.py $(FERMI) && exit $$held

venv-bench: venv
	"$(VENV)/bin/pip" install --quiet --requirement benches/requirements.txt
	@command -v mpirun >/dev/null || echo "mpirun is not installed (Debian: openmpi-bin): it is left out"

docs: build ## Write docs/reference/cli.md from the built binary, openapi.json, and the console's types of it
	$(FERMI) reference > docs/reference/cli.md.new && mv docs/reference/cli.md.new docs/reference/cli.md
	FERMI_UPDATE_OPENAPI=1 $(CARGO) test $(TESTED) --quiet -p fermi-server --lib openapi
	@console/scripts/build.sh "$(CACHE)/console" schema

clean: ## Remove what was built here and in the cache folder
	rm -rf target "$(CACHE)"
