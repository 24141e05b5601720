"""Thirty mirrors in one run: the log is read once for all, one that fails stops no other, and none is left behind.

Every table has twenty changes of six keys, one after another in the source's order. ``table_07`` is partitioned by a
text, and a row of it has a text that is too long for a folder until a later change gives it another one. While a part
of the log is merged and committed the log is not there: whatever is made of it comes from the one read.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.instants import InstantRange
from spark_jobs.contracts.job_errors import TablesFailedError
from spark_jobs.pipelines.merge.engine import Merge
from spark_jobs.storage.reader import read_pull
from spark_jobs.storage.segment_index import SegmentIndex
from spark_jobs.storage.timeline import Timeline
from tests.support.envelopes import Envelope
from tests.support.mirrors import TYPES, change, fold
from tests.support.shop_lakes import ShopLake, make_shop_lake

TOO_LONG = "no folder " * 20
pytestmark = pytest.mark.hudi

FIELDS = {"id": TYPES["bigint"], "text": TYPES["string"], "count": TYPES["int"]}
TABLES = [f"table_{number:02d}" for number in range(30)]
BAD = "table_07"


@dataclass(kw_only=True)
class Reads:
    """The windows of the log that were read, and the tables that the row index read."""

    log: list[InstantRange] = field(default_factory=list)
    indexed: list[str] = field(default_factory=list)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """Notes reads, and takes the log away for as long as something is made of what was read."""
    seen, merge, read_table = Reads(), Merge.merge_events, SegmentIndex._read_beyond

    def noted(spark: Any, path: str, pull: Any, **more: Any) -> Any:
        seen.log.append(pull.window)
        return read_pull(spark, path, pull, **more)

    def indexed(index: SegmentIndex, spark: Any, table: str, timeline: Timeline) -> Any:
        seen.indexed.append(table)
        return read_table(index, spark, table, timeline)

    def without_log(run: Merge, *arguments: Any, **more: Any) -> None:
        path = Path(run.context.settings.table_path(run.context.spec.log))
        away = path.rename(path.with_name("away"))
        try:
            merge(run, *arguments, **more)
        finally:
            away.rename(path)

    monkeypatch.setattr("spark_jobs.pipelines.merge.reading.read_pull", noted)
    monkeypatch.setattr(SegmentIndex, "_read_beyond", indexed)
    monkeypatch.setattr(Merge, "merge_events", without_log)
    return seen


@pytest.mark.slice(name="jobs")
def test_thirty_mirrors_of_which_one_fails_are_right_after_one_read(spark, tmp_path: Path, reads: Reads):
    lake = make_shop_lake(spark, tmp_path, list(map(entry, TABLES)))
    records = [each for number, table in enumerate(TABLES) for each in changes(table, 1 + 100 * number)]
    spoilt = change("c", BAD, {"id": 99, "text": TOO_LONG, "count": 1}, 9_000, fields=FIELDS)
    lake.deliver("all", [*records, spoilt])
    with pytest.raises(TablesFailedError, match=BAD) as failed:
        lake.run("split")
    assert {*failed.value.failed} == {BAD}
    result = failed.value.result
    assert result is not None
    assert result.counters == {"events_read": len(records) + 1, "tables_to_check": len(TABLES) - 1}
    assert {table.table for table in result.tables if table.is_committed} == {*TABLES} - {BAD}
    assert len(reads.log) == 1
    assert_equal(lake, records, [table for table in TABLES if table != BAD])
    mended = change("u", BAD, {"id": 99, "text": "folder", "count": 2}, 9_001, fields=FIELDS)
    lake.deliver("mended", [mended])
    done = lake.run("split")
    assert [table.table for table in done.tables if table.is_committed] == [BAD]
    assert len(reads.log) == 3, "the new window for all, and both for the one that was behind"
    assert reads.indexed == [], "what the others wrote in the run that failed is known"
    assert_equal(lake, [*records, spoilt, mended], TABLES)


@pytest.mark.slice(name="jobs")
def test_a_window_that_is_cut_leaves_no_mirror_behind(spark, tmp_path: Path, reads: Reads, monkeypatch):
    """Four commits of the log, a read for each: the second one spoils a mirror, the last ones bring the others more."""
    monkeypatch.setattr("spark_jobs.pipelines.merge.engine._MB", 1)  # a commit is larger than a byte
    names = [*TABLES[:4], BAD]
    lake = make_shop_lake(spark, tmp_path, list(map(entry, names)))
    records = {name: changes(name, 1 + 100 * number) for number, name in enumerate(names)}
    spoilt = change("c", BAD, {"id": 99, "text": TOO_LONG, "count": 1}, 9_000, fields=FIELDS)
    mended = change("u", BAD, {"id": 99, "text": "folder", "count": 2}, 9_001, fields=FIELDS)
    parts = [
        [*records[names[0]], *records[names[1]][:10]],
        [spoilt, *records[names[1]][10:], *records[BAD]],
        [*records[names[2]]],
        [*records[names[3]]],
    ]
    for number, part in enumerate(parts):
        lake.deliver(f"part-{number}", part)
    with pytest.raises(TablesFailedError, match=BAD):
        lake.run("split")
    windows = list(dict.fromkeys(reads.log))  # one commit each, read in as many parts as it has files
    assert len(windows) == len(parts)
    assert [before.up_to for before in windows[:-1]] == [after.after for after in windows[1:]]
    every = [record for of_table in records.values() for record in of_table]
    assert_equal(lake, every, names[:4])
    lake.deliver("mended", [mended])
    with pytest.raises(TablesFailedError, match=BAD):
        lake.run("split")
    monkeypatch.setattr("spark_jobs.pipelines.merge.engine._MB", 1024 * 1024)
    lake.run("split")
    assert_equal(lake, [*every, spoilt, mended], names)
    assert lake.run("split").status == "nothing_to_do"


def entry(table: str) -> dict[str, Any]:
    """A third of them take deleted rows out."""
    hard = {"deletes": "remove"} if int(table[-2:]) % 3 == 0 else {}
    return {"name": table, "key": ["id"], **hard, **({"partition": "text"} if table == BAD else {})}


def changes(table: str, first_lsn: int) -> list[Envelope]:
    """Twenty of a table, in the source's order."""
    rng, there, records = random.Random(table), set[int](), list[Envelope]()
    for lsn in range(first_lsn, first_lsn + 20):
        key = rng.randint(1, 6)
        op = "c" if key not in there else rng.choice("uuud")
        row = {"id": key, "text": rng.choice(["Ada", "Zoë 🏠", "north"]), "count": rng.randint(1, 9)}
        records.append(change(op, table, row, lsn, fields=FIELDS))
        there = there - {key} if op == "d" else there | {key}
    return records


def assert_equal(lake: ShopLake, records: list[Envelope], tables: list[str]) -> None:
    wanted = fold(records, dict.fromkeys(TABLES, ("id",)))
    found = {table: lake.live(table, key=("id",)) for table in tables}
    assert found == {table: wanted[table] for table in tables}
