# Every command sets up what it needs. `make` lists them.
PYTHON ?= python3.11
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e
# What is installed: all that plays; on top of it further extras of pyproject.toml, where needed.
READY := $(VENV)/ready
DEV := $(VENV)/with-dev
# Libraries whose packages do not go with the others: an environment each, on top of that one.
APART := .venv-training
MODELS ?=
PAPER ?= llm_uno
DEALS ?=
MATCHES ?=
GAME ?=
PLAYOUTS ?= 1000
LEAGUE ?=
comma := ,
# A worker a core; each takes a file at a time, in the order of tests/conftest.py.
TESTS := $(PY) -m pytest -n auto --dist loadfile --no-loadscope-reorder

# What Python compiles is kept, whatever the shell says: a run loads 4,000 modules.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help run reproduce league league-check real-models test test-all test-real test-cluster test-training conformance check docs figures pages ui lock clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/' | expand -t 14

run: $(READY) ## play the main job: two prompting methods of a small language model in UNO
	$(PY) -m pipeline.run

reproduce: $(READY) ## set a paper's numbers beside our own: PAPER=llm_uno|uno_arena|talaga|observer|gamebench|audit
	$(PY) -m gauntlet.papers.reproduce $(PAPER) --playouts $(PLAYOUTS) $(if $(MODELS),--models $(MODELS)) \
		$(if $(DEALS),--deals $(DEALS)) $(if $(MATCHES),--matches $(MATCHES))

league: $(DEV) real-models ## play the public league, or go on with it: LEAGUE=small for a first look
	$(PY) -m pipeline.run experiment=league $(if $(filter small,$(LEAGUE)),output_dir=outputs/league_small deals=1 \
		game=tic_tac_toe$(comma)obfuscated_tic_tac_toe$(comma)holdem_hands$(comma)evergreen)

league-check: $(DEV) ## check the models that joined the league
	$(PY) -m gauntlet.papers.league.join --check

real-models: $(VENV)/with-gguf ## fetch two small real language models into the user's cache
	$(PY) -m tests.real.fetch

test: $(DEV) ## run the tests
	$(TESTS) -m "not slow and not cluster and not real"

test-all: $(DEV) ## run the tests, slow ones too
	$(TESTS) -m "not cluster"

test-real: $(DEV) real-models ## run the tests on real language models
	$(PY) -m pytest -m real

test-cluster: $(DEV) ## run the tests on real clusters, Ray and SLURM: BRIEF=1 for two minutes of them
	$(PY) -m pytest -m "cluster$(if $(BRIEF), and brief)"

test-training: $(APART)/openenv/ready $(APART)/verifiers/ready ## run the tests of games served
	$(APART)/openenv/bin/python -m pytest tests/training/test_openenv.py
	$(APART)/verifiers/bin/python -m pytest tests/training/test_verifiers.py

conformance: $(VENV)/with-conformance ## check what every game must keep on one: GAME=nim
	$(PY) -m tests.games $(GAME)

check: $(DEV) ## lint and type-check
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/mypy docs

docs: $(VENV)/with-docs ## build the documentation into docs/_build/html
	$(PY) -m sphinx -W --keep-going -n -q -b html docs docs/_build/html

figures: $(DEV) ## write the figures in the docs anew: SLOW=1 for those of minutes, ONLY=llm_uno
	$(PY) docs/figures.py $(if $(SLOW),--slow) --only "$(ONLY)"

pages: $(VENV)/with-pages ## open runs, matches and games in a browser (http://127.0.0.1:8050)
	$(PY) -m pipeline.pages

ui: $(VENV)/with-ui ## open the MLflow UI on this project's runs (http://127.0.0.1:5000)
	$(PY) -m pipeline.ui

lock: $(DEV) ## take the newest versions that pyproject.toml allows into constraints.txt
	$(PY) -m pip install --quiet --upgrade --upgrade-strategy eager -e ".[dev]"
	$(PY) -m pip freeze --exclude gauntlet | sed "s/+cpu//" > constraints.txt

clean: ## remove the environment and all caches; outputs stay
	rm -rf $(VENV) $(APART) *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Modules are compiled when they are first imported: most never are.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(PIP) ".[cluster,local,tracking]"
	touch $@

$(VENV)/with-%: $(READY)
	$(PIP) ".[$*]"
	touch $@

$(APART)/%/ready: $(DEV)
	$(PY) -m venv $(APART)/$*
	$(PY) -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
		> $$(ls -d $(APART)/$*/lib/python*/site-packages)/shared.pth
	$(APART)/$*/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	touch $@
