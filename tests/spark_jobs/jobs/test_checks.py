"""The job ``checks``, and the shipped checks over planted rows: each finds what breaks it, and that alone."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from local_stack.demos.engines import answer_as
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.job_errors import ChecksUndecidedError
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.entrypoint import main, parse_arguments, run_job
from spark_jobs.jobs.checks import query_spark, run_checks
from spark_jobs.spec_files.checks import load_checks
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support import planted_lake, planted_sql
from tests.support.athena_api import running_athena
from tests.support.hand_made_lakes import HandMadeLake

SPEC = load_lake_spec(Settings().lake_spec)
CHECKS = load_checks(Path(Settings().checks_path), SPEC)


def test_something_is_planted_for_every_check_that_is_shipped():
    assert {check.id for check in CHECKS} == planted_lake.FOUND.keys()
    assert all(planted_lake.FOUND.values())


def run(lake: HandMadeLake, *argv: str) -> JobResult:
    return run_job(replace(parse_arguments(["checks", *argv]), settings=lake.settings))


def test_they_can_be_listed_without_an_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(HandMadeLake(tmp_path), "list").counters["checks"] == len(CHECKS)
    assert "A sale's unit, when it is known, has a row of its own." in capsys.readouterr().out
    with pytest.raises(ContractError, match="no checks for 'sails'"):
        run(HandMadeLake(tmp_path), "run", "--tables", "sales, sails")


def test_one_that_cannot_be_run_has_not_passed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(ChecksUndecidedError, match=r"3 of 3 checks cannot be run: .* sales_log, statuses yet") as error:
        run(HandMadeLake(tmp_path), "run", "--engine", "athena", "--tables", "statuses")
    assert error.value.exit_code == 1
    assert error.value.result
    assert error.value.result.counters == {"checks": 3, "held": 0, "broken": 0, "missing": 3, "rows": 0}
    assert re.search(r"statuses.name_is_known +not run +- +needs statuses\n", capsys.readouterr().out)


@pytest.mark.services
def test_athena_gets_one_query_a_table_and_others_for_keys_where_rows_were_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    lake = HandMadeLake(tmp_path / "lake")
    lake.commit("statuses", 1, {"status_id": "long"})
    lake.commit("sales_log", 1, {"event_id": "string"})
    ids = [check.id for check in CHECKS if check.table == "statuses"]
    counts = [{"check_id": id_, "check_rows": 4 if id_.endswith("name_is_known") else 0} for id_ in ids]
    with running_athena() as api:
        monkeypatch.setattr(Settings, "from_environment", lambda: lake.settings)
        for rows in (counts, [{"status_id": 3}, {"status_id": 5}]):
            answer_as(rows, endpoint=api.url, region="eu-west-1")
        assert main(["checks", "run", "--engine", "athena", "--tables", "statuses"]) == 2
        started = [given for name, given in api.calls if name == "StartQueryExecution"]
        assert [each["QueryExecutionContext"]["Database"] for each in started] == ["sales_views"] * 2
    printed = capsys.readouterr()
    assert re.search(r"statuses.name_is_known +broken +4 +status_id=3; status_id=5\n", printed.out)
    result = JobResult.from_json(printed.out.splitlines()[-1])
    assert result.counters == {"checks": 3, "held": 2, "broken": 1, "missing": 0, "rows": 4}
    assert printed.err.splitlines()[-1].startswith(
        "error: 1 of 3 checks found rows: statuses.name_is_known (4); look at"
    )


FOR_SMALL_QUERIES = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
}
"""A hundred of them, each another: what is compiled or planned for one is of no use to the next."""


@pytest.fixture
def planted(spark: SparkSession) -> SparkSession:
    """The planted tables, in a session of their own."""
    session = spark.newSession()
    for name, value in FOR_SMALL_QUERIES.items():
        session.conf.set(name, value)
    for table in planted_lake.ROWS:
        session.sql(planted_sql.select(table)).createOrReplaceTempView(table)
    return session


@pytest.mark.slice(name="tables")
@pytest.mark.spark
def test_every_check_finds_what_breaks_it_and_nothing_else(planted: SparkSession):
    for outcome in run_checks(CHECKS, planted_lake.ROWS, partial(query_spark, planted), most=100):
        found = Counter(tuple(sample[key] for key in outcome.check.keys) for sample in outcome.samples)
        assert found == Counter(planted_lake.FOUND[outcome.check.id]), outcome.check.id
        assert outcome.rows == sum(found.values())
    with pytest.raises(ContractError, match=r"Spark refuses a check: .*nowhere"):
        query_spark(planted, "SELECT nothing FROM nowhere")
