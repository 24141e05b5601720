"""What is expected of mirrors, in a real lake: checked before each commit, for each mirror alone, and of whole tables.

``orders`` keeps deleted rows and has expectations of its own, one of them about a column that comes later; ``carts``
keeps no deleted rows; of ``plain`` nothing is declared. What a gate counts are rows that are live after the batch.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.job_errors import AuditFailedError, TablesFailedError
from spark_jobs.quality.docs_site import DOCS
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.record import QualityRecord
from spark_jobs.quality.results import QualityResult, ResultPlace, Stage
from spark_jobs.quality.verdicts import Outcome
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import table_layout
from spark_jobs.storage.reader import read_stored
from spark_jobs.storage.writer import commit
from tests.support.contexts import context_of
from tests.support.expecting_lakes import quality_of
from tests.support.mirrors import TYPES, change, decimal_field, packed
from tests.support.shop_lakes import ShopLake, make_shop_lake

pytestmark = [pytest.mark.hudi, pytest.mark.timeout(900)]

FIRST = {"id": TYPES["bigint"], "total": decimal_field(10, 2), "day": TYPES["date"]}
NOTED = {**FIRST, "note": TYPES["string"]}
KEYED = {"id": TYPES["bigint"]}
MIRRORS: list[dict[str, Any]] = [
    {"name": "orders", "key": ["id"]},
    {"name": "carts", "key": ["id"], "deletes": "remove"},
    {"name": "plain", "key": ["id"]},
]
EXPECTATIONS: dict[str, dict[str, Any]] = {
    "orders": {
        "not_negative": {"column": "total", "between": ["0.00", None], "action": "stop"},
        "lately": {"column": "day", "between": ["1970-01-03", "2100-01-01"]},
        "noted": {"column": "note", "matches": "^[a-z]", "where": "total > 1"},
    },
    "carts": {"not_13": {"holds": "id <> 13", "action": "stop"}},
}

IMPLIED = ("id_is_known", "total_nulls_as_usual", "day_nulls_as_usual")


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> ShopLake:
    folder = tmp_path / "expectations"
    folder.mkdir()
    for table, entries in EXPECTATIONS.items():
        (folder / f"{table}.yaml").write_text(yaml.safe_dump(entries), encoding="utf-8")
    return make_shop_lake(spark, tmp_path, MIRRORS, expectations="expectations")


def order(
    key: int, at: int, *, cents: int | None = 500, day: int = 9, op: str = "c", table: str = "orders", **more: Any
) -> Any:
    total = None if cents is None else packed(cents)
    fields = NOTED if more else FIRST
    return change(op, table, {"id": key, "total": total, "day": day, **more}, at, fields=fields)


def cart(key: int, at: int, op: str = "c") -> Any:
    return change(op, "carts", {"id": key}, at, fields=KEYED)


def rules_of(lake: ShopLake, table: str) -> dict[str, tuple[int, int, str]]:
    """Of the newest commit, for each expectation: rows checked, rows that broke it, and the outcome."""
    return {name: (checked, broken, out) for name, checked, broken, out, _, _ in quality_of(lake, table)["rules"]}


def results(lake: ShopLake, stage: Stage) -> dict[tuple[str, str], dict[str, Any]]:
    """What was kept of a stage, the newest instant of each table and expectation."""
    rows = sorted(lake.rows("shop_quality"), key=lambda row: row["instant"])
    return {(row["table_name"], row["expectation"]): row for row in rows if row["stage"] == stage}


@pytest.mark.slice(name="tables")
def test_each_commit_says_what_its_gate_saw_of_live_rows(lake: ShopLake):
    lake.deliver("one", [order(1, 1), order(2, 2, cents=None, day=1), order(3, 3), order(3, 4, op="d"), cart(1, 5)])
    plain = [(1, 11, 500, "c"), (2, 12, None, "c"), (3, 13, 500, "c"), (3, 14, 500, "d")]
    lake.deliver("plain", [order(key, at, cents=cents, op=op, table="plain") for key, at, cents, op in plain])
    lines = lake.run("split").messages
    assert rules_of(lake, "orders") == {
        "id_is_known": (2, 0, "held"),
        "total_nulls_as_usual": (2, 1, "held"),
        "day_nulls_as_usual": (2, 0, "held"),
        "not_negative": (2, 0, "held"),
        "lately": (2, 1, "warned"),
    }
    # What is implied is counted apart where nothing else is expected, and comes to the same.
    assert rules_of(lake, "plain") == {name: rule for name, rule in rules_of(lake, "orders").items() if name in IMPLIED}
    assert quality_of(lake, "orders")["rows"] == quality_of(lake, "plain")["rows"] == {"written": 3}
    assert rules_of(lake, "carts") == {"id_is_known": (1, 0, "held"), "not_13": (1, 0, "held")}
    assert set(lines) == {
        "orders: warned: lately (day between 1970-01-03 and 2100-01-01): 1 of 2 rows broke it",
        "orders: noted waits: there is no column note yet",
    }
    # A column more: what waited is checked, and the share of its nulls, for the rows that are written alone.
    lake.deliver("two", [order(2, 6, op="u", note="7"), order(4, 7, note=None), cart(1, 8, "d"), cart(2, 9)])
    assert lake.run("split").messages == (
        "orders: warned: noted (note matches ^[a-z] where total > 1): 1 of 2 rows broke it",
    )
    assert rules_of(lake, "orders")["note_nulls_as_usual"] == (2, 1, "held")
    assert rules_of(lake, "carts")["not_13"] == (1, 0, "held"), "a row that is taken out is not checked"
    assert lake.run("split").messages == ()


@pytest.mark.slice(name="tables")
def test_a_mirror_that_is_stopped_stops_no_other_and_leaves_no_trace_of_its_batch(lake: ShopLake):
    lake.deliver("one", [order(1, 1), cart(1, 2), cart(2, 3)])
    lake.run("split")
    before = lake.instants()
    lake.deliver("two", [order(2, 4), cart(13, 5), cart(1, 6, "d")])
    for _ in range(2):
        with pytest.raises(TablesFailedError, match=r"carts: nothing new was written .*not_13") as failed:
            lake.run("split")
        assert failed.value.exit_code == 2
        after = lake.instants()
        assert after["carts"] == before["carts"]
        assert "shop_log_deleted" not in after, "what was not taken out is not kept as deleted"
        assert {*lake.live("orders", key=("id",))} == {(1,), (2,)}
    (hold,) = Holds(lake.settings).held()
    assert (hold.table, hold.job, hold.expectations) == ("carts", "split", ("not_13",))
    lake.deliver("three", [order(3, 7), cart(3, 8)])
    with pytest.raises(TablesFailedError):
        lake.run("split")
    assert {*lake.live("orders", key=("id",))} == {(1,), (2,), (3,)}
    lake.run("publish", action="accept", table="carts", because="it is no bad luck", by="Ada")
    lake.run("split")
    assert (
        {*lake.live("carts", key=("id",))} == {*lake.live("carts", key=("id",), by_spark=True)} == {(2,), (3,), (13,)}
    )
    assert rules_of(lake, "carts")["not_13"] == (2, 1, "accepted")
    assert Holds(lake.settings).held() == []
    assert Holds(lake.settings).accepted("carts") is None, "what was accepted has been used"


def test_an_entry_that_does_not_fit_the_types_fails_its_mirror_alone(lake: ShopLake, tmp_path: Path):
    wrong = {"odd": {"holds": "day > total"}}
    (tmp_path / "expectations" / "orders.yaml").write_text(yaml.safe_dump(wrong), encoding="utf-8")
    lake.deliver("one", [order(1, 1), cart(1, 2)])
    with pytest.raises(TablesFailedError, match="orders: an expectation does not fit its columns' types") as failed:
        lake.run("split")
    assert (failed.value.exit_code, {*failed.value.failed}) == (2, {"orders"})
    assert {*lake.live("carts", key=("id",))} == {(1,)}


@pytest.mark.slice(name="jobs")
def test_whole_mirrors_and_increments_are_checked_and_have_pages(lake: ShopLake):
    lake.deliver("one", [order(1, 1), order(2, 2, cents=None, day=1), order(3, 3), order(3, 4, op="d"), cart(1, 5)])
    lake.run("split")
    first = lake.run("validate", tables="orders", increment=True)
    assert "orders: noted waits: there is no column note yet" in first.messages
    assert results(lake, Stage.INCREMENT)["orders", "lately"]["observed"] == "1 of 2 rows broke it"
    assert ("orders", "noted") not in results(lake, Stage.INCREMENT)
    lake.deliver("two", [order(4, 6, note="7")])
    lake.run("split")
    done = lake.run("validate", tables="", increment=False)
    assert done.counters["tables"] == 3
    whole = results(lake, Stage.WHOLE)
    facts = {name: (row["rows_asked"], row["rows_broken"], row["outcome"]) for (t, name), row in whole.items()}
    assert {name: facts[name] for table, name in whole if table == "orders"} == {
        "id_is_known": (3, 0, "held"),
        "row_key_is_unique": (3, 0, "held"),
        "not_negative": (3, 0, "held"),
        "lately": (3, 1, "warned"),
        "noted": (2, 1, "warned"),
    }
    assert ("carts", "row_key_is_unique") in whole
    assert results(lake, Stage.GATE)["orders", "note_nulls_as_usual"]["rows_asked"] == 1
    pages = [path.relative_to(Path(lake.settings.base_path) / DOCS) for path in Path(lake.path(DOCS)).rglob("*.html")]
    assert {page.parts[1] for page in pages if page.parts[0] == "validations"} == {"shop_log", "orders", "carts"}


@pytest.mark.slice(name="jobs")
def test_a_key_that_is_there_twice_holds_the_mirror(spark: SparkSession, tmp_path: Path):
    """One row in two partitions, as no run would write it."""
    mirrors = [{"name": "events", "key": ["id"], "partition": "kind"}]
    lake, fields = make_shop_lake(spark, tmp_path, mirrors), {"id": TYPES["bigint"], "kind": TYPES["string"]}
    kinds = {1: "a", 2: "b"}
    lake.deliver(
        "one", [change("c", "events", {"id": key, "kind": kind}, key, fields=fields) for key, kind in kinds.items()]
    )
    lake.run("split")
    assert lake.run("validate", tables="events", increment=False).counters["broken"] == 0
    (mirror,) = load_lake_spec(lake.settings.lake_spec).mirrors
    twin_df = read_stored(spark, lake.path("events")).where("id = 1").withColumn("row_partition", F.lit("b"))
    commit(twin_df, table_layout(mirror), metadata={}, settings=lake.settings)
    with pytest.raises(AuditFailedError, match="row_key_is_unique"):
        lake.run("validate", tables="events", increment=False)
    (hold,) = Holds(lake.settings).held()
    assert (hold.table, hold.expectations) == ("events", ("row_key_is_unique",))


def test_a_column_that_is_suddenly_empty_is_reported_at_night(lake: ShopLake):
    lake.deliver("one", [order(key, key, cents=None if key % 2 else 500) for key in range(1, 121)])
    lake.run("split")
    now = datetime.now(UTC)
    days = [now.date() - timedelta(days=back) for back in range(28, 0, -1)]
    history = [share_of_nulls(day, broken=1 + day.day % 3) for day in days]
    # Other tables have expectations of the same name, and none of their figures is one of this table.
    history += [share_of_nulls(day, broken=90 + day.day % 3, table=t) for day in days for t in ("carts", "plain")]
    spec = load_lake_spec(lake.settings.lake_spec)
    context = context_of("validate", lake.settings, spark=lake.spark, spec=spec, clock=now)
    QualityRecord(spec, lake.settings).write(context, history, {})
    done = lake.run("validate", clock=now + timedelta(days=1), tables="orders", increment=False)
    (text,) = (line for line in done.messages if "as_usual" in line)
    assert text.startswith("orders: warned: total_nulls_as_usual (total nulls as usual): 50.00% on ")
    assert float(text.partition("where ")[2].partition("%")[0]) < 2
    assert results(lake, Stage.HISTORY)["orders", "total_nulls_as_usual"]["figure"] == Decimal("0.5")


def share_of_nulls(day: date, *, broken: int, table: str = "orders") -> QualityResult:
    """What the gate of a commit of that day might have seen of a table's ``total``."""
    return QualityResult(
        place=ResultPlace(table=table, instant=Instant(f"{day:%Y%m%d}120000000"), day=day.isoformat()),
        stage=Stage.GATE,
        expectation="total_nulls_as_usual",
        observed=f"{broken} of 200 rows broke it",
        outcome=Outcome.HELD,
        checked=200,
        broken=broken,
    )
