# `make help` lists the targets. Only Python 3.11 or newer and make are needed.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check --no-input
QUICKSTART := results/quickstart
CPUS := $(shell getconf _NPROCESSORS_ONLN)
CORES := -n $(CPUS) --maxprocesses 8
# Tests of faults wait most of their time: for a stopped process, a cut line, SLURM's minutes.
# tests/conftest.py says which of them belong to one process, and which come first.
WAITING := -n $(shell expr 2 '*' "$(CPUS)") --maxprocesses 16 \
	--dist loadfile --no-loadscope-reorder

# The first of these that is at least 3.11 is taken. Another one: make PYTHON=/path/to/python
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 \
	&& { echo "$$python"; break; }; done)

.PHONY: help venv venv-dev warm quickstart test test-hard test-slow test-faults chaos lint format docs docs-check lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(STAMP) ## Make .venv with the locked packages
	@:

venv-dev: $(DEV_STAMP) ## Add what tests and checks need
	@:

$(DEV_STAMP): $(STAMP) requirements-dev.lock
	@echo "Installing what tests and checks need (about a minute, once) ..."
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $(DEV_STAMP)

$(STAMP): requirements.lock pyproject.toml
	@if [ -z "$(PYTHON)" ]; then \
		echo "treesweep needs Python 3.11 or newer and found none;" \
			"say where one is: make PYTHON=/path/to/python3.11" >&2; exit 1; fi
	@"$(PYTHON)" -c 'import sys' >/dev/null 2>&1 || { \
		echo "PYTHON=$(PYTHON) does not run; say where Python 3.11 or newer is:" \
			"make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit( \
		"treesweep needs Python 3.11 or newer, and $(PYTHON) is {}.{}; ".format(v[0], v[1]) \
		+ "say where a newer one is: make PYTHON=/path/to/python3.11")'
	@"$(PYTHON)" -c 'import ensurepip, venv' >/dev/null 2>&1 || { \
		echo "$(PYTHON) has no venv module; on Debian and Ubuntu: apt install python3-venv" >&2; \
		exit 1; }
	@echo "Installing into $(VENV) (about a minute, once) ..."
	@rm -f $(STAMP)
	@$(PIP) --version >/dev/null 2>&1 || "$(PYTHON)" -m venv --clear $(VENV)
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

quickstart: venv ## Sweep, store and report a small example
	@$(BIN)/treesweep warmup branches cart
	@$(BIN)/treesweep run examples/quickstart.yaml --out $(QUICKSTART)
	@$(BIN)/treesweep report $(QUICKSTART)
	@echo "The report: $(QUICKSTART)/report/index.html"

# Kernels are compiled before the tests share the cores: side by side it takes many times as long.
# To see that none is missing takes some seconds; `make -o warm` leaves it out.
warm: venv-dev ## Compile all kernels that are not compiled yet
	@$(BIN)/treesweep warmup

test: warm ## Run the fast tests
	@$(BIN)/python -m pytest $(CORES) --dist loadfile -m "not slow and not faults" $(ARGS)

test-hard: test-slow test-faults ## Run the slow tests and the faults

test-slow: warm ## Run the slow tests of the searches, which need a core each
	@$(BIN)/python -m pytest $(CORES) --dist worksteal -m slow --durations 10 $(ARGS) tests/solver tests/contract

test-faults: warm ## Run the other slow tests and the faults, which wait, two to a core
	@$(BIN)/python -m pytest $(WAITING) -m "slow or faults" --ignore tests/solver --ignore tests/contract --durations 30 $(ARGS)

chaos: venv-dev ## Strike sweeps with 200 random faults and compare (ARGS="--faults 1000")
	@$(BIN)/python -m tests.faults.chaos --faults 200 --seed 1 $(ARGS)

lint: venv-dev ## Check style and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: venv-dev ## Put style right where a tool can
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# Sphinx tells of what is wrong in pages, in docstrings and in the examples of the gallery.
docs: warm ## Build the site into docs/_build/html; warnings are errors
	@$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html $(ARGS)
	@echo "The site: docs/_build/html/index.html"

docs-check: venv-dev ## Run the commands of README.md and docs/
	@$(BIN)/python -m pytest -n 2 --dist loadfile --durations 10 $(ARGS) tests/run_documentation.py

# uv lives in a throw-away environment: it makes the lock and is no part of it.
lock: ## Resolve requirements.lock anew (UPGRADE=1: to the newest versions)
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	"$(PYTHON)" -m venv "$$tmp"; \
	"$$tmp/bin/python" -m pip -qq --disable-pip-version-check install uv; \
	lock() { "$$tmp/bin/uv" --quiet pip compile pyproject.toml --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate $(if $(UPGRADE),--upgrade) "$$@"; }; \
	lock --extra dev --output-file requirements-dev.lock; \
	lock --extra build --constraint requirements-dev.lock --output-file requirements.lock; \
	! grep -nE '://|--index|--find-links' requirements.lock requirements-dev.lock
	@grep -c '==' requirements.lock requirements-dev.lock

clean: ## Remove everything that make made
	@rm -rf $(VENV) results build dist docs/_build docs/gallery docs/reference/api .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	@find solver sweep pipelines tests -name __pycache__ -type d -prune -exec rm -rf {} +
