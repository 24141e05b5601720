"""The report of a test run, on a run of two pytest processes whose lines are written here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.run.processes import name_program, used_seconds
from tests.run.report import format_report


def line(test: str, phase: str, seconds: float, used: float = 0.0, *started: str) -> dict[str, object]:
    return {"test": test, "phase": phase, "seconds": seconds, "used": used, "started": started, "outcome": "passed"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "20260101T000000-1"
    folder.mkdir()
    lines = {
        "check": [line("tests/a.py::quick", "setup", 0.1), line("tests/a.py::quick", "call", 0.2, 0.5)],
        "short": [
            line("tests/b.py::slow", "setup", 30.0, 10.0, "Spark session", "Kafka"),
            line("tests/b.py::slow", "call", 5.0, 5.0),
            line("tests/b.py::other", "setup", 0.0),
            line("tests/b.py::other", "call", 1.0, 0.0, "Kafka"),
            line("tests/b.py::other", "teardown", 4.0),
        ],
    }
    for name, rows in lines.items():
        facts = [{"run": name, "begun": 100.0}, *rows, {"ended": 160.0}]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(each) + "\n" for each in facts))
    return folder


def cells(report: str, first: str) -> list[str]:
    (row,) = [line for line in report.splitlines() if line.split()[:1] == [first]]
    return row.split()


def test_it_splits_seconds_into_phases_and_waiting(run):
    report = format_report(run)
    assert cells(report, "short") == ["short", "60", "2", "40.0", "30.0", "6.0", "4.0", "25.0"]
    assert cells(report, "check") == ["check", "60", "1", "0.3", "0.1", "0.2", "0.0", "0.1"]
    assert cells(report, "b.py") == ["b.py", "2", "40.0", "30.0", "6.0", "4.0", "25.0"]
    assert report.index("b.py::slow") < report.index("b.py::other") < report.index("a.py::quick")


def test_it_counts_the_programs_and_names_who_started_them(run):
    report = format_report(run)
    assert cells(report, "Kafka") == ["Kafka", "2", "b.py", "2"]
    assert "Spark session  1" in report


def test_a_run_that_was_cut_off_is_reported(run):
    (run / "short.jsonl").write_text(json.dumps({"run": "short", "begun": 100.0}) + "\n")
    assert cells(format_report(run), "short")[1] == "0"


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["java", "-cp", "x", "org.apache.spark.sql.connect.service.SparkConnectServer"], "Spark Connect server"),
        (["spark-submit", "--name", "x", "pyspark-shell"], "Spark session"),
        (["spark-submit", "--master", "yarn", "job.py"], "job process"),
        (["/usr/lib/postgresql/15/bin/postgres", "-D", "data"], "PostgreSQL"),
        (["python", "-m", "airflow", "scheduler"], "Airflow"),
        (["python", "-m", "spark_jobs.entrypoint", "ingest"], "job process"),
        (["java", "kafka.Kafka", "server.properties"], "Kafka"),
        (["git", "status"], ""),
    ],
)
def test_programs_are_known_by_their_command_line(words, program):
    assert name_program(words) == program


def test_used_seconds_grow_with_work():
    before = used_seconds()
    while used_seconds() < before + 0.05:
        sum(range(10_000))
