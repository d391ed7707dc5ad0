# Every target sets up what it needs: a virtual environment with pinned packages. Nothing but Python 3.11+ is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready

.DEFAULT_GOAL := help
.PHONY: help demo tour test check format clean \
    bench-decide bench-eventlog bench-probe bench-capacity bench-control bench-rescale bench-convergence bench-migration bench-rewrite bench-generator bench-load bench-nexmark bench-nexmark-convergence bench-curves bench-twin lab verify-kills verify-state verify-lab verify-workloads verify-kafka kafka

help: ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 24

demo: $(READY) ## a word count on a local Spark cluster under a load that rises and falls: watch it follow (four minutes)
	$(BIN)/headgate demo

tour: $(READY) ## answers from files alone: why is a job slow, and how many instances does a word count need?
	$(BIN)/headgate inspect examples/slow-job/slow.zstd --slots 16
	@echo
	$(BIN)/headgate decide --topology examples/wordcount/topology.csv --rates examples/wordcount/rates.log
	@echo
	$(BIN)/headgate decide --topology examples/wordcount/topology.csv --rates examples/wordcount/rates.log \
	    --source-rates examples/wordcount/source-rates.csv --factor 0.1 --explain

test: $(READY) ## all tests
	$(BIN)/python -m pytest

check: $(READY) ## style, types, architecture, examples in docstrings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --doctest-modules src -q

format: $(READY) ## bring the code into its usual form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench-decide: $(READY) ## time and memory of `headgate decide` beside pyarrow reading the same file
	$(BIN)/python benchmarks/decide.py

bench-capacity: $(READY) ## predicted batch times on 2, 4 and 8 executors, and the real ones
	$(BIN)/python benchmarks/capacity.py

bench-eventlog: $(READY) ## speed and memory of reading event logs beside json.loads on every line (six minutes)
	$(BIN)/python benchmarks/eventlog.py

bench-probe: $(READY) ## what the live probe costs the query it watches, and the driver (a quarter of an hour, with nothing else on the machine)
	$(BIN)/python benchmarks/probe.py

bench-control: $(READY) ## what the controller itself costs: a step for a large job, and a long journal replayed
	$(BIN)/python benchmarks/control.py

bench-rescale: $(READY) ## what executors that join and leave do to the batches of a running query
	$(BIN)/python benchmarks/rescale.py

bench-convergence: $(READY) ## steps to the right size from under and over, by policy (an hour and a half)
	$(BIN)/python benchmarks/convergence.py

bench-migration: $(READY) ## what moving state adds to batches, by strategy, beside a restart and Spark left alone (an hour, with nothing else on the machine)
	$(BIN)/python benchmarks/migration.py

bench-rewrite: $(READY) ## how long cutting state into another number of bins takes, by size, and what was expected
	$(BIN)/python benchmarks/rewrite.py

bench-generator: $(READY) ## events a second of the source `nexmark`, beside a source that does nothing and Spark's own
	$(BIN)/python benchmarks/generator.py

bench-load: $(READY) ## the rate that was asked for and the rate that came, of the producer and of the source (seven minutes)
	$(BIN)/python benchmarks/load.py

bench-curves: $(READY) ## rescales until settled on sub-linear operators: ds2, conttune and capacity, simulated (two minutes)
	$(BIN)/python benchmarks/curves.py --held-out

bench-nexmark: $(READY) ## events a second of every query of NexMark on this machine, also in bench-nexmark.json (half an hour)
	$(BIN)/headgate bench nexmark --output bench-nexmark.json

bench-nexmark-convergence: $(READY) ## steps to the right size on six queries of NexMark, each as a job under `headgate run` (an hour)
	$(BIN)/python benchmarks/nexmark_convergence.py

bench-twin: $(READY) ## three real runs and their twins: batch times, slot-seconds and decisions (half an hour)
	$(BIN)/python benchmarks/twin.py

lab: $(READY) ## every policy against six loads with four jobs, simulated; the pictures are in lab-policies/report.html (a quarter of an hour)
	$(BIN)/headgate lab examples/lab/policies.toml

kafka: $(READY) ## a broker on this machine, on port 9092, until Ctrl-C
	$(BIN)/python -m headgate.kafka

verify-kafka: $(READY) ## a million events through Kafka, the driver killed twice, and every row compared (ten minutes)
	PYTHONPATH=tests $(BIN)/python tests/campaigns/kafka.py

verify-kills: $(READY) ## kill driver and executors at every step of a change, ten times each, and count (two to three hours)
	PYTHONPATH=tests $(BIN)/python tests/campaigns/kills.py --repeat 10

verify-state: $(READY) ## move, rewrite and hand on the state of every kind of operator, and compare it key by key (a quarter of an hour)
	PYTHONPATH=tests $(BIN)/python tests/campaigns/state.py
	PYTHONPATH=tests $(BIN)/python tests/campaigns/rewrite_crashes.py

verify-lab: $(READY) ## a thousand runs of the lab, on this machine and as a PySpark job: the same table, byte by byte (two minutes)
	PYTHONPATH=tests $(BIN)/python tests/campaigns/lab_on_spark.py

verify-workloads: $(READY) ## every query of NexMark, price search, ads and cars, on 100,000 events and 1, 3 and 7 partitions, against DuckDB (half an hour)
	PYTHONPATH=tests $(BIN)/python tests/campaigns/workloads.py

clean: ## forget the environment and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "Headgate needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv --clear $(VENV)
	PIP_CONSTRAINT=constraints.txt PIP_DISABLE_PIP_VERSION_CHECK=1 $(BIN)/python -m pip install --quiet --editable '.[dev,kafka,redis,spark]'
	@touch $@
