# `make check` sets up an environment and runs the main job; `make test` sets one up and runs the tests.
PYTHON ?= python3
VENV ?= .venv
# the versions to install; empty for the newest
CONSTRAINTS ?= constraints.txt
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --disable-pip-version-check $(addprefix --constraint ,$(CONSTRAINTS))
# an existing environment with pytest is used unchanged
TEST_READY := $(if $(wildcard $(BIN)/pytest),$(wildcard $(VENV)/.test-ready),$(VENV)/.test-ready)

# keep bytecode: the tests start many processes, each of which would compile the modules again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: check announce announce-docs figures docs test test-all proofs lint types size release clean

check: announce $(VENV)/.check-ready
	$(BIN)/clusterproof check
	mkdir -p figures-out
	$(BIN)/clusterproof run cfl-mgd --plot figures-out/cfl-mgd.svg
	$(BIN)/clusterproof run fpfc --plot figures-out/fpfc.svg
	@echo
	@echo "figures-out/ has both runs as pictures. Next:"
	@echo "  . $(BIN)/activate                     then, in this shell,"
	@echo "  clusterproof show cfl-mgd/lemma-2     a claim, its counterexample and its repair"
	@echo "  clusterproof run --help               other algorithms, tasks and settings"
	@echo "  make test                             the fast tests, four minutes on two cores"

announce:
	@echo "Set-up: one to three minutes, once. Claims and two runs: half a minute."

announce-docs:
	@echo "Set-up: up to a quarter of an hour, once. The site: twenty minutes on two cores, a line for each page."

figures: $(VENV)/.check-ready
	$(BIN)/clusterproof figures --out figures-out

docs: announce-docs $(TEST_READY)
	mkdir -p docs/site/drawn
	$(BIN)/sphinx-build --fail-on-warning --keep-going --jobs 2 --conf-dir docs/site docs docs-out

test: $(TEST_READY)
	$(BIN)/python -m pytest -n logical --dist worksteal

# all tests, with all Hypothesis examples, in one run
test-all: $(TEST_READY)
	$(BIN)/python -m pytest -n logical --dist worksteal -m "" --hypothesis-profile large

# every word of the kernel by a bare Python, and every proof by Rocq: needs coqc, such as Debian's package coq
# (two lines have none, which nest loops and keep values of f in their state: export says why)
proofs: $(TEST_READY)
	rm -rf proofs-out
	$(BIN)/clusterproof export '*' --out proofs-out
	$(BIN)/python -I -S proofs-out/replay.py
	test $$(ls proofs-out/*/*.v | wc -l) -ge $$(( $$(ls proofs-out/*/evidence.json | wc -l) - 2 ))
	$(MAKE) --no-print-directory -s -C proofs-out

lint: $(TEST_READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache --no-logo

types: $(TEST_READY)
	$(BIN)/mypy

# lines of code, docstrings and data files by package
size:
	$(PYTHON) -m benchmarks.size

# the source archive and the wheel that is built from it, in dist/; both are checked as PyPI checks them, and the wheel,
# installed alone and used outside of this folder, judges a claim
release: $(VENV)/.release-ready
	rm -rf dist build/release
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv build/release
	build/release/bin/pip install --quiet --disable-pip-version-check $(addprefix --constraint ,$(CONSTRAINTS)) dist/*.whl
	cd build/release && env -u PYTHONPATH bin/clusterproof check cfl-mgd/lemma-2

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.check-ready: pyproject.toml $(CONSTRAINTS) | $(VENV)/bin/pip
	$(PIP) --editable '.[figures]'
	touch $@

$(VENV)/.test-ready: pyproject.toml $(CONSTRAINTS) | $(VENV)/bin/pip
	$(PIP) --editable '.[test]'
	touch $@

$(VENV)/.release-ready: pyproject.toml $(CONSTRAINTS) | $(VENV)/bin/pip
	$(PIP) build twine
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .hypothesis figures-out docs-out jupyter_execute docs/catalogue docs/site/drawn proofs-out
