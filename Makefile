.DEFAULT_GOAL := help
PYTHON ?= $(shell python3.11 -c 'print("python3.11")' 2>/dev/null || echo python3)
VENV := .venv
FUZZ_SECONDS ?= 60
BIN := $(VENV)/bin
RIVALS := .venv-rivals
CITIZEN := .venv-citizen
LOWEST := .venv-lowest
ifneq ($(wildcard ../shared/data),)
export RANKFAIR_DATA ?= $(abspath ../shared/data)
endif

.PHONY: $(shell awk -F: '/^[a-z-]+:/ {print $$1}' $(firstword $(MAKEFILE_LIST)))

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-21s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.demo  ## Fit every method on synthetic data: a table, and pictures in demo/
	$(BIN)/rankfair demo --out demo

test: lint types  ## Lint, types and all tests with coverage
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --cov --cov-report=term

test-cpus: $(VENV)/.dev  ## The tests that fit and count, as other processors would run them
	OMP_NUM_THREADS=1 $(BIN)/python tools/test_cpus.py $(ONLY)

explore: $(VENV)/.dev  ## All tests on examples that were not tried before
	RANKFAIR_EXPLORE=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2

mutants: $(VENV)/.dev  ## Change the code in 310 places, one at a time: do tests notice?
	$(BIN)/python tools/mutants.py $(OPTIONS)

fuzz: $(VENV)/.fuzz  ## Feed the readers of files odd bytes, 60 s (FUZZ_SECONDS) in all
	OMP_NUM_THREADS=1 $(BIN)/python fuzz/run.py --seconds $(FUZZ_SECONDS)

bench: $(VENV)/.dev  ## Time and memory as ratios to scikit-learn, in one run
	$(BIN)/python benchmarks/bench_heart.py $(OPTIONS)

bench-options: $(VENV)/.dev  ## Every option as a ratio to the default fit, into docs/scale.md
	$(BIN)/python benchmarks/bench_options.py --write docs/scale.md $(OPTIONS)

bench-new-rows: $(VENV)/.dev  ## Drift, error and the price of fairness on new rows, into docs/new-rows.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/new_rows.py --write $(OPTIONS)

bench-any: $(VENV)/.dev  ## Any regressor: tilted refits against a constant shift, on Wine
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/bench_any.py

bench-groups: $(VENV)/.dev  ## Three groups: tilted refits against a shift, into docs/python.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/bench_groups.py --write docs/python.md

bench-post: $(VENV)/.equipy  ## Maps of predictions against EquiPy and a programme, into docs/maps.md
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.post --write docs $(OPTIONS)

bench-scope: $(VENV)/.dev  ## Bands in every task against one over all rows: time
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/bench_scope.py

bench-audit: $(VENV)/.dev  ## An audit of 10⁶ rows × 1,000 tasks against one sort of the rows
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/bench_audit.py

bench-commands: $(VENV)/.dev  ## Commands on 10⁶ rows of CSV against reading them, into docs/scale.md
	$(BIN)/python benchmarks/bench_commands.py --write docs/scale.md $(OPTIONS)

bench-rivals: $(RIVALS)/.ready  ## Other packages, in an environment of its own, into docs/rivals.md
	$(RIVALS)/bin/python -m benchmarks.rivals $(OPTIONS)

bench-citizen: $(CITIZEN)/.ready  ## Defaults on seven public datasets, into docs/citizen.md
	OMP_NUM_THREADS=1 $(CITIZEN)/bin/python -m benchmarks.citizen $(OPTIONS)

bench-stream: $(VENV)/.dev  ## Streams of 10⁸ rows (ROWS) against memory, into docs/scale.md
	$(BIN)/python benchmarks/bench_stream.py --rows $(or $(ROWS),1e8) --write docs/scale.md

bench-tasks: $(VENV)/.dev  ## Streams of 10⁶ small tasks (TASKS) against memory, into docs/scale.md
	$(BIN)/python benchmarks/bench_stream.py --tasks $(or $(TASKS),1e6) --write docs/scale.md

bench-dask: $(VENV)/.dev  ## Two workers with 10⁷ rows (ROWS) against memory, into docs/scale.md
	$(BIN)/python benchmarks/bench_dask.py --rows $(or $(ROWS),1e7) --write docs/scale.md

