# `make` alone lists the targets. All but help and clean set the machine up first, which takes no time once it is.
PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3.11)
VENV := .venv/bin
JAVA = JAVA_HOME="$$($(VENV)/python -m local_stack java-home)"
CODE := $(wildcard spark_jobs local_stack plugins dags tests bench)
SLICE ?= $(shell $(PYTHON) -m tests.run.levels)
# Images set it to save a layer; here every process of a run would compile the project again.
unexport PYTHONDONTWRITEBYTECODE
# One folder for the results of everything that this call runs.
ifndef LAKEHOUSE_TEST_RESULTS
export LAKEHOUSE_TEST_RESULTS := $(CURDIR)/.test-results/$(shell date -u +%Y%m%dT%H%M%S)-$(shell echo $$PPID)
endif
LOCK := $(VENV)/uv pip compile --quiet --generate-hashes --python-version 3.11 --python-platform linux \
	--custom-compile-command "make lock"

.DEFAULT_GOAL := help
.PHONY: help setup demo company cloud live up down secrets dist test check check-types check-tests test-all test-slice test-report mutants bench faults soak lock format clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

setup:  ## make .venv/, find or install Java 17, fetch the jars; says what it does
	@$(PYTHON) -m local_stack setup

demo: setup  ## generate sales events, run the whole pipeline through Airflow, print and check the result
	@$(VENV)/python -m local_stack demo

company: setup  ## a company's databases, files and sales in one lake, through Airflow; every step is checked
	@$(VENV)/python -m local_stack company

cloud: setup  ## the same on an S3 server, with a Hive metastore; then read by Trino and by Athena's client
	@$(VENV)/python -m local_stack cloud

live: setup  ## follow SQL statements from a real PostgreSQL through Debezium, Kafka and Airflow into the lake
	@$(VENV)/python -m local_stack live

up: setup  ## the demo, and leave Airflow's pages running; prints address and login
	@$(VENV)/python -m local_stack up

down: setup  ## stop what `make up` left running
	@$(VENV)/python -m local_stack down

secrets: setup  ## make the secrets that docker-compose.yaml reads, those that are missing, in .secrets/
	@$(VENV)/python -m local_stack secrets

check: setup  ## lint, types, import rules and the tests that need no Spark; under three minutes
	$(VENV)/ruff check $(CODE)
	$(VENV)/ruff format --check $(CODE)
	$(MAKE) --no-print-directory --jobs=3 check-types check-tests check-rules

# Parts of `make check` that take longest, side by side: the type checker works on one core, most rules too.
check-types:
	$(VENV)/mypy $(CODE)

