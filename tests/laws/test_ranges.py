"""Laws 1 to 3 of tables in ranges of their key, through Hudi: they have the rows of the table without partitions.

Four tables are made of the same events: ``plain`` has no partitions, ``ranged`` and ``removed`` have ranges of ten
keys, and ``pairs`` has them by the second column of its key. Events come in any order, some twice, deletes and late
ones among them, by runs that die, with services between them and in the end in more buckets. What must be there is
folded here in plain Python.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.catalog.tables import find_partitions, find_tables
from spark_jobs.storage.table_files import list_file_groups
from spark_jobs.storage.timeline import Timeline
from tests.support.crashes import CRASHES, crash_at_commit, run_and_crash
from tests.support.envelopes import Envelope
from tests.support.mirrors import TYPES, change
from tests.support.service_lakes import HUNGRY
from tests.support.shop_lakes import ShopLake, make_shop_lake

pytestmark = pytest.mark.hudi

WIDTH = 10
ORDERS = {"from": {"database": "shop", "table": "orders"}}
RANGES = {**ORDERS, "partition": "id", "transform": "truncate", "width": WIDTH}
TABLES: list[dict[str, Any]] = [
    {**ORDERS, "name": "plain", "key": ["id"], "deletes": "tombstone"},
    {**RANGES, "name": "ranged", "key": ["id"], "deletes": "tombstone", "history": True},
    {**RANGES, "name": "removed", "key": ["id"], "deletes": "remove", "type": "copy_on_write"},
    {**RANGES, "name": "pairs", "key": ["line", "id"], "deletes": "remove", "buckets": 2},
]
FIELDS = {"id": TYPES["bigint"], "line": TYPES["int"], "text": TYPES["string"]}
Rows = dict[int, dict[str, Any]]


def order(op: str, id_: int, lsn: int, text: str | None = None) -> Envelope:
    return change(op, "orders", {"id": id_, "line": 1, "text": text}, lsn, fields=FIELDS)


def random_orders(rng: random.Random, count: int) -> list[Envelope]:
    """Events in the source's order, whose keys count upward from below zero; some are about older keys."""
    ids = [rng.randint(-15, -15 + lsn // 2) for lsn in range(1, count + 1)]
    return [order("d" if rng.random() < 0.25 else "u", id_, lsn, f"{lsn}") for lsn, id_ in enumerate(ids, 1)]


def folded(records: Iterable[Envelope]) -> Rows:
    rows: Rows = {}
    for record in sorted(records, key=lambda each: each["payload"]["source"]["lsn"]):
        body = record["payload"]
        if body["op"] == "d":
            rows.pop(body["before"]["id"], None)
        else:
            rows[body["after"]["id"]] = body["after"]
    return rows


def named(id_: int, width: int) -> str:
    first = id_ // width * width
    return f"{first:019d}" if first >= 0 else f"-{10**19 + first:019d}"


def assert_equal(lake: ShopLake, records: Iterable[Envelope], tables: Iterable[dict[str, Any]] = TABLES) -> None:
    wanted = folded(records)
    for table in tables:
        for by_spark in (False, True):
            live = lake.live(table["name"], key=["id"], by_spark=by_spark)
            assert {key: row for (key,), row in live.items()} == wanted, (table["name"], by_spark)
        rows = [*lake.rows_by_spark(table["name"]), *lake.rows(table["name"])] if "partition" in table else []
        assert all(row["row_partition"] == named(row["id"], table["width"]) for row in rows), "deleted rows too"


def declare(lake: ShopLake, tables: Iterable[dict[str, Any]]) -> None:
    """Other entries."""
    path = Path(lake.spec)
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump({**document, "tables": [*tables]}), encoding="utf-8")


@pytest.mark.slice(name="laws")
@pytest.mark.parametrize("seed", [1, 2])
def test_rows_are_those_of_the_table_without_partitions(spark, tmp_path, seed: int):
    rng = random.Random(seed)
    lake = make_shop_lake(spark, tmp_path, TABLES, services=HUNGRY)
    records = random_orders(rng, 80)
    delivered = [*records, *rng.sample(records, 20)]
    rng.shuffle(delivered)
    for number in range(2):
        lake.deliver(f"part-{number}", delivered[number::2])
        run_and_crash(lake, "split", rng.choice(CRASHES["mirrors"]))
        lake.run("split")
        lake.run("services", action="run")
    assert_equal(lake, records)
    declare(lake, ({**table, "buckets": 3} for table in TABLES))
    lake.run("services", action="run", service="rescale", table="ranged")
    assert_equal(lake, records)


@pytest.mark.slice(name="laws")
def test_another_width_is_a_rebuild_and_ranges_come_to_a_table_without_them_by_a_new_name(spark, tmp_path):
    """`apply` dies before and after its commit. What no rebuild can do is what docs/tables.md says instead."""
    lake, plan = make_shop_lake(spark, tmp_path, TABLES[:2]), str(tmp_path / "plan.yaml")
    records = random_orders(random.Random(4), 60)
    random.Random(4).shuffle(records)
    lake.deliver("one", records[:40])
    lake.run("split")
    plain, ranged = TABLES[:2]
    declare(lake, [{**plain, **RANGES}, ranged])
    assert lake.run("plan", output=plan).counters["impossible"] == 1
    tables = [plain, {**ranged, "width": 4}, {**RANGES, "name": "by_id", "key": ["id"]}]
    declare(lake, tables)
    assert lake.run("plan", output=plan).counters["impossible"] == 0
    for number, is_committed in ((2, False), (1, True)):  # the history's commit comes first, and is made once
        crash = crash_at_commit("storage.replacing", number, is_committed=is_committed)
        assert run_and_crash(lake, "apply", crash, plan=plan)
    lake.run("apply", plan=plan)
    assert_equal(lake, records[:40], tables[:2])
    lake.deliver("two", records[40:])
    lake.run("split")
    assert_equal(lake, records, tables)
    declare(lake, tables[1:])
    assert lake.run("split").status == "nothing_to_do"
    assert_equal(lake, records, tables[1:])


def test_new_keys_touch_the_newest_range_alone(spark, tmp_path):
    """A batch of them, and the compaction that follows from it; deletes and late events touch their own range."""
    lake = make_shop_lake(spark, tmp_path, TABLES[:2], services=HUNGRY)
    records = [order("c", id_, 10 * id_) for id_ in range(30)]
    lake.deliver("one", records)
    lake.run("split")
    touched = {}
    for name, part in {
        "new": [order("c", id_, 10 * id_) for id_ in (30, 31)],
        "late": [order("u", 12, 5, "late"), order("d", 12, 400)],
        "newer": [order("u", 31, 500, "b"), order("c", 33, 501)],
    }.items():
        records += part
        lake.deliver(name, part)
        lake.run("split")
        timeline = Timeline(table="ranged", path=lake.path("ranged"))
        ids = timeline.file_groups_written(timeline.writes[-1])
        touched[name] = {group.partition for group in list_file_groups(timeline.path) if group.id in ids}
    ranges = {first: f"row_partition={first:019d}" for first in (0, 10, 20, 30)}
    assert touched == {"new": {ranges[30]}, "late": {ranges[10]}, "newer": {ranges[30]}}
    assert_ranged(lake, records)
    lake.run("services", action="run", service="compaction", table="ranged")
    timeline = Timeline(table="ranged", path=lake.path("ranged"))
    merged = timeline.file_groups_written(timeline.writes[-1])
    assert {g.partition for g in list_file_groups(timeline.path) if g.id in merged} == {ranges[30]}
    assert_ranged(lake, records)
    spec = load_lake_spec(lake.spec)
    for view in find_tables(spec, lake.settings, "ranged"):
        assert [(key.name, key.type) for key in view.partition_keys] == [("row_partition", "string")]
        assert find_partitions(spec, lake.settings, view) == {path[14:]: path for path in ranges.values()}


def assert_ranged(lake: ShopLake, records: Iterable[Envelope]) -> None:
    wanted = {(key,): row for key, row in folded(records).items()}
    assert lake.live("ranged", key=["id"]) == lake.live("ranged", key=["id"], by_spark=True) == wanted
