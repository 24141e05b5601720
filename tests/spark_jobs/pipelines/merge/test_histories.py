"""Histories in a lake, with versions of their rows as `query` shows them, against events applied one after another.

Agent 17 is renamed twice, and one rename comes late. Sale 1 moves from agent 17 to 18, is deleted, and is there again;
sale 2 has an event whose time is before that of the one it follows. Of ``prices``, a table at the source with a column
``valid_from`` of its own, an event lacks a value that did not travel, and one price is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.job_errors import TablesFailedError
from spark_jobs.pipelines.merge import engine
from spark_jobs.storage.layouts import TableLayout
from spark_jobs.storage.writer import Commit
from tests.support import oracle
from tests.support.crashes import CrashError, crash_at_commit
from tests.support.envelopes import MINUTE_MS, START_MS, Envelope, line, sqlserver
from tests.support.lakes import SpecLake, read_shipped_spec, write_spec
from tests.support.mirrors import UNAVAILABLE, change, line_of
from tests.support.oracle_versions import RowChange, Version, in_order, of_the_wide_log, versions_of

pytestmark = [pytest.mark.hudi, pytest.mark.slice(name="tables")]

TOPIC = "shop.shop.prices"
DAY = Interval(start=datetime(2026, 1, 1, tzinfo=UTC), end=datetime(2026, 1, 2, tzinfo=UTC))
FIRST = [
    line(sqlserver("c", {"SaleId": 1, "AgentId": 17, "AgentName": "Ann", "StatusId": 1}, 10)),
    line(sqlserver("u", {"SaleId": 1, "StatusId": 2}, 20)),
    line(sqlserver("u", {"SaleId": 1, "AgentId": 17, "AgentName": "Anna", "StatusId": 2}, 50)),
    line(sqlserver("d", {"SaleId": 1}, 60)),
    line(sqlserver("c", {"SaleId": 2, "AgentId": 18, "AgentName": "Bob", "StatusId": 1}, 61)),
]
LATER = [
    line(sqlserver("u", {"SaleId": 1, "AgentId": 17, "AgentName": "Anne"}, 30)),
    line(sqlserver("u", {"SaleId": 1, "AgentId": 18}, 40)),
    line(sqlserver("c", {"SaleId": 1, "StatusId": 3}, 70)),
    line(sqlserver("u", {"SaleId": 2, "StatusId": 2}, 71, ts_ms=START_MS + 5 * MINUTE_MS)),
    line(sqlserver("u", {"SaleId": 2, "StatusId": 3}, 72)),
]
FIRST_PRICES = [
    change("c", "prices", {"shop": 1, "item": 1, "amount": 5, "note": "new", "valid_from": 1}, 100),
    change("u", "prices", {"shop": 1, "item": 1, "amount": 7, "note": None, "valid_from": 1}, 300),
    change("c", "prices", {"shop": 1, "item": 2, "amount": 9, "note": None, "valid_from": 2}, 310),
]
LATER_PRICES = [
    change("u", "prices", {"shop": 1, "item": 1, "amount": 6, "note": UNAVAILABLE, "valid_from": 1}, 200),
    change("d", "prices", {"shop": 1, "item": 2}, 400),
]
COLUMNS = {
    "agents": ("agent_name",),
    "sales": ("unit_id", "status_id", "contract_subtotal", "contract_signing_date", "agent_id", "customer_id"),
    "prices": ("amount", "note", "valid_from"),
}


def make_lake(spark: SparkSession, folder: Path, *, with_agents: bool = False) -> SpecLake:
    """A lake of two tables of the wide log and one at the source; the history of agents is declared later."""
    document = read_shipped_spec(("agents", "sales"))
    del document["marts"], document["expectations"]
    document["source"]["topics"].append("shop.*")
    for table in document["tables"]:
        table["history"] = with_agents or table["name"] == "sales"
    origin = {"database": "shop", "table": "prices"}
    document["tables"].append({"name": "prices", "key": ["shop", "item"], "from": origin, "history": True})
    (folder / "landing").mkdir(exist_ok=True)
    return SpecLake(spark=spark, folder=folder, spec=write_spec(folder, document))


def deliver(lake: SpecLake, name: str, lines: Iterable[bytes], prices: Iterable[Envelope]) -> None:
    lake.land(f"{name}.jsonl", lines)
    lake.land(f"{name}.jsonl", map(line_of, prices), topic=TOPIC)
    lake.run("ingest")


def versions(lake: SpecLake, table: str) -> list[Version]:
    """What the view of the table's versions says, after `query` made it."""
    lake.run("query", sql="SELECT 1 AS one", rows=1)
    return in_order(lake.spark.table(f"{table}_versions").collect())


