# Everything a newcomer or CI does. `make up` and `make test` need Python 3.11+, make and git.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
export UV_PYTHON_DOWNLOADS := never
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Whatever the caller says: each of many hundred starts would compile all that it imports.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help

.PHONY: help
help: ## say what can be made
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "IBI needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	@echo "Installing what requirements.lock names into .venv (once) ..."
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv
# uv is bootstrapped by pip, from its own pinned and hashed entry of the lock file.
	@awk '/^uv==/{own=1} /^[^ ]/&&!/^uv==/{own=0} own' requirements.lock > .venv/uv.lock
	@$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r .venv/uv.lock
	@$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: install
install: $(INSTALLED) ## create .venv from the lock file

.PHONY: up
up: $(INSTALLED) ## run a resolver and an archive with a few items, until Ctrl-C
	@$(BIN)/ibi up --demo

# Real judges of some tests: Tcl reads our pair lists, a browser opens what was deposited.
JUDGES := tclsh chromium
.PHONY: judges
judges: ## install what some tests need of Debian, if it is not here: tclsh and chromium
	@for judge in $(JUDGES); do command -v $$judge > /dev/null || missing=yes; done; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  echo "Installing tcl and chromium, which some tests need (once) ..."; \
	  export DEBIAN_FRONTEND=noninteractive; apt-get --quiet=2 update > /dev/null; \
	  apt-get --quiet=2 install --yes --no-install-recommends tcl chromium > /dev/null; \
	fi

# One process more than cores: some tests wait for others to time out.
PYTEST := $(BIN)/python -m pytest --numprocesses=$$(( $$(nproc) + 1 )) --dist=worksteal

.PHONY: test
test: $(INSTALLED) judges ## what CI runs: format, lint, types, import contracts, tests
	@$(MAKE) --no-print-directory --jobs=2 lint tests

.PHONY: tests
tests: $(INSTALLED) ## the tests alone
	PYTHONHASHSEED=0 $(PYTEST)

# Of the examples of property tests: `make long SEED=...` repeats a run.
SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
.PHONY: long
long: $(INSTALLED) judges ## the tests for which CI has no time, and new examples (SEED=number: those of a run)
	$(eval SEED := $(SEED))
	PYTHONHASHSEED=$(SEED) IBI_TESTS=full $(PYTEST) -m "long or many or hypothesis" --hypothesis-seed=$(SEED)

.PHONY: workers
workers: $(INSTALLED) ## the tests over HTTP once more, each service served by two workers (long)
	IBI_TEST_WORKERS=2 $(PYTEST) -m "http and not long"

.PHONY: lint
lint: $(INSTALLED) ## format and lint checks, types, import contracts
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: format
format: $(INSTALLED) ## mend format and what the linter can mend itself
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

.PHONY: fuzz
fuzz: $(INSTALLED) judges ## a million strings against the standard's grammars, then coverage-guided (long)
	$(BIN)/python -m tests.conformance.fuzz

.PHONY: attack
attack: $(INSTALLED) judges ## all attacks of the threat model in full, a browser among them (long)
	IBI_ATTACKS=full $(BIN)/python -m pytest tests/attacks tests/archive/web/test_openapi_http.py

.PHONY: faults
faults: $(INSTALLED) ## simulate worlds; kill, stop, fork, set clocks, break disks: no label twice, nothing half (long)
	$(BIN)/python -m tests.simulation --mutations
	$(BIN)/python -m tests.simulation --seeds 2000
	$(BIN)/python -m tests.faults

.PHONY: bench
bench: $(INSTALLED) ## measure, and write bench/RESULTS.md (ONLY=word: some of it)
	$(BIN)/python -m bench.run "$(ONLY)"

.PHONY: soak
soak: $(INSTALLED) ## an hour at half load while things break: nothing grows, no error but 503
	$(BIN)/python -m bench.run "an hour at half load"

.PHONY: conformance
conformance: $(INSTALLED) ## write docs/conformance.md from the conformance tests
	$(BIN)/python -m tests.conformance.report

.PHONY: docs
docs: $(INSTALLED) ## build the documentation into site/
	$(BIN)/mkdocs build --strict --quiet

.PHONY: lock
lock: $(INSTALLED) ## pin all dependencies anew
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --upgrade \
	  --group dev pyproject.toml --output-file requirements.lock
	$(MAKE) install

.PHONY: clean
clean: ## remove everything that make makes
	rm -rf .venv site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	find src tests bench -name __pycache__ -exec rm -rf {} +
