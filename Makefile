# `make check` sets up an environment and runs the main job; `make test` sets one up and runs the tests.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: check figures test lint types clean

check: $(VENV)/.check-ready
	$(BIN)/clusterproof check
	$(BIN)/clusterproof figures contraction-map error-per-round tightness --out figures-out

figures: $(VENV)/.check-ready
	$(BIN)/clusterproof figures --out figures-out

test: $(VENV)/.test-ready
	$(BIN)/python -m pytest -n 2

lint: $(VENV)/.test-ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test-ready
	$(BIN)/mypy

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.check-ready: pyproject.toml constraints.txt | $(VENV)/bin/pip
	$(PIP) --editable '.[plot,store,cluster,certify]'
	touch $@

$(VENV)/.test-ready: pyproject.toml constraints.txt | $(VENV)/bin/pip
	$(PIP) --editable '.[test]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .hypothesis figures-out
