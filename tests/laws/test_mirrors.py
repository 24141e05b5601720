"""Laws 1, 2, 3 and 6 of mirrors, through Hudi: whatever is delivered in whatever order, they equal the source's tables.

Four tables in one lake: ``orders`` keeps deleted rows, ``events`` is partitioned by month, ``carts`` keeps no deleted
rows, ``lines`` has a key of two columns, keeps none either and is partitioned by a column that changes. A change has an
LSN of its own. What a key holds in the end is what the plain fold of tests.support.mirrors says.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.job_errors import TablesFailedError
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.segment_index import FOLDER
from tests.support.broken_mirrors import every_broken_change
from tests.support.crashes import CRASHES, crash_at_commit, run_and_crash
from tests.support.envelopes import Envelope
from tests.support.mirrors import TYPES, UNAVAILABLE, change, decimal_field, fold, line_of, packed
from tests.support.shop_lakes import TOPIC, ShopLake, make_shop_lake

TOO_LONG = "no folder " * 20
pytestmark = pytest.mark.hudi

FIELDS = {
    "id": TYPES["bigint"],
    "line": TYPES["int"],
    "text": TYPES["string"],
    "total": decimal_field(18, 4),
    "at": TYPES["timestamp"],
    "day": TYPES["date"],
    "is_paid": TYPES["boolean"],
    "photo": TYPES["bytes"],
    "rate": TYPES["double"],
}
KEYS = {"orders": ("id",), "events": ("id",), "carts": ("id",), "lines": ("id", "line")}
MIRRORS: list[dict[str, Any]] = [
    {"name": "orders", "key": ["id"], "buckets": 2},
    {"name": "events", "key": ["id"], "partition": "at", "transform": "month"},
    {"name": "carts", "key": ["id"], "deletes": "remove", "type": "copy_on_write"},
    {"name": "lines", "key": ["id", "line"], "deletes": "remove", "partition": "text"},
]
TEXTS = ("", "Ada", "Zoë 🏠", "李雷", "O'Neil; --", "a\tb")
FOLDERS = ("north", "south", "east")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ALL_DAYS = Interval(start=EPOCH, end=datetime(2100, 1, 1, tzinfo=UTC))


def changes(rng: random.Random, count: int) -> list[Envelope]:
    """What might happen to a few keys of each table, in the source's order."""
    there: set[tuple[str, int, int]] = set()
    records = []
    for lsn in range(1, count + 1):
        table = rng.choice([*KEYS])
        key = (table, rng.randint(1, 6), rng.randint(1, 2) if table == "lines" else 0)
        row = {"id": key[1], "line": key[2], **values(rng, table)}
        if key in there and rng.random() < 0.3:
            there.discard(key)
            records.append(change("d", table, row, lsn, fields=FIELDS))
            continue
        if key in there and rng.random() < 0.3:
            row[rng.choice(["photo", "total"] if table == "lines" else ["text", "photo", "total"])] = UNAVAILABLE
        records.append(change("u" if key in there else rng.choice("cr"), table, row, lsn, fields=FIELDS))
        there.add(key)
    return records


def values(rng: random.Random, table: str) -> dict[str, Any]:
    row = {
        "text": rng.choice(FOLDERS if table == "lines" else TEXTS),
        "total": packed(rng.randint(-(10**17), 10**17)),
        "at": rng.randint(0, 2 * 10**13),
        "day": rng.randint(-1000, 30000),
        "is_paid": rng.random() < 0.5,
        "photo": rng.choice(["", "AAEC/w=="]),
        "rate": rng.choice([0.1, -1e300, 3.0]),
    }
    return {name: None if rng.random() < 0.15 else value for name, value in row.items()}


def expected(records: Sequence[Envelope]) -> dict[str, dict[tuple[Any, ...], dict[str, Any]]]:
    """The fold, with values as Python has them."""
    return {
        table: {key: {name: read(name, value) for name, value in row.items()} for key, row in rows.items()}
        for table, rows in fold(records, KEYS).items()
    }