check-rules:
	PYTHONPATH=.:plugins $(VENV)/lint-imports
	$(VENV)/check-jsonschema --builtin-schema vendor.compose-spec docker-compose.yaml
	$(VENV)/hadolint include/docker/*/Dockerfile
	$(VENV)/sqlfluff lint --processes 0 include/sql include/marts include/company tests/data/marts

check-tests:
	$(VENV)/python -m tests.run check

dist: setup  ## two wheels in dist/, to be installed where an Airflow is: the library with its command, the Airflow provider
	@$(VENV)/python -m local_stack dist

test: check  ## what every change must pass: `make check`, then the tests with Spark, Hudi, servers and Airflow
	$(JAVA) $(VENV)/python -m tests.run short

test-slice: setup  ## one slice of the slow tests: SLICE=<name>; by default the one that CI runs for this commit
	$(JAVA) $(VENV)/python -m tests.run slice $(SLICE)

test-all: test  ## everything: `make test`, then all slices of the slow tests together
	$(JAVA) $(VENV)/python -m tests.run slice all

test-report: setup  ## where the time of the last test run went, by level, module and test; servers and sessions started
	@$(VENV)/python -m tests.run report

# Minutes of each part on two quiet cores: w1 10, growth 5, batches 4, memory 3, landing 3, first-load 5, kafka 5,
# mirrors 5, found 6, stitch 9, slow 13, day 15, safety 1, gate 1, suites 1, sizes 2, catalogs 1, dashboard 4, cluster 8,
# airflow 4, dags and overview 1.
bench:  ## time the main workload beside other engines, and what else has an aim (about two hours); results go to bench/results/
	@$(PYTHON) -m local_stack setup --bench
	$(JAVA) $(VENV)/python -m bench w1 --warm-ups 4 --rounds 30 --contenders ours iceberg-mor delta-dv parquet
	$(JAVA) $(VENV)/python -m bench growth --warm-ups 4
	$(JAVA) $(VENV)/python -m bench batches --rounds 4
	$(JAVA) $(VENV)/python -m bench memory
	$(JAVA) $(VENV)/python -m bench landing
	$(JAVA) $(VENV)/python -m bench first-load --warm-ups 1 --rounds 2
	$(JAVA) $(VENV)/python -m bench kafka --warm-ups 1 --rounds 2
	$(JAVA) $(VENV)/python -m bench mirrors --warm-ups 1 --rounds 2 --alone 10
	$(JAVA) $(VENV)/python -m bench found --warm-ups 1 --rounds 3
	$(JAVA) $(VENV)/python -m bench stitch --warm-ups 1 --rounds 3
	$(JAVA) $(VENV)/python -m bench slow --warm-ups 1 --rounds 2
	$(JAVA) $(VENV)/python -m bench day --batches 48
	$(JAVA) $(VENV)/python -m bench safety --rounds 21
	$(JAVA) $(VENV)/python -m bench gate
	$(JAVA) $(VENV)/python -m bench suites --warm-ups 2 --rounds 5
	$(JAVA) $(VENV)/python -m bench sizes
	$(JAVA) $(VENV)/python -m bench catalogs --warm-ups 1 --rounds 5
	$(JAVA) $(VENV)/python -m bench dashboard --batches 24
	$(JAVA) $(VENV)/python -m bench cluster --warm-ups 1 --rounds 2 --events 2000000
	$(JAVA) $(VENV)/python -m bench airflow --warm-ups 1 --rounds 4
	$(JAVA) $(VENV)/python -m bench dags
	$(JAVA) $(VENV)/python -m bench overview

faults: setup  ## stop the storage at every operation, twice too, and an object store at its requests: nothing lost, doubled or stuck
	@$(JAVA) $(VENV)/python -m tests.faults.campaign --workers 4

soak: setup  ## a lake at work for two hours: 200 commits, 50 kills, services on, three readers that compare all the time
	@$(JAVA) $(VENV)/python -m tests.faults.soak

mutants: setup  ## plant known bugs one at a time, and see that the tests named for each notice
	@$(JAVA) $(VENV)/python -m tests.mutants

lock: setup  ## rewrite requirements*.txt, jars.lock and sbom.json from what they are made of; UPGRADE=--upgrade: newer versions
	$(LOCK) $(UPGRADE) requirements.in -o requirements.txt
	$(LOCK) $(UPGRADE) requirements-dev.in -o requirements-dev.txt
	$(LOCK) $(UPGRADE) requirements-trino.in -o requirements-trino.txt
	$(LOCK) $(UPGRADE) include/docker/superset/requirements.in -o include/docker/superset/requirements.txt
	$(VENV)/python -m local_stack setup --lock-jars
	$(VENV)/python -m local_stack sbom
	@$(PYTHON) -m local_stack setup

format: setup  ## put the code into its form
	$(VENV)/ruff check --fix $(CODE)
	$(VENV)/ruff format $(CODE)

clean:  ## remove caches and what demo and tests made; keeps .venv/ and the jars
	-@test ! -d .run || test ! -x $(VENV)/python || $(VENV)/python -m local_stack down
	rm -rf data dist .run .ivy .test-results .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .grimp_cache .hypothesis
	rm -rf spark-warehouse metastore_db derby.log
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
