# Two commands set everything up: `make try` shows a real run, `make test` checks the whole project.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: help try test check format bench definitions clean

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 20

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bridle needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

try: $(VENV)/.ready ## watch the offline model repair a small project
	@sh scripts/try.sh $(BIN)

test: check ## run every check and every test
	$(BIN)/python -m pytest -n $(WORKERS)

check: $(VENV)/.ready-dev ## formatting, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright

format: $(VENV)/.ready-dev ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

definitions: $(VENV)/.ready ## write what the model is told about each tool
	$(BIN)/python scripts/write_definitions.py

bench: $(VENV)/.ready ## measure start-up, steps, streaming and search against a bare-Python floor
	$(BIN)/python bench/run.py

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .pytest_cache .ruff_cache .hypothesis