def expected(lines: Iterable[bytes], prices: Iterable[Envelope]) -> dict[str, list[Version]]:
    events, _ = oracle.read_lines(lines)
    by_table = {name: of_the_wide_log(events, name) for name in ("agents", "sales")}
    by_table["prices"] = [event_of_price(price) for price in prices]
    return {name: versions_of(by_table[name], COLUMNS[name]) for name in COLUMNS}


def event_of_price(price: Envelope) -> RowChange:
    is_delete = price["op"] == "d"
    image: dict[str, Any] = price["before" if is_delete else "after"]
    return RowChange(
        key=(image["shop"], image["item"]),
        order=price["source"]["lsn"],
        time=datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=price["source"]["ts_ms"]),
        is_delete=is_delete,
        values={name: image[name] for name in COLUMNS["prices"] if image.get(name) != UNAVAILABLE and not is_delete},
    )


def fail_commits_of(table: str, patch: pytest.MonkeyPatch) -> None:
    """Whatever is committed to a table fails, as when its folder is full."""
    real: Callable[..., Commit] = vars(engine)["commit"]

    def commit(rows_df: DataFrame, layout: TableLayout, **options: Any) -> Commit:
        if layout.name == table:
            raise OSError("no space left")
        return real(rows_df, layout, **options)

    patch.setattr(engine, "commit", commit)


def written(before: dict[str, list[str]], after: dict[str, list[str]]) -> set[str]:
    return {table for table in after if after[table] != before.get(table)}


def test_versions_are_right_after_late_events_failures_and_repetitions(spark, tmp_path: Path, monkeypatch):
    lake = make_lake(spark, tmp_path)
    deliver(lake, "first", FIRST, FIRST_PRICES)
    lake.run("split")
    first = expected(FIRST, FIRST_PRICES)
    for table in ("sales", "prices"):
        assert versions(lake, table) == first[table], table

    lake = make_lake(spark, tmp_path, with_agents=True)
    deliver(lake, "later", [*LATER, *FIRST[:2]], [*LATER_PRICES, FIRST_PRICES[0]])
    before = lake.instants()
    with monkeypatch.context() as patch:
        fail_commits_of("prices", patch)
        with pytest.raises(TablesFailedError, match="prices"):
            lake.run("split")
    failed = lake.instants()
    assert written(before, failed) == {"agents_history", "sales", "sales_history"}, "no further than its table"
    with monkeypatch.context() as patch:
        crash_at_commit("pipelines.merge.histories", 1, is_committed=False)(patch)
        with pytest.raises(CrashError):
            lake.run("split")
    died = lake.instants()
    assert written(failed, died) == {"prices"}
    lake.run("split")
    after = lake.instants()
    assert written(died, after) == {"prices_history"}
    every = expected([*FIRST, *LATER], [*FIRST_PRICES, *LATER_PRICES])
    for table in COLUMNS:
        assert versions(lake, table) == every[table], table

    lake.run("split", interval=DAY)
    assert lake.run("split").status == "nothing_to_do"
    assert lake.instants() == after, "what was read before is there already"
    assert [row["history__key"] for row in lake.rows("prices_history")] == [
        row["history__key"] for row in lake.rows_by_spark("prices_history")
    ]
    now = lake.spark.sql("SELECT sale_id, agent_id FROM sales_versions WHERE valid_to IS NULL").collect()
    assert {(row["sale_id"], row["agent_id"]) for row in now} == {
        (row["sale_id"], row["agent_id"]) for row in lake.rows("sales") if not row["is_deleted"]
    }
