"""Checkpoints that cannot be trusted, and backfills: the tables stay right, and nothing is skipped in silence.

Three arrivals of ten sales each. Each is one commit of the log; split has read the first, or all, as a test says.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.arguments import Interval
from spark_jobs.pipelines.merge import engine
from tests.support.contexts import CLOCK
from tests.support.crashes import CrashError
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import PIPELINE, Lake, assert_equals_oracle, assert_marts_equal_oracle

pytestmark = pytest.mark.hudi

LINES = [
    line(sqlserver("d" if n % 7 == 6 else "u", {"SaleId": n % 9, "UnitId": n % 4, "UnitName": f"u{n}"}, n * 60))
    for n in range(30)
]
ARRIVALS = [LINES[:10], LINES[10:20], LINES[20:]]


def arrive(lake: Lake, number: int) -> None:
    lake.land(f"{number}.jsonl", ARRIVALS[number])
    lake.run("ingest")


def log_files(lake: Lake, number: int) -> list[Path]:
    """The timeline's files of the log's ``number``-th commit."""
    instant = lake.instants()["sales_log"][number].split(".")[0]
    return sorted(Path(lake.path("sales_log"), ".hoodie").glob(f"*{instant}.*"))


def restore(lake: Lake, table: str) -> None:
    """Take the table's last commit away, with what it added to the files, as a restore to the one before does."""
    last = lake.instants()[table][-1].split(".")[0]
    for file in Path(lake.path(table)).rglob(f"*{last}*"):
        if file.is_file():
            file.unlink()


@pytest.mark.slice(name="jobs")
def test_a_long_backlog_is_merged_part_by_part_in_one_run(lake, monkeypatch):
    """File by file here; what was merged before a crash is not merged again."""
    for number in range(3):
        arrive(lake, number)
    monkeypatch.setattr(engine, "_MB", 1 / 1024)
    real = engine.Merge.merge_events
    counts: list[int] = []

    def merge_two(*arguments: Any, **options: Any) -> Any:
        if len(counts) == 2:
            raise CrashError
        counts.append(options["count"])
        return real(*arguments, **options)

    monkeypatch.setattr(engine.Merge, "merge_events", merge_two)
    with pytest.raises(CrashError):
        lake.run("split")
    assert len(counts) == 2
    monkeypatch.setattr(engine.Merge, "merge_events", real)
    result = lake.run("split")
    assert result.counters["events_read"] == len(LINES) - sum(counts)
    assert lake.run("split").status == "nothing_to_do"
    assert_equals_oracle(lake, LINES)


@pytest.mark.slice(name="jobs")
def test_an_archived_checkpoint_is_an_explicit_resync(lake):
    arrive(lake, 0)
    lake.run("split")
    arrive(lake, 1)
    arrive(lake, 2)
    for file in [*log_files(lake, 0), *log_files(lake, 1)]:
        file.unlink()
    result = lake.run("split")
    assert "resync: checkpoint" in result.messages[0]
    assert result.counters["events_read"] == 30
    assert_equals_oracle(lake, LINES)
    assert lake.run("split").status == "nothing_to_do"


@pytest.mark.slice(name="jobs")
def test_a_log_that_was_rebuilt_is_read_from_its_start(lake):
    arrive(lake, 0)
    lake.run("split")
    shutil.rmtree(lake.path("sales_log"))
    assert lake.run("split").status == "nothing_to_do"
    arrive(lake, 1)
    assert lake.run("split").messages[0].startswith("resync")
    assert_equals_oracle(lake, LINES[:20])


@pytest.mark.slice(name="jobs")
def test_without_its_file_a_consumer_goes_on_from_its_tables(lake):
    arrive(lake, 0)
    lake.run("split")
    shutil.rmtree(Path(lake.settings.base_path) / ".consumers")
    arrive(lake, 1)
    lake.run("split")
    assert_equals_oracle(lake, LINES[:20])


def test_a_table_that_was_removed_or_restored_is_made_complete_again(lake, monkeypatch):
    """In one run, although only one file of the log is read at a time; each table reads what it lacks."""
    for number in range(2):
        arrive(lake, number)
        lake.run("split")
    monkeypatch.setattr(engine, "_MB", 1 / 1024)
    shutil.rmtree(lake.path("units"))
    restore(lake, "sales")
    assert len(lake.instants()["sales"]) == 1
    assert lake.run("split").counters["events_read"] == 20 + 10
    assert_equals_oracle(lake, LINES[:20])


@pytest.mark.slice(name="jobs")
def test_a_log_that_was_restored_is_filled_again_and_read_on(lake):
    for number in range(2):
        arrive(lake, number)
        lake.run("split")
    restore(lake, "sales_log")
    before = lake.instants()
    assert lake.run("split").messages[0].startswith("resync")
    assert {table: names for table, names in lake.instants().items() if table != "sales_log"} == {
        table: names for table, names in before.items() if table != "sales_log"
    }
    arrive(lake, 2)
    lake.run("split")
    assert_equals_oracle(lake, LINES)


@pytest.mark.slice(name="jobs")
def test_a_backfill_leaves_right_tables_as_they_are(lake):
    for number in range(3):
        arrive(lake, number)
        lake.run("split")
    lake.run("mart", layer="fast", clock=CLOCK)
    before = lake.instants()
    dates = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
    for start, end in ((dates[1], dates[2]), (dates[0], dates[2])):
        for job, options in PIPELINE[1:]:
            result = lake.run(job, clock=CLOCK, interval=Interval(start=start, end=end), **options)
            assert result.status == "nothing_to_do"
    assert lake.instants() == before
    assert_equals_oracle(lake, LINES)
    assert_marts_equal_oracle(lake, LINES, CLOCK)


@pytest.mark.slice(name="jobs")
def test_a_backfill_of_days_not_yet_split_does_not_hide_the_others(lake):
    arrive(lake, 0)
    lake.run("split")
    arrive(lake, 1)
    arrive(lake, 2)
    day = Interval(start=datetime(2026, 1, 2, tzinfo=UTC), end=datetime(2026, 1, 3, tzinfo=UTC))
    assert lake.run("split", interval=day).status == "done"
    lake.run("split")
    assert_equals_oracle(lake, LINES)