def read(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name == "total":
        return Decimal(int.from_bytes(base64.b64decode(value), "big", signed=True)).scaleb(-4)
    if name == "at":
        return EPOCH + timedelta(microseconds=value)
    if name == "day":
        return date(1970, 1, 1) + timedelta(days=value)
    return base64.b64decode(value) if name == "photo" else value


def deliveries(rng: random.Random, records: Sequence[Envelope], parts: int) -> Iterator[list[Envelope]]:
    """The events in any order, some of them again and again, in so many parts."""
    shuffled = [*records, *rng.sample(records, len(records) // 4)]
    rng.shuffle(shuffled)
    for number in range(parts):
        yield shuffled[number::parts]


def assert_equal(lake: ShopLake, records: Sequence[Envelope]) -> None:
    wanted = expected(records)
    for table, key in KEYS.items():
        for by_spark in (False, True):
            assert lake.live(table, key=key, by_spark=by_spark) == wanted[table], (table, by_spark)


@pytest.mark.slice(name="laws")
@pytest.mark.parametrize("seed", range(2))
def test_whatever_is_delivered_in_whatever_order_gives_the_same_tables(spark, tmp_path, seed):
    rng = random.Random(seed)
    lake = make_shop_lake(spark, tmp_path, MIRRORS)
    records = changes(rng, 150)
    for number, part in enumerate(deliveries(rng, records, rng.randint(2, 4))):
        lake.deliver(f"part-{number}", part)
        lake.run("split")
        if rng.random() < 0.5:
            Filesystem(f"{lake.path(FOLDER)}/shop").delete_tree()
        if rng.random() < 0.5:
            lake.run("services", action="run")
    assert_equal(lake, records)
    assert lake.rows("shop_quarantine") == []
    before = lake.instants()
    assert [lake.run(job).status for job in ("ingest", "split")] == ["nothing_to_do"] * 2
    assert lake.instants() == before


@pytest.mark.slice(name="laws")
@pytest.mark.parametrize("seed", range(2))
def test_runs_that_die_anywhere_and_are_run_again_give_the_same_tables(spark, tmp_path, monkeypatch, seed):
    """In any order too, each delivery is ingested and split by runs that die, and then by some that do not.

    Commits of the log are pulled one by one, folders of the row index are merged often. In the end its manifest is
    broken, and a backfill of all days merges every event once more with what is there.
    """
    monkeypatch.setattr("spark_jobs.pipelines.merge.engine._MB", 1 / 1024)
    monkeypatch.setattr("spark_jobs.storage.segment_index.MAX_FOLDERS", 4)
    rng = random.Random(100 + seed)
    lake = make_shop_lake(spark, tmp_path, MIRRORS)
    records = changes(rng, 90)
    died = 0
    for number, part in enumerate(deliveries(rng, records, 3)):
        lake.land(f"part-{number}", map(line_of, part), topic=TOPIC)
        died += run_and_crash(lake, "ingest", rng.choice(CRASHES["ingest"]))
        lake.run("ingest")
        died += run_and_crash(lake, "split", rng.choice(CRASHES["mirrors"]))
        if number:
            lake.run("split")
    assert died > 2
    assert_equal(lake, records)
    before = lake.instants()
    assert lake.run("split").status == "nothing_to_do"
    assert lake.instants() == before
    (manifest,) = Path(lake.path(FOLDER)).glob("*/manifest.json")
    manifest.write_bytes(b"[]")
    assert lake.run("split", interval=ALL_DAYS).counters["events_read"] == len(records)
    assert_equal(lake, records)


def test_every_way_to_be_broken_is_kept_and_every_record_is_accounted_for(spark, tmp_path):
    """Broken ones between good ones, repeated ones and those of a table that is not mirrored."""
    lake = make_shop_lake(spark, tmp_path, MIRRORS, quarantine_limit={"most_percent": 100, "from_records": 1000})
    broken = every_broken_change("orders", first_key=1000)
    good = [line_of(change("c", "orders", {"id": n}, n)) for n in range(1, 11)]
    others = [line_of(change("c", "baskets", {"id": n}, n)) for n in range(3)]
    lines = [*good, *broken, *good[:4], *others, b"null", *[*broken][:2]]
    random.Random(1).shuffle(lines)
    lake.land("mixed", lines, topic=TOPIC)
    done = lake.run("ingest")
    counts = done.counters
    assert counts["records_read"] == len(lines)
    assert (counts["events_new"], counts["records_quarantined"]) == (10, len(broken))
    assert counts["records_duplicate"] == 4 + 3 + 1 + 2
    assert done.messages[0] == "skipped: events of tables that no table of the lake is made of: shop.baskets"
    assert {bytes(row["raw"]): row["reason"] for row in lake.rows("shop_quarantine")} == broken
    lake.run("split")
    assert {key for (key,) in lake.live("orders", key=("id",))} == set(range(1, 11))


@pytest.mark.slice(name="laws")
def test_deleted_rows_are_kept_or_not_as_the_spec_says(spark, tmp_path):
    lake = make_shop_lake(spark, tmp_path, MIRRORS)
    row = {"id": 1, "line": 1, "text": "north"}
    fields = {name: FIELDS[name] for name in row}
    lake.deliver("made", [change("c", table, row, 10, fields=fields) for table in ("orders", "carts", "lines")])
    lake.run("split")
    lake.deliver("deleted", [change("d", table, row, 20, fields=fields) for table in ("orders", "carts", "lines")])
    lake.run("split")
    (tombstone,) = lake.rows("orders")
    assert (tombstone["is_deleted"], tombstone["id"], tombstone["text"]) == (True, 1, None)
    assert lake.rows("carts") == lake.rows("lines") == []
    assert {r["tombstone"] for r in lake.rows("shop_log_deleted")} == {"carts|1", 'lines|["1","1"]'}
    lake.deliver(
        "late", [change("u", t, {**row, "text": "late"}, 15, fields=fields) for t in ("orders", "carts", "lines")]
    )
    assert lake.run("split").status == "nothing_to_do"
    lake.deliver("again", [change("c", "carts", {**row, "text": "again"}, 30, fields=fields)])
    lake.run("split")
    assert {key: row["text"] for key, row in lake.live("carts", key=("id",)).items()} == {(1,): "again"}


@pytest.mark.slice(name="laws")
def test_a_delete_that_was_kept_and_not_carried_out_is_carried_out_by_the_next_run(spark, tmp_path):
    """The run dies between the tombstone and the mirror's commit, and the row index is lost too."""
    lake = make_shop_lake(spark, tmp_path, [MIRRORS[2]])
    fields = {"id": FIELDS["id"], "text": FIELDS["text"]}
    row = {"id": 1, "text": "a"}
    lake.deliver("made", [change("c", "carts", row, 1, fields=fields)])
    lake.run("split")
    lake.deliver("deleted", [change("d", "carts", row, 2, fields=fields)])
    assert run_and_crash(lake, "split", crash_at_commit("pipelines.merge.engine", 1, is_committed=False))
    assert len(lake.rows("shop_log_deleted")) == len(lake.rows("carts")) == 1
    Filesystem(f"{lake.path(FOLDER)}/shop").delete_tree()
    lake.run("split")
    assert lake.rows("carts") == []


@pytest.mark.slice(name="laws")
def test_a_mirror_that_is_behind_takes_no_column_from_the_others(spark, tmp_path, monkeypatch):
    """``lines`` stays at the first commit of the log, in which ``orders`` has no note yet."""
    lake = make_shop_lake(spark, tmp_path, MIRRORS)
    order_fields = {"id": FIELDS["id"], "text": FIELDS["text"]}
    line_fields = {**order_fields, "line": FIELDS["line"]}
    bad = {"id": 1, "line": 1, "text": TOO_LONG}
    records = [
        change("c", "orders", {"id": 1, "text": "a"}, 1, fields=order_fields),
        change("c", "lines", bad, 2, fields=line_fields),
    ]
    lake.deliver("one", records)
    with_note = {**order_fields, "note": FIELDS["text"]}
    lake.deliver("two", [change("u", "orders", {"id": 1, "text": "a", "note": "x"}, 3, fields=with_note)])
    with pytest.raises(TablesFailedError):
        lake.run("split")
    monkeypatch.setattr("spark_jobs.pipelines.merge.engine._MB", 1 / 1024)
    with pytest.raises(TablesFailedError):
        lake.run("split")
    later = {"id": 1, "text": "b", "note": UNAVAILABLE}
    mended = {**bad, "text": "folder"}
    lake.deliver(
        "three",
        [change("u", "orders", later, 4, fields=with_note), change("u", "lines", mended, 5, fields=line_fields)],
    )
    monkeypatch.undo()
    lake.run("split")
    assert lake.live("orders", key=("id",)) == {(1,): {"id": 1, "text": "b", "note": "x"}}
    assert [row["text"] for row in lake.rows("lines")] == ["folder"]


def test_a_mirror_that_fails_stops_no_other_and_catches_up(spark, tmp_path: Path):
    """``orders`` is in the way of a file; once that is gone it has everything, of both runs."""
    lake = make_shop_lake(spark, tmp_path, MIRRORS)
    fields = {"id": FIELDS["id"], "text": FIELDS["text"]}
    bad = {"id": 1, "line": 1, "text": TOO_LONG}
    line_fields = {**fields, "line": FIELDS["line"]}
    lake.deliver("one", [change("c", "orders", {"id": 1, "text": "a"}, 1, fields=fields)])
    lake.deliver("two", [change("c", "lines", bad, 2, fields=line_fields)])
    with pytest.raises(TablesFailedError, match=r"lines.*cannot be a folder") as failed:
        lake.run("split")
    assert failed.value.exit_code == 2
    result = failed.value.result
    assert result is not None
    assert [table.table for table in result.tables if table.is_committed] == ["orders"]
    lake.deliver("three", [change("u", "orders", {"id": 1, "text": "b"}, 3, fields=fields)])
    with pytest.raises(TablesFailedError):
        lake.run("split")
    assert [row["text"] for row in lake.rows("orders")] == ["b"]
    lake.deliver("four", [change("u", "lines", {**bad, "text": "north/west"}, 4, fields=line_fields)])
    lake.run("split")
    assert [row["text"] for row in lake.rows("lines")] == ["north/west"], "as it is at the source"