simulate-certificate: $(VENV)/.dev  ## Coverage of the certificate, into docs/certificate.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/simulate_certificate.py

simulate-intervals: $(VENV)/.dev  ## Coverage of the intervals of AUC, into docs/intervals.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/simulate_intervals.py

simulate-explained: $(VENV)/.dev  ## Coverage of explained gaps, into docs/explained.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/simulate_explained.py

record: $(VENV)/.dev  ## What the package gives, into record.json (AGAINST=old.json compares)
	OMP_NUM_THREADS=1 $(BIN)/python tools/record.py record.json $(if $(AGAINST),--against $(AGAINST))

schema: $(VENV)/.dev  ## The JSON schemas in docs/ again, from the records
	$(BIN)/python tools/schema.py

cli-page: $(VENV)/.dev  ## The help of all commands again, into docs/cli.md
	$(BIN)/python tools/cli_page.py

reproduction: $(VENV)/.dev  ## The paper again, into docs/ (half an hour); QUICK=1: minutes
	$(BIN)/python -m paper $(if $(QUICK),--quick --out results/quick,--docs docs)

constraints: $(VENV)/.dev  ## What each constraint costs and brings, into docs/constraints.md
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.compare_constraints

line-page: $(VENV)/.dev  ## Why a line, left-out counts and means: pictures into docs/line.md
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/line_page.py $(OPTIONS)

docs: $(VENV)/.docs  ## Build the site into docs/_build/html; warnings and broken links are errors
	MPLBACKEND=Agg OMP_NUM_THREADS=1 $(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	$(BIN)/python tools/check_site.py docs/_build/html

docs-serve: docs  ## Build the site, and show it at http://localhost:8000
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory docs/_build/html 8000

dist: $(VENV)/.dev  ## Build wheel and sdist, and try the wheel in an empty environment
	rm -rf dist
	$(BIN)/python -m build --quiet
	$(BIN)/python tools/try_wheel.py dist

test-lowest: $(LOWEST)/.ready  ## The tests on the lowest versions that pyproject.toml promises
	OMP_NUM_THREADS=1 $(LOWEST)/bin/python -m pytest -q $(or $(ONLY),tests)

readme: $(VENV)/.dev  ## Run what README.md and the pages in docs/ show; renew outputs
	$(BIN)/python tools/readme.py

lint: $(VENV)/.dev  ## Check style and formatting
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(VENV)/.dev  ## Rewrite files in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types: $(VENV)/.dev  ## Check types (mypy, strict)
	$(BIN)/mypy

clean:  ## Remove the environment and everything generated
	rm -rf $(VENV) $(RIVALS) $(CITIZEN) $(LOWEST) demo results dist build .coverage .coverage.* htmlcov
	rm -rf docs/_build docs/gallery docs/reference/generated .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests benchmarks paper tools -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[cli,plot]'
	touch $@

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[all,dev]'
	touch $@ $(VENV)/.demo

$(VENV)/.docs: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@

$(LOWEST)/.ready: pyproject.toml tools/lowest.py
	$(PYTHON) -m venv $(LOWEST)
	$(PYTHON) tools/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --constraint $(LOWEST)/constraints.txt \
	    --editable '.[all,dev]'
	touch $@

# atheris has wheels for some versions of Python only; without it, hypothesis does it.
$(VENV)/.fuzz: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet atheris \
	    || echo 'atheris does not install here: fuzzing with hypothesis instead'

# Without EquiPy the page has its other rows.
$(VENV)/.equipy: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet equipy && touch $@ \
	    || echo 'EquiPy does not install here: its rows are left out'

$(RIVALS)/.ready: pyproject.toml benchmarks/rivals/requirements.txt
	$(PYTHON) -m venv $(RIVALS)
	$(RIVALS)/bin/python -m pip install --quiet --requirement benchmarks/rivals/requirements.txt
	$(RIVALS)/bin/python -m pip install --quiet --editable .
	touch $@

$(CITIZEN)/.ready: pyproject.toml benchmarks/citizen/requirements.txt
	$(PYTHON) -m venv $(CITIZEN)
	$(CITIZEN)/bin/python -m pip install --quiet --requirement benchmarks/citizen/requirements.txt
	$(CITIZEN)/bin/python -m pip install --quiet --no-deps ISLP==0.6.0
	$(CITIZEN)/bin/python -m pip install --quiet --editable .
	touch $@
