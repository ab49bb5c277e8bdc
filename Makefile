# Every command sets up what it needs. `make` lists them.
PYTHON ?= python3.11
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/ready
MODELS ?=
PAPER ?= llm_uno
DEALS ?=
MATCHES ?=
PLAYOUTS ?= 1000
# A worker a core; each takes a file at a time, in the order of tests/conftest.py.
TESTS := $(PY) -m pytest -n auto --dist loadfile --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help run reproduce test test-all test-cluster check figures pages ui clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

run: $(READY) ## play the main job: two prompting methods of a small language model in UNO
	$(PY) -m pipeline.run

reproduce: $(READY) ## set a paper's numbers beside our own: PAPER=llm_uno|uno_arena|talaga|observer|gamebench|audit
	$(PY) -m papers.reproduce $(PAPER) --playouts $(PLAYOUTS) $(if $(MODELS),--models $(MODELS)) \
		$(if $(DEALS),--deals $(DEALS)) $(if $(MATCHES),--matches $(MATCHES))

test: $(READY) ## run the tests
	$(TESTS) -m "not slow and not cluster"

test-all: $(READY) ## run the tests, slow ones too
	$(TESTS) -m "not cluster"

test-cluster: $(READY) ## run the tests on real clusters: Ray of two nodes, SLURM where root
	$(PY) -m pytest -m cluster

check: $(READY) ## lint and type-check
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

figures: $(READY) ## write the figures in the docs anew: SLOW=1 for those of minutes, ONLY=llm_uno
	$(PY) docs/figures.py $(if $(SLOW),--slow) --only "$(ONLY)"

pages: $(READY) ## open runs, matches and games in a browser (http://127.0.0.1:8050)
	$(PY) -m pipeline.pages

ui: $(READY) ## open the MLflow UI on this project's runs (http://127.0.0.1:5000)
	$(PY) -m pipeline.ui

clean: ## remove the environment and all caches; outputs stay
	rm -rf $(VENV) *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# torch comes first and alone: its pin decides whether pip takes a local CPU build.
$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check "torch==2.13.0"
	$(PY) -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $(READY)
