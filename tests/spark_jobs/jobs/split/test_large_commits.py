"""A commit of the log that is larger than what is read at a time: file by file, and gone on with after any crash.

Ten changes of sales, eight hours apart: one commit of the log, with at least a file for each of its four days. The
bound is one byte, so a part is one file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.checkpoints import Checkpoint
from spark_jobs.pipelines.merge import engine, reading
from spark_jobs.storage.consumers import SPLIT, ConsumerRegistry
from spark_jobs.storage.procedures import register_table
from spark_jobs.storage.reader import Pull, read_pull
from spark_jobs.storage.timeline import Timeline
from tests.support.crashes import CrashError, crash_at_commit, run_and_crash
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import Lake, assert_equals_oracle

pytestmark = pytest.mark.hudi

LINES = [
    line(sqlserver("d" if n % 7 == 6 else "u", {"SaleId": n % 4, "UnitId": n % 3, "UnitName": f"u{n}"}, n * 480))
    for n in range(10)
]
_VERSION_6 = "hoodie.write.table.version=6,hoodie.write.auto.upgrade=false,hoodie.metadata.enable=false"
Install = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture
def pulls(monkeypatch: pytest.MonkeyPatch) -> list[Pull]:
    """What ``split`` reads, a byte at a time."""
    seen = list[Pull]()

    def noted(spark: Any, path: str, pull: Pull, **more: Any) -> Any:
        seen.append(pull)
        return read_pull(spark, path, pull, **more)

    monkeypatch.setattr(reading, "read_pull", noted)
    monkeypatch.setattr(engine, "_MB", 1 / 1024)  # 1,024 MB are a byte
    return seen


def deliver(lake: Lake) -> Timeline:
    """The log with its one commit."""
    lake.land("all.jsonl", LINES)
    lake.run("ingest")
    timeline = Timeline(table="sales_log", path=lake.path("sales_log"))
    assert len(timeline.writes) == 1
    return timeline


def crash_in_part(number: int) -> Install:
    """Die before the ``number``-th part is read."""

    def install(patch: pytest.MonkeyPatch) -> None:
        real, seen = vars(reading)["read_pull"], list[Pull]()  # what notes the pulls

        def read(spark: Any, path: str, pull: Pull, **more: Any) -> Any:
            seen.append(pull)
            if len(seen) == number:
                raise CrashError
            return real(spark, path, pull, **more)

        patch.setattr(reading, "read_pull", read)

    return install


def read_files(pulls: list[Pull]) -> list[str]:
    return [file for pull in pulls if pull.part for file in pull.part.files]


def test_a_run_killed_between_parts_goes_on_with_the_next_file(lake: Lake, pulls: list[Pull]) -> None:
    log = deliver(lake)
    files = sorted(log.files_written(log.writes[0]))
    assert len(files) >= 4
    assert run_and_crash(lake, "split", crash_in_part(3))
    place = Checkpoint.parse(ConsumerRegistry(lake.settings.base_path).read(SPLIT).checkpoints["sales_log"])
    assert (place.begun, place.files) == (log.writes[0].time, 2)
    assert read_files(pulls) == files[:2]
    pulls.clear()
    assert lake.run("split").status == "done"
    assert read_files(pulls) == files[2:]
    assert_equals_oracle(lake, LINES)
    before = lake.instants()
    assert lake.run("split").status == "nothing_to_do"
    assert lake.instants() == before


@pytest.mark.slice(name="jobs")
@pytest.mark.parametrize(
    "crash",
    [
        crash_at_commit("pipelines.merge.engine", number, is_committed=done)
        for number in (1, 4, 5)
        for done in (False, True)
    ],
)
def test_tables_at_different_files_of_a_commit_become_equally_far(
    lake: Lake, pulls: list[Pull], crash: Install
) -> None:
    """Some tables have the rows of a part, others have not: it is merged once more, which changes nothing in them."""
    log = deliver(lake)
    assert run_and_crash(lake, "split", crash)
    lake.run("split")
    assert {*read_files(pulls)} == {*log.files_written(log.writes[0])}
    assert_equals_oracle(lake, LINES)
    assert lake.run("split").status == "nothing_to_do"


@pytest.mark.slice(name="jobs")
def test_a_commit_whose_files_were_clustered_and_cleaned_is_read_again(lake: Lake, pulls: list[Pull]) -> None:
    log = deliver(lake)
    assert run_and_crash(lake, "split", crash_in_part(2))
    name = register_table(lake.spark, "sales_log", lake.path("sales_log"))
    lake.spark.sql(
        f"CALL run_clustering(table => '{name}', op => 'scheduleandexecute', "
        f"options => '{_VERSION_6},hoodie.write.record.merge.mode=COMMIT_TIME_ORDERING')"
    ).collect()
    replaced = Timeline(table="sales_log", path=lake.path("sales_log")).replaced_groups
    for file in log.files_written(log.writes[0]):
        partition, _, base = file.rpartition("/")
        assert (partition, base.split("_")[0]) in replaced, "or it would not be cleaned"
        Path(lake.path("sales_log"), file).unlink()
    result = lake.run("split")
    assert result.messages[0].startswith("resync: 1 files of commit")
    assert result.counters["events_read"] == len(LINES)
    assert_equals_oracle(lake, LINES)
    assert lake.run("split").status == "nothing_to_do"
