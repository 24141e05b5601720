"""A lake looked at, on the lake of tests/support/seen_lakes.py: text of at most 100 characters a line, or JSON."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.command import execution
from spark_jobs.command.app import run
from spark_jobs.context import JobContext
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.contracts.task_runs import TaskRun
from spark_jobs.storage.lake_names import make_lake
from tests.support.seen_lakes import SeenLake, minute, seen_lake


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SeenLake:
    made = seen_lake(tmp_path)
    make_lake(made.spec.lake, made.settings, may_adopt=True)
    (tmp_path / "landing").mkdir(exist_ok=True)
    monkeypatch.setenv("LAKEHOUSE_BASE_PATH", made.settings.base_path)
    monkeypatch.setenv("LAKEHOUSE_LANDING_PATH", made.settings.landing_path)
    return made


@pytest.mark.usefixtures("lake")
def test_every_table_is_listed_within_100_characters(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "list"]) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert max(map(len, lines)) <= 100
    (units,) = [line for line in lines if line.startswith("  units ")]
    assert "behind: something" in units
    assert any("held back" in line for line in lines if line.startswith("  customers "))
    assert shown.err == ""


@pytest.mark.usefixtures("lake")
def test_one_table_is_shown_with_its_readers_and_its_steps(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["table", "show", "sales_log"]) == 0
    shown = capsys.readouterr().out
    assert "audit" in shown
    assert "lost" in shown
    assert "data platform" in shown
    assert run(["table", "timeline", "units", "--most", "2", "--json"]) == 0
    assert [step["instant"] for step in json.loads(capsys.readouterr().out)] == [minute(4), minute(6)]


@pytest.mark.usefixtures("lake")
def test_a_run_is_explained_by_its_instant(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", minute(4), "--table", "units"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("units: ")
    assert f" at {minute(4)}\n" in shown
    assert minute(3) in shown


def test_a_run_of_airflow_is_named(lake: SeenLake, capsys: pytest.CaptureFixture[str]) -> None:
    task = TaskRun(dag_id="split_sales", run_id="manual__1", task_id="split")
    at = lake.write("agents", 9, action="deltacommit", task=task.as_json)
    assert run(["explain", at, "--table", "agents"]) == 0
    assert "\nby task split of split_sales, run manual__1\n" in capsys.readouterr().out
    assert run(["explain", at, "--table", "agents", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["commit"]["task"] == asdict(task)


def test_rows_of_which_it_is_not_known_whether_they_are_new_are_upserted(
    lake: SeenLake, capsys: pytest.CaptureFixture[str]
) -> None:
    stat = {"fileId": "f", "path": ".f_1.log.1_0-1-0", "numUpdateWrites": 1160}
    content = {"operationType": "UPSERT", "partitionToWriteStats": {"": [stat]}}
    counted = {"lakehouse.row_counts": '{"added":708,"changed":440,"removed":12,"upserted":0}'}
    at = lake.commit("agents", 9, action="deltacommit", **content, extraMetadata=counted)
    assert run(["explain", at, "--table", "agents"]) == 0
    shown = capsys.readouterr().out
    assert re.search(rf"{at} +708 +440 +12\n", shown)
    assert "upserted" not in shown
    at = lake.commit("agents", 11, action="deltacommit", **content, extraMetadata={})
    assert run(["explain", at, "--table", "agents"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"added +changed +removed +upserted\n", shown)
    assert re.search(rf"{at} +0 +0 +0 +1,160\n", shown)


@pytest.mark.usefixtures("lake")
def test_the_newest_run_of_a_table_is_explained_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "units"]) == 0
    shown = capsys.readouterr()
    assert f" at {minute(4)}\n" in shown.out
    assert shown.err == f"next: lakehouse table diff units --from {minute(2)} --to {minute(4)}\n"
    assert run(["explain", "sales"]) == 0
    assert capsys.readouterr().err == "", "nothing was written before"
    assert run(["explain", "units", "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["before"] == minute(2)
    assert shown.err == ""
    assert run(["explain", "agents"]) == 2
    assert capsys.readouterr().err == "error: nothing was written to agents yet; run the job that makes it\n"


def test_a_column_is_shown_with_who_reads_it(lake: SeenLake, capsys: pytest.CaptureFixture[str]) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "agent_id", "type": ["null", "long"]}]}
    lake.commit(
        "sales", 8, extraMetadata={"schema": json.dumps(schema)}, operationType="UPSERT", partitionToWriteStats={}
    )
    assert run(["table", "show", "sales", "--column", "agent_id"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert [line.split() for line in lines[2:4]] == [["type", "bigint"], ["made", "of", "sales_log.agent_id"]]
    assert ["deals_of_the_day", "view", "names", "it", "alone", "fast_daily_deals.agent_id"] in [*map(str.split, lines)]
    assert run(["table", "show", "sales", "--column", "agent_id", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["type"] == "bigint"
    assert {"kind": "mart", "name": "fast_daily_deals", "column": "agent_id", "reads": "sales.agent_id"} in shown[
        "readers"
    ]
    assert run(["table", "show", "sales", "--column", "agentid"]) == 2
    assert capsys.readouterr().err == "error: sales has no column 'agentid'; write 'agent_id'\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("table", "show", "uints"), "has no table 'uints'; write 'units'"),
        (("explain", "yesterday"), "is neither the key of a write"),
        (("query", "SELECT * FROM uints"), "there is no table or view 'uints'; did you mean units?"),
    ],
)
@pytest.mark.usefixtures("lake")
def test_a_near_miss_is_answered_in_one_line(
    words: tuple[str, ...], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert line in shown.err


def test_no_lake_is_looked_at_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LAKEHOUSE_BASE_PATH", str(tmp_path / "nowhere"))
    assert run(["table", "list"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.usefixtures("lake")
def test_an_export_is_all_rows_in_the_form_that_the_files_name_says(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[JobContext[Any]] = []

    def run_job(context: JobContext[Any]) -> JobResult:
        ran.append(context)
        return context.result(DONE)

    monkeypatch.setattr(execution, "run_job", run_job)
    assert run(["table", "export", "units", "--output", "units.csv", "--overwrite"]) == 0
    (options,) = (context.options for context in ran)
    assert (options.sql, options.output, options.format) == ("SELECT * FROM `units`", "units.csv", "")
    assert (options.rows, options.overwrite) == (None, True)
