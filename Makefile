# Everything that a newcomer or CI needs. The virtual environment is made on first use and kept up to date.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
BENCH_STAMP := $(VENV)/.installed-bench
MINUTES ?= 5
DELIVERIES ?= 1000000

.PHONY: help run demo test check unit bench soak storm lock clean

help: ## Show this
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(STAMP): requirements/dev.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Pregon needs Python 3.11 or newer: make PYTHON=python3.11 …")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(BENCH_STAMP): requirements/bench.txt $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bench.txt
	@touch $@

run: $(STAMP) ## Run a hub here, data in ./pregon-data
	$(BIN)/pregon serve

demo: $(STAMP) ## Watch it work for half a minute: push, a fall, a kill -9, nothing lost
	$(BIN)/pregon demo

check: $(STAMP) ## Lint, types and house rules
	$(BIN)/ruff check src tests examples
	$(BIN)/ruff format --check src tests examples
	$(BIN)/mypy
	$(BIN)/pytest tests/house

unit: $(STAMP) ## The quick tests
	$(BIN)/pytest tests/unit tests/house

test: $(STAMP) ## Everything: lint, types, and all the tests
	$(BIN)/ruff check src tests examples
	$(BIN)/ruff format --check src tests examples
	$(BIN)/mypy
	$(BIN)/pytest

bench: $(BENCH_STAMP) ## Measure, beside Redis, NATS and RabbitMQ (installs them from Debian's packages)
	$(BIN)/pregon bench --peers --install --output bench-results/latest.json

soak: $(STAMP) ## Everything at once for five minutes, with failures, then an audit (MINUTES=1 for a short one)
	$(BIN)/python -m pregon.bench.soak --minutes $(MINUTES)

storm: $(STAMP) ## A million deliveries on a bad network, judged by an oracle (SEED=7 DELIVERIES=50000 for one of your own)
	PYTHONPATH=tests $(BIN)/python -m property.causal.storm --deliveries $(DELIVERIES) $(if $(SEED),--seed $(SEED))

lock: ## Write the lock files anew (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  --extra dev pyproject.toml requirements/build.in -o requirements/dev.txt
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  -c requirements/dev.txt --extra bench pyproject.toml -o requirements/bench.txt

clean: ## Remove what was built here (never your data)
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
