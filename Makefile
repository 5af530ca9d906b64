# Every target sets up what it needs in .venv: Python 3.11 or newer and a C compiler are all it asks for.
PYTHON ?= python3
PYTEST_ARGS ?=
# Tests run in so many processes side by side; 0 is one after the other, which a debugger needs.
TEST_PROCESSES ?= 2
SERVE_ARGS ?=
FUZZ_ARGS ?= --seconds 600
# A look at a part, which writes nothing: BENCH_ARGS=--quick; `python -m tests.bench --help` has more.
BENCH_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest $(PYTEST_ARGS)
PYTEST_SIDE_BY_SIDE := $(PYTEST) --numprocesses $(TEST_PROCESSES)
PROTO_PYTHON := .venv-proto/bin/python
CORE := fastcore/tokenwire_core
COMPILED := $(wildcard $(CORE)/*.pyx $(CORE)/*.pxd $(CORE)/*.h)

.PHONY: serve test check bench test-system test-long test-builds fuzz test-pythons stubs image clean help

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 14

serve: $(VENV)/built ## run the service on the embedded tokenizers and say how to call it
	$(BIN)/tokenwire serve $(SERVE_ARGS)

test: $(VENV)/ready .cache/pulled ## the tests, without those marked long or system
	$(PYTEST_SIDE_BY_SIDE) --dist loadfile -m "not long and not system" --ignore=tests/house

check: $(VENV)/ready $(PROTO_PYTHON) ## lint, types, stubs, layers, contract, committed data
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(PYTEST) tests/house

bench: $(VENV)/peers ## race the peers on the same texts; writes the README's table, docs/bench.md and its picture
	$(BIN)/python -m tests.bench $(BENCH_ARGS)

test-system: $(VENV)/ready .cache/pulled ## tests that need tools or processes of the operating system
	tests/system/install-tools.sh
	$(PYTEST) -m "system and not long"

test-long: $(VENV)/ready .cache/pulled ## every code point and 100,000 random texts for each artifact, full-size worst cases
	tests/system/install-tools.sh
	$(PYTEST_SIDE_BY_SIDE) --dist worksteal -m long

test-builds: $(VENV)/ready .cache/pulled ## the core's tests on other builds: portable, small caches, none, sanitizers; and it compiles for ARM
	for kind in portable small_caches no_caches sanitized; do \
	    echo "=== $$kind"; \
	    $(BIN)/python -m tests.builds $$kind --numprocesses $(TEST_PROCESSES) tests/core -m "not long" $(PYTEST_ARGS) || exit; \
	done
	tests/system/install-tools.sh aarch64-linux-gnu-gcc
	$(BIN)/python -m tests.builds aarch64

fuzz: $(VENV)/ready ## fuzz each loader for ten minutes, led by what is reached in the readers and the compiled core
	for loader in tiktoken hf_json sentencepiece; do \
	    $(BIN)/python -m tests.fuzz $$loader $(FUZZ_ARGS) || exit; \
	done

test-pythons: ## `make test` on each supported Python that is installed
	tests/system/on-each-python.sh

stubs: $(PROTO_PYTHON) ## regenerate the Python stubs from the contract
	proto/generate.sh $(CURDIR)/$(PROTO_PYTHON) $(CURDIR)/clients/python /dev/null

image: $(PROTO_PYTHON) ## at a release: the contract that later versions must not break
	proto/generate.sh $(CURDIR)/$(PROTO_PYTHON) "$$(mktemp -d)" $(CURDIR)/proto/tokenwire.v1.binpb

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Python 3.11 or newer is needed; name one with: make PYTHON=/path/to/python"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	touch $@

# Editable, so that the tree is what runs; build/ goes first, because a module that was deleted survives in it.
$(VENV)/built: $(VENV)/created $(COMPILED) pyproject.toml clients/python/pyproject.toml
	@echo "Compiling the core; the first time this takes some minutes."
	@rm -rf build
	$(PIP) --editable ./clients/python --editable .
	touch $@

$(VENV)/ready: $(VENV)/built requirements-dev.txt proto/requirements-lint.txt
	$(PIP) --requirement requirements-dev.txt
	touch $@

# Peers are optional: one that the index does not have for this machine is named by the benchmark, as not installed.
$(VENV)/peers: $(VENV)/ready requirements-bench.txt
	grep -v '^#' requirements-bench.txt | while read -r peer; do \
	    $(PIP) "$$peer" || echo "$$peer cannot be installed here"; \
	done
	touch $@

$(PROTO_PYTHON): proto/requirements.txt | $(VENV)/created
	$(BIN)/python -m venv --clear .venv-proto
	.venv-proto/bin/pip install --quiet --disable-pip-version-check --requirement proto/requirements.txt
	touch $@

.cache/pulled: tests/data/pull.py tests/data/rank_files.toml tests/data/artifacts.toml tests/data/catalogues.toml | $(VENV)/ready
	$(BIN)/python tests/data/pull.py
	mkdir -p $(@D) && touch $@

clean: ## remove everything that was built or pulled
	rm -rf .venv .venv-* .cache build dist tests/data/.pulled *.egg-info clients/python/*.egg-info \
	    $(CORE)/*.c $(CORE)/*.so .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
