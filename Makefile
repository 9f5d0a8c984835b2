# The tasks of users, developers and CI. `make up` and `make test` need Python 3.11+, make and git.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
export UV_PYTHON_DOWNLOADS := never
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Byte code is always written: the tests start hundreds of processes, and each would compile all its imports.
export PYTHONDONTWRITEBYTECODE :=

# uv fails without a cache that it can write to: where there is no such home, it works without one.
UV = cache="$${UV_CACHE_DIR:-$${XDG_CACHE_HOME:-$$HOME/.cache}/uv}"; mkdir -p "$$cache" 2> /dev/null; \
	test -w "$$cache" || export UV_NO_CACHE=1; $(BIN)/uv

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "IBI needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	@echo "Installing what requirements.lock names into .venv (once) ..."
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear .venv
# pip installs uv from its own pinned and hashed entry of the lock file.
	@awk '/^uv==/{own=1} /^[^ ]/&&!/^uv==/{own=0} own' requirements.lock > .venv/uv.lock
	@$(BIN)/python -m pip install --quiet --no-deps --require-hashes -r .venv/uv.lock
	@$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

.PHONY: install
install: $(INSTALLED) ## create .venv from the lock file

.PHONY: up
up: $(INSTALLED) ## run a resolver and an archive with a few items, until Ctrl-C
	@$(BIN)/ibi up --demo

# Independent programs that some tests use, each as command=package: Tcl reads our pair lists, a browser opens pages and
# deposited files. A command that is there already stays: its package may conflict with where it came from.
JUDGES := tclsh=tcl chromium=chromium
.PHONY: judges
judges: ## install the Debian packages of tclsh and chromium, which some tests use, if they are missing
	@for judge in $(JUDGES); do \
	  command -v "$${judge%%=*}" > /dev/null || missing="$$missing $${judge#*=}"; \
	done; \
	if [ -n "$$missing" ] && [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  echo "Installing$$missing, which some tests need (once) ..."; \
	  export DEBIAN_FRONTEND=noninteractive; apt-get --quiet=2 update > /dev/null; \
	  apt-get --quiet=2 install --yes --no-install-recommends $$missing > /dev/null; \
	fi

# One process more than cores, because some tests spend their time waiting for time-outs.
PYTEST := $(BIN)/python -m pytest --numprocesses=$$(( $$(nproc) + 1 )) --dist=worksteal

.PHONY: test
test: $(INSTALLED) judges ## all checks of CI: format, lint, types, import contracts, tests
	@$(MAKE) --no-print-directory --jobs=2 lint tests

.PHONY: tests
tests: $(INSTALLED) ## run the tests alone
	PYTHONHASHSEED=0 $(PYTEST)

# The seed of the examples of property tests: `make long SEED=...` repeats a run.
SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
.PHONY: long
long: $(INSTALLED) judges ## run the tests for which CI has no time, with new examples (SEED=number repeats a run)
	$(eval SEED := $(SEED))
	PYTHONHASHSEED=$(SEED) IBI_TESTS=full $(PYTEST) -m "long or many or hypothesis" --hypothesis-seed=$(SEED)

.PHONY: interop
interop: $(INSTALLED) ## run the tests by software of others that takes long to install or to run
	$(BIN)/python -m pytest -m interop tests/interop

.PHONY: workers
workers: $(INSTALLED) ## run the tests over HTTP again, with two workers for each service (long)
	IBI_TEST_WORKERS=2 $(PYTEST) -m "http and not long"

.PHONY: lint
lint: $(INSTALLED) ## check format, lint, types and import contracts
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: format
format: $(INSTALLED) ## fix the format and what the linter can fix
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

.PHONY: fuzz
fuzz: $(INSTALLED) judges ## compare a million strings with the standard's grammars, then fuzz by coverage (long)
	$(BIN)/python -m tests.conformance.fuzz

.PHONY: attack
attack: $(INSTALLED) judges ## run all attacks of the threat model in full, with a browser (long)
	IBI_ATTACKS=full $(BIN)/python -m pytest --numprocesses=2 --dist=loadfile -m "not long and not alone" \
	  tests/attacks tests/federation/test_openapi_http.py
	IBI_ATTACKS=full $(BIN)/python -m pytest -m "alone and not long" tests/attacks

# Packages of npm are installed beside the Python packages; their scripts, which would download browsers, never run.
NPM_PACKAGES := .venv/judges/.installed
$(NPM_PACKAGES): tests/browser/package.json tests/browser/package-lock.json | $(INSTALLED)
	@$(MAKE) --no-print-directory judges \
	  JUDGES="chromium=chromium firefox-esr=firefox-esr lynx=lynx java=default-jre-headless npm=npm"
	@echo "Installing pa11y, Lighthouse and vnu into .venv/judges (once) ..."
	@mkdir -p .venv/judges && cp $^ .venv/judges
	@cd .venv/judges && npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

.PHONY: browser
browser: $(INSTALLED) $(NPM_PACKAGES) ## drive Chromium and Firefox as people do, and judge all pages (long)
	$(BIN)/python -m pytest --numprocesses=2 --dist=loadfile -m "not screenshots" tests/browser

.PHONY: screenshots
screenshots: $(INSTALLED) judges ## write the pictures of pages in docs/pictures
	$(BIN)/python -m pytest -m screenshots tests/browser

.PHONY: faults
faults: $(INSTALLED) ## simulate federations; kill, stop and fork processes, set clocks, break disks (long)
	$(BIN)/python -m tests.simulation --mutations
	$(BIN)/python -m tests.simulation --seeds 2000
	$(BIN)/python -m tests.faults

.PHONY: bench
bench: $(INSTALLED) ## run the benchmarks, and write bench/RESULTS.md (ONLY=word selects some)
	$(BIN)/python -m bench.run "$(ONLY)"

.PHONY: soak
soak: $(INSTALLED) ## run an hour at half load with faults: no growth, no error but 503
	$(BIN)/python -m bench.run "an hour at half load"

.PHONY: conformance
conformance: $(INSTALLED) ## write docs/conformance.md from the conformance tests
	$(BIN)/python -m tests.conformance.report

.PHONY: reference
reference: $(INSTALLED) ## write the tables of operations in docs/reference from the programs
	$(BIN)/python -m tests.architecture.api_reference

.PHONY: docs
docs: $(INSTALLED) ## build the documentation into site/
	$(BIN)/mkdocs build --strict --quiet

.PHONY: lock
lock: $(INSTALLED) ## pin the newest versions of all dependencies
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --upgrade \
	  --group dev pyproject.toml --output-file requirements.lock
	$(MAKE) install

.PHONY: clean
clean: ## remove everything that make created
	rm -rf .venv site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	find src tests bench -name __pycache__ -exec rm -rf {} +
