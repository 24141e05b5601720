"""The change feed that split writes: of every commit, exactly what it changed for the table's readers.

Events of a few sales, units and agents, with unknown columns, corrections, deletes, re-entries and late arrivals, come
in rounds. After each, split takes what is new, or a backfill of some days does, or both, or a run dies. Whatever
happened, the feed of each commit but a table's first must be the difference between the table as of the commit before
and as of itself, both read through Hudi: key and values of live rows.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.instants import Instant, InstantRange
from spark_jobs.storage.change_feed import AFTER, BEFORE, read_changes
from spark_jobs.storage.procedures import register_table
from spark_jobs.storage.reader import read_as_of
from spark_jobs.storage.timeline import Timeline
from tests.support import oracle
from tests.support.crashes import crash_at_commit, crash_in_feed, run_and_crash
from tests.support.envelopes import Envelope, line, sqlserver
from tests.support.lakes import SpecLake, assert_equals_oracle, in_utc
from tests.support.mart_lakes import read_bare_spec

pytestmark = pytest.mark.hudi

FED = ("sales", "units")
NOT_FED = "agents"
ROUNDS, EVENTS = 4, 40
MERGE = "pipelines.merge.engine"
DEATHS = [
    *(crash_in_feed(MERGE, number, is_written=done) for number in (1, 2) for done in (False, True)),
    *(crash_at_commit(MERGE, number, is_committed=done) for number in (1, 2) for done in (False, True)),
]
FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)
Rows = dict[int, dict[str, Any]]
Change = tuple[dict[str, Any] | None, dict[str, Any] | None]

_MART = {"layer": "test", "mode": "aggregate"}


@dataclass(kw_only=True)
class History:
    """A lake with marts over ``FED``, and events that come to it in rounds."""

    lake: SpecLake
    rng: random.Random
    lines: list[bytes] = field(default_factory=list)
    checked: set[tuple[str, Instant]] = field(default_factory=set)
    states: dict[tuple[str, Instant], Rows] = field(default_factory=dict)

    def arrive(self) -> None:
        """Land and ingest the next events."""
        new = [line(_event(self.rng, len(self.lines) + number)) for number in range(EVENTS)]
        self.lines += new
        self.lake.land(f"{len(self.lines)}.jsonl", new)
        self.lake.run("ingest")

    def backfill(self) -> None:
        """Split one or two days of the log, whatever else is new."""
        start = FIRST_DAY + timedelta(days=self.rng.randrange(2))
        self.lake.run("split", interval=Interval(start=start, end=start + timedelta(days=self.rng.randint(1, 2))))

    def timeline(self, table: str) -> Timeline:
        return Timeline(table=table, path=self.lake.path(table))

    def rows_as_of(self, table: str, instant: Instant) -> Rows:
        """What readers of the table see at an instant, by key; each is read once, as no later commit changes it."""
        if (table, instant) not in self.states:
            key, columns = oracle.TABLES[table]
            rows = [row.asDict() for row in read_as_of(self.lake.spark, self.lake.path(table), instant).collect()]
            live = [row for row in rows if not row.get("is_deleted")]
            state = {row[key]: {name: in_utc(row.get(name)) for name in (key, *columns)} for row in live}
            self.states[table, instant] = state
        return self.states[table, instant]

    def feed(self, table: str, after: Instant, up_to: Instant) -> list[Change] | None:
        """What the feed says of a window."""
        window = InstantRange(after=after, up_to=up_to)
        feed_df = read_changes(self.lake.spark, self.timeline(table), window, self.lake.settings)
        if feed_df is None:
            return None
        sides = [[row[side] and row[side].asDict() for side in (BEFORE, AFTER)] for row in feed_df.collect()]
        plain = [[side and {name: in_utc(value) for name, value in side.items()} for side in pair] for pair in sides]
        return [(before, after) for before, after in plain]

    def assert_feed_agrees(self) -> int:
        """The feed of every commit since the last check is what it changed; gives how many changes that were."""
        found = 0
        for table in FED:
            timeline = self.timeline(table)
            assert "lakehouse.changes" not in timeline.metadata(timeline.writes[0])
            for before, after in itertools.pairwise(timeline.writes):
                if (table, after.time) not in self.checked:
                    expected = difference(self.rows_as_of(table, before.time), self.rows_as_of(table, after.time))
                    changes = self.feed(table, before.time, after.time)
                    assert (changes is None) is timeline.is_service(after)
                    assert by_key(changes or [], table) == expected
                    found += len(expected)
                    self.checked.add((table, after.time))
        return found


def by_key(changes: list[Change], table: str) -> dict[int, Change]:
    """The changes of one commit by key; each key once."""
    key, _ = oracle.TABLES[table]
    keyed = {(before or after or {})[key]: (before, after) for before, after in changes}
    assert len(keyed) == len(changes)
    return keyed


def difference(was: Rows, now: Rows) -> dict[int, Change]:
    """What changed between two states."""
    return {key: (was.get(key), now.get(key)) for key in was.keys() | now.keys() if was.get(key) != now.get(key)}


def _event(rng: random.Random, number: int) -> Envelope:
    """The next event: about 20 minutes after the one before, or one of any time before it that comes late."""
    position = rng.randrange(20 * number + 1) if rng.random() < 0.3 else 20 * number + rng.randrange(60)
    sale = {
        "SaleId": rng.randrange(6),
        "AgentId": rng.choice([1, 2, None]),
        "AgentName": rng.choice(["Ann", "Bob", None]),
        "UnitId": rng.choice([7, 8, 9, None]),
        "UnitName": rng.choice(["a", "b", None]),
        "BuildingId": rng.choice([4, None]),
        "BuildingName": rng.choice(["east", "west"]),
        "ProjectId": rng.choice([1, 2, None]),
        "ProjectName": rng.choice(["hill", "lake"]),
        "StatusId": rng.choice([1, 2]),
        "StatusName": rng.choice(["new", "signed"]),
        "ContractSubtotal": rng.choice(["1.5000", "-2.2500", "99999999999999.9999", None]),
        "ContractSigningDate": rng.choice([0, 1_767_225_600_123, None]),
    }
    return sqlserver(rng.choice("ccuud"), sale, position)


def _spec(folder: Path, table_type: str) -> Path:
    """The lake spec with three tables of this type, and marts of its own that take rows away from two."""
    document = read_bare_spec((*FED, NOT_FED))
    document["tables"] = [{**table, "type": table_type} for table in document["tables"]]
    (folder / "marts").mkdir()
    for table, column in (("sales", "agent_id"), ("units", "project_id")):
        mart = {**_MART, "name": f"counted_{table}", "grain": [column], "reads": [{"table": table}]}
        (folder / "marts" / f"counted_{table}.yaml").write_text(yaml.safe_dump(mart), encoding="utf-8")
        sql = f"SELECT {column}, COUNT(*) AS number FROM {table} GROUP BY {column}"
        (folder / "marts" / f"counted_{table}.sql").write_text(sql, encoding="utf-8")
    path = folder / "lake.yaml"
    path.write_text(yaml.safe_dump({**document, "marts": "marts"}), encoding="utf-8")
    return path


def history(spark: SparkSession, folder: Path, seed: int, table_type: str = "merge_on_read") -> History:
    lake = SpecLake(spark=spark, folder=folder, spec=_spec(folder, table_type))
    return History(lake=lake, rng=random.Random(seed))


@pytest.mark.parametrize(
    ("seed", "table_type"),
    [
        (1, "merge_on_read"),
        pytest.param(2, "merge_on_read", marks=pytest.mark.slice(name="jobs")),
        pytest.param(3, "copy_on_write", marks=pytest.mark.slice(name="jobs")),
    ],
)
def test_each_commits_feed_is_the_difference_it_made(
    spark: SparkSession, tmp_path: Path, seed: int, table_type: str
) -> None:
    events = history(spark, tmp_path, seed, table_type)
    for _ in range(ROUNDS):
        events.arrive()
        for is_backfill in random.Random(f"{seed}/{len(events.lines)}").choice([(True,), (False,), (True, False)]):
            events.backfill() if is_backfill else events.lake.run("split")
    events.lake.run("split")
    assert_equals_oracle(events.lake, events.lines)
    assert events.assert_feed_agrees() > ROUNDS
    for table in FED:
        writes = events.timeline(table).writes
        changes = events.feed(table, writes[0].time, writes[-1].time)
        assert changes is not None, "a window of many commits"
        assert telescoped(changes) == telescoped(
            list(difference(*(events.rows_as_of(table, write.time) for write in (writes[0], writes[-1]))).values())
        )


def telescoped(changes: list[Change]) -> dict[str, int]:
    """How often each row came, less how often it left."""
    counts: dict[str, int] = {}
    for change in changes:
        for row, sign in zip(change, (-1, 1), strict=True):
            if row:
                counts[repr(row)] = counts.get(repr(row), 0) + sign
    return {row: count for row, count in counts.items() if count}


def test_only_tables_that_marts_take_rows_away_from_have_a_feed(spark: SparkSession, tmp_path: Path) -> None:
    events = history(spark, tmp_path, 5)
    for _ in range(2):
        events.arrive()
        events.lake.run("split")
    assert {path.name for path in (tmp_path / "lake" / ".changes").iterdir()} == set(FED)
    for table in (*FED, NOT_FED):
        timeline = events.timeline(table)
        named = ["lakehouse.changes" in timeline.metadata(write) for write in timeline.writes]
        assert named == [False, table in FED][: len(named)], table


def test_orders_that_move_alone_are_no_change(spark: SparkSession, tmp_path: Path) -> None:
    events = history(spark, tmp_path, 6)
    for position in (1, 2):
        events.lake.land(
            f"{position}.jsonl", [line(sqlserver("u", {"SaleId": 1, "UnitId": 7, "UnitName": "a"}, position))]
        )
        events.lake.run("ingest")
        events.lake.run("split")
    for table in FED:
        first, second = events.timeline(table).writes
        assert events.feed(table, first.time, second.time) == []


@pytest.mark.slice(name="jobs")
def test_feed_and_timeline_agree_wherever_a_run_dies(spark: SparkSession, tmp_path: Path) -> None:
    events, found = history(spark, tmp_path, 7), 0
    events.arrive()
    events.lake.run("split")
    for crash in DEATHS:
        events.arrive()
        assert run_and_crash(events.lake, "split", crash)
        found += events.assert_feed_agrees()
        if events.rng.random() < 0.5:
            events.lake.run("split")
    events.lake.run("split")
    assert_equals_oracle(events.lake, events.lines)
    assert found + events.assert_feed_agrees() > len(DEATHS)


@pytest.mark.slice(name="jobs")
def test_compaction_and_restore(spark: SparkSession, tmp_path: Path) -> None:
    events = history(spark, tmp_path, 8)
    for _ in range(3):
        events.arrive()
        events.lake.run("split")
    name = register_table(spark, "sales", events.lake.path("sales"))
    options = "hoodie.metadata.enable=false,hoodie.write.auto.upgrade=false,hoodie.write.table.version=6,"
    options += "hoodie.index.type=BUCKET,hoodie.bucket.index.num.buckets=2,hoodie.compact.inline.max.delta.commits=1"
    spark.sql(f"CALL run_compaction(op => 'scheduleandexecute', table => '{name}', options => '{options}')").collect()
    timeline = events.timeline("sales")
    assert [timeline.is_service(write) for write in timeline.writes] == [False, False, False, True]
    events.arrive()
    events.lake.run("split")
    events.assert_feed_agrees()
    last = events.timeline("sales").last
    assert last is not None
    for file in Path(events.lake.path("sales")).rglob(f"*{last}*"):  # as a restore to the instant before does
        if file.is_file():
            file.unlink()
    events.arrive()
    events.lake.run("split")
    timeline = events.timeline("sales")
    assert timeline.last is not None
    assert timeline.last > last
    assert events.feed("sales", last, timeline.last) is None, "a checkpoint on the timeline's other branch"
    events.assert_feed_agrees()
    assert_equals_oracle(events.lake, events.lines)
