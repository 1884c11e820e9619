# Two commands do it all on a machine with Python >= 3.11, git and make:
#   make demo   an agent reads real files and answers (no key, no network after the install)
#   make test   the whole suite

VENV ?= .venv
BIN := $(VENV)/bin
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; raise SystemExit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
STANDARD := core plugins/terminal plugins/files plugins/shell plugins/sandbox-local \
	plugins/provider-offline plugins/standard
PROJECTS := core/pyproject.toml $(wildcard plugins/*/pyproject.toml) constraints.txt
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
INPUT ?= examples/demo
ONLY ?=

.PHONY: demo test lint docs bench format clean

demo: $(VENV)/.standard
	@$(BIN)/python examples/run_demo.py "$(INPUT)"

test: $(VENV)/.dev
	$(BIN)/python -m pytest $(PYTEST)

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

bench: $(VENV)/.dev
	$(BIN)/python tests/bench/run.py $(if $(ONLY),--only $(ONLY))

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
	$(PIP) install -c constraints.txt $(foreach p,$(STANDARD),-e $(p))
	@touch $@

$(VENV)/.dev: $(VENV)/.standard requirements-dev.txt
	$(PIP) install -c constraints.txt -r requirements-dev.txt -e 'core[keyring,new,testing]' \
		$(foreach p,$(patsubst %/pyproject.toml,%,$(wildcard plugins/*/pyproject.toml)),-e $(p))
	@touch $@
