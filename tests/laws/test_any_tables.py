"""Laws 1 to 5 and 7 over random lakes: whatever tables a spec declares, they are what the events say.

A seed draws a lake (tests.support.any_tables): a wide log and tables of databases in one spec, several tables of one
table at the source, shards, a pattern and a load, each with random words. Then it draws what happened to a few keys of
each, and how that is delivered (tests.support.any_events): in any order, some of it again, in several parts, by runs
that die (tests.support.crashes) and are repeated or left to the next part, with services between them, a row index
that is lost, and runs for some of the tables. In the end both jobs run until nothing is left. Then every table, as
readers see it in Spark and as the Rust reader reads it, and all versions of its rows equal the oracle; and the rows
that its commits say they added, without those they removed, are as many as it has. One more run commits nothing, and a
backfill of all days changes no row.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import Interval
from spark_jobs.storage.segment_index import FOLDER
from spark_jobs.storage.timeline import Timeline
from tests.support.any_events import AnyEvent, draw_events, key_names, row_changes, rows_of
from tests.support.any_tables import LOAD, OTHERS, AnyLake, AnyTable, draw_lake
from tests.support.crashes import CRASHES, crash_at_commit, run_and_crash
from tests.support.lakes import in_utc
from tests.support.loading_lakes import write_csv
from tests.support.mirrors import line_of
from tests.support.oracle import EPOCH
from tests.support.oracle_versions import in_order, versions_of
from tests.support.service_lakes import run_services
from tests.support.shop_lakes import HIDDEN, ShopLake

pytestmark = pytest.mark.hudi

SMALL = 81
"""A lake with a wide log, three tables of one source and shards, half of them in ranges of a column; some runs die."""
SEEDS = [SMALL, *(pytest.param(seed, marks=pytest.mark.slice(name="laws")) for seed in (0, 2, 6))]
ALL_DAYS = Interval(start=EPOCH, end=EPOCH + timedelta(days=40_000))
BROKEN = (b'{"op": "c", "after"', b"[1]", b'{"op": "c", "after": null, "source": {}}')
DEATHS = {
    "ingest": CRASHES["ingest"],
    "split": [
        *CRASHES["split"],
        *(crash_at_commit("pipelines.merge.histories", 1, is_committed=done) for done in (False, True)),
    ],
}
Row = dict[str, Any]


def make_lake(spark: SparkSession, folder: Path, drawn: AnyLake) -> ShopLake:
    """An empty lake with the spec that was drawn."""
    (folder / "landing").mkdir()
    spec = folder / "any.yaml"
    spec.write_text(yaml.safe_dump(drawn.document, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return ShopLake(spark=spark, folder=folder, spec=str(spec))


def parts_of(rng: random.Random, events: Sequence[AnyEvent], count: int) -> list[list[tuple[str, bytes]]]:
    """Lines with their topics in any order, some of them again, broken ones between them, in so many parts."""
    lines = [(f"any.{event.source}", line_of(event.record)) for event in events]
    lines += [*rng.sample(lines, len(lines) // 4), *((rng.choice(lines)[0], line) for line in (*BROKEN, b"null"))]
    rng.shuffle(lines)
    return [lines[number::count] for number in range(count)]


def run_some(lake: ShopLake, rng: random.Random) -> int:
    """Both jobs, as chance has it, and what else may happen to a lake; how many runs died."""
    deaths = 0
    for job in ("ingest", "split"):
        if rng.random() < 0.6:
            deaths += run_and_crash(lake, job, rng.choice(DEATHS[job]))
        if job == "split" and rng.random() < 0.3:
            lake.run("split", tables=rng.choice(["wide_*", "v*,others", "*s,wide_id"]))
        if rng.random() < 0.7:
            lake.run(job)
        if rng.random() < 0.3:
            run_services(lake, rng)
    if rng.random() < 0.3:
        shutil.rmtree(lake.path(FOLDER), ignore_errors=True)
    return deaths


def run_load(lake: ShopLake, rng: random.Random, number: int, rates: dict[str, int]) -> None:
    """Load a file of a few rates, each of which replaces the one before."""
    new = {currency: rng.randint(1, 9) for currency in rng.sample(["CHF", "EUR", "SEK", "USD"], 2)}
    rows = [{"currency": currency, "rate": str(rate)} for currency, rate in new.items()]
    file = write_csv(lake.folder / f"rates-{number}.csv", rows, names=("currency", "rate"))
    lake.run("load", table="rates", from_path=str(file))
    rates |= new


def assert_equal(lake: ShopLake, drawn: AnyLake, events: Sequence[AnyEvent]) -> None:
    """Every table and all versions of its rows are what the oracle says, and the quarantine has what is broken."""
    lake.run("query", sql="SELECT 1 AS one", rows=1)
    for table in drawn.tables:
        names, wanted = (*key_names(table), *table.columns.values()), ordered(rows_of(table, events))
        if not Path(lake.path(table.name)).exists():
            assert not wanted, f"{table.name} is not there"
            continue
        by_spark = [row.asDict() for row in lake.spark.table(table.name).collect()]
        for reader, rows in (("Spark", by_spark), ("Rust", live_rows(lake, table))):
            assert ordered(filled(rows, names)) == wanted, f"{table.name} by {reader}"
        assert rows_added(lake, table) in (None, len(wanted)), f"{table.name} by its commits"
        if table.history:
            assert versions(lake, table, names) == expected_versions(table, events), f"versions of {table.name}"
    assert {bytes(row["raw"]) for row in lake.rows("any_quarantine")} == {*BROKEN}


def rows_added(lake: ShopLake, table: AnyTable) -> int | None:
    """How many rows its commits added and no other removed; None for a table that was written again as a whole."""
    timeline = Timeline(table=table.name, path=lake.path(table.name))
    writes = [write for write in timeline.writes if not timeline.service_of(write)]
    counts = [timeline.row_counts(write) for write in writes]
    assert not sum(each.upserted for each in counts), f"{table.name}: it is not known which rows are new"
    is_rewritten = any(write.action == "replacecommit" for write in writes)
    return None if is_rewritten else sum(each.added - each.removed for each in counts)


def versions(lake: ShopLake, table: AnyTable, names: Sequence[str]) -> list[tuple[Any, ...]]:
    rows = [row.asDict() for row in lake.spark.table(f"{table.name}_versions").collect()]
    ordered_names = (*names, "valid_from", "valid_to")
    return in_order(tuple(row[name] for name in ordered_names) for row in filled(rows, ordered_names))


def expected_versions(table: AnyTable, events: Iterable[AnyEvent]) -> list[tuple[Any, ...]]:
    return versions_of(row_changes(table, events), [*table.columns.values()])


def live_rows(lake: ShopLake, table: AnyTable) -> list[Row]:
    """What the Rust reader reads of a table, without what its readers do not see."""
    rows = [row for row in lake.rows(table.name) if not row.get("is_deleted")]
    return [{n: value for n, value in row.items() if n not in HIDDEN and not n.endswith("_order")} for row in rows]


def filled(rows: Iterable[Mapping[str, Any]], names: Sequence[str]) -> list[Row]:
    """Rows with all columns: one of which no value was ever seen need not be there, and no other may."""
    found = [{**dict.fromkeys(names), **{name: plain(value) for name, value in row.items()}} for row in rows]
    assert not [row for row in found if {*row} != {*names}], "other columns than were declared"
    return found


def plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, bytearray) else in_utc(value)


def ordered(rows: Iterable[Row]) -> list[Row]:
    return sorted(({name: row[name] for name in sorted(row)} for row in rows), key=repr)


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_tables_are_declared_they_are_what_the_events_say(spark: SparkSession, tmp_path: Path, seed: int):
    assert check_seed(spark, tmp_path, seed, is_small=seed == SMALL), "no run of this seed dies"


def check_seed(spark: SparkSession, folder: Path, seed: int, *, is_small: bool) -> int:
    """The law for one seed; how many runs died."""
    rng = random.Random(seed)
    drawn = draw_lake(rng, is_small=is_small)
    lake, events = make_lake(spark, folder, drawn), draw_events(rng, drawn, 60 if is_small else 140)
    parts, rates, deaths = parts_of(rng, events, 2 if is_small else 3), dict[str, int](), 0
    for number, part in enumerate(parts):
        for topic in sorted({topic for topic, _ in part}):
            lake.land(f"part-{number}", [line for of, line in part if of == topic], topic=topic)
        deaths += run_some(lake, rng)
        if LOAD in drawn.document["tables"]:
            run_load(lake, rng, number, rates)
    for job in ("ingest", "split"):
        lake.run(job)
    assert_equal(lake, drawn, events)
    assert {row["currency"]: row["rate"] for row in lake.rows("rates")} == rates
    before = lake.instants()
    assert [lake.run(job).status for job in ("ingest", "split")] == ["nothing_to_do"] * 2
    assert lake.instants() == before
    stored = {table.name: live_rows(lake, table) for table in drawn.tables}
    again = lake.run("split", interval=ALL_DAYS)
    assert again.counters["events_read"] == len([event for event in events if event.source != OTHERS])
    assert {table.name: live_rows(lake, table) for table in drawn.tables} == stored
    return deaths
