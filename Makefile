# make train   the main job: Hearts from random hands, by self-play, to a tournament
# make test    the contracts, in minutes; make test-all has whole runs, Ray, browsers, packages and damage besides
# Both need nothing but Python 3.11 or newer with pip; the first call installs everything into .venv.

PYTHON ?= python3
RUN_DIR ?= runs/hearts_demo
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.installed

.PHONY: train test test-all cards chaos soak check format docs site release bench scale install

train: $(READY)
	$(BIN)/python -m selfplay experiment=hearts_demo run.dir=$(RUN_DIR)

PYTEST := PYTHONFAULTHANDLER=1 $(BIN)/python -m pytest -n 3 $(SKIP:%=--may-skip=%)

test: $(READY)  # SKIP=gpu: a test that is skipped fails, unless it needs a GPU
	$(PYTEST) -m "not slow and not chaos and not cards"

test-all: test
	$(PYTEST) -m "slow and not chaos and not cards"

cards: $(READY)  # some minutes: the networks that ship are what their cards say
	$(BIN)/python -m pytest -m cards

FAULTS ?= 60
CHAOS_DIR ?=
chaos: $(READY)  # ten minutes or more: kills, hangs, lost machines, cut links, full disks, S3 errors
	$(BIN)/python -m pytest -m chaos
	$(BIN)/python -m tests.chaos --faults $(FAULTS) $(if $(CHAOS_DIR),--dir $(CHAOS_DIR))

SECONDS ?= 3600
soak: $(READY)  # an hour of iterations in one command; memory must stay flat
	$(BIN)/python -m tests.soak --seconds $(SECONDS)

check: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(READY)
	$(BIN)/python -m games.docs
	$(BIN)/python -m search.docs --write

site: $(READY)  # build/site/index.html
	$(BIN)/zensical build --clean

release: $(READY)  # VERSION=0.2.0: the version everywhere, sdist and wheel in dist/, tried in a fresh environment
	$(BIN)/python -m tests.release $(VERSION)

scale: $(READY)  # requests, bytes and items a second of what grows with a cluster
	$(BIN)/python -m tests.scale

bench: $(READY)
	$(BIN)/python -m benchmarks.rules

install: $(READY)

$(READY): pyproject.toml constraints.txt tests/storage/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "error: $(PYTHON) is missing or older than Python 3.11; name a newer one: make PYTHON=python3.12 ..." >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(PYTHON) -m venv $(VENV)/s3-server  # the server that tests start needs other versions than ours
	$(VENV)/s3-server/bin/python -m pip install --disable-pip-version-check -r tests/storage/requirements.txt
	@touch $(READY)
