"""Marts whose files change: blocked, planned, previewed, applied, undone.

Sales of agents 5, 6 and 7: sale n of the history below has its amount and status. ``agent_sums`` adds up the sales of
an agent, ``agent_bands`` reads it, ``big_events`` takes events of the log as they come. What each must hold by either
definition is computed here, in plain Python, from the same history.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import ContractError, StalePlanError
from spark_jobs.contracts.job_errors import DefinitionChangedError, TablesFailedError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.storage.savepoints import SavepointRecords
from tests.support.crashes import crash_at_commit, run_and_crash
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import SpecLake, copy_lake
from tests.support.mart_lakes import cells, read_bare_spec

pytestmark = pytest.mark.hudi

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
PLAN = "plan-20260310T120000"
"""Of a plan that was made at noon."""
HISTORY = [(1, 5, "10.0000", 8), (2, 5, "20.5000", 6), (3, 6, "30.0000", 8), (4, 6, "4.0000", 8), (5, 7, "5.0000", 6)]
"""Sale, agent, amount, status."""
LATER = (6, 5, "100.0000", 8)
Sale = tuple[int, int, str, int]
Cells = dict[Any, dict[str, Any]]

DECLARED: dict[str, dict[str, Any]] = {
    "agent_sums": {"mode": "aggregate", "grain": ["agent_id"], "reads": [{"table": "sales"}]},
    "agent_bands": {"mode": "full", "grain": ["agent_id"], "reads": [{"table": "agent_sums"}]},
    "big_events": {"mode": "append", "grain": ["event_id"], "reads": [{"table": "sales_log"}]},
}
SQL = {
    "agent_sums": "SELECT agent_id, COUNT(*) AS sales, SUM(contract_subtotal) AS total FROM sales GROUP BY agent_id",
    "agent_bands": "SELECT agent_id, CASE WHEN sales > 1 THEN 'many' ELSE 'one' END AS band FROM agent_sums",
    "big_events": "SELECT event_id, sale_id, contract_subtotal FROM sales_log WHERE contract_subtotal > 5",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """The lake and what came to it."""

    lake: SpecLake
    history: list[Sale] = field(default_factory=lambda: list(HISTORY))

    def sell(self, *sales: Sale) -> None:
        rows = [
            line(sqlserver("c", {"SaleId": n, "AgentId": agent, "ContractSubtotal": amount, "StatusId": status}, n))
            for n, agent, amount, status in sales
        ]
        self.lake.land(f"{sales[0][0]}.jsonl", rows)
        self.lake.run("ingest")
        self.lake.run("split")

    def sell_later(self) -> None:
        self.history.append(LATER)
        self.sell(LATER)

    def refresh(self) -> JobResult:
        return self.lake.run("mart", clock=NOON, layer="test")

    def change(self, mart: str, sql: str, **declared: Any) -> None:
        """Rewrite the mart's files; its rows stay."""
        write_mart(self.lake.folder, mart, sql, {**DECLARED[mart], **declared})

    @property
    def plan_file(self) -> str:
        return str(self.lake.folder / "plan.yaml")

    def run(self, job: str, **options: Any) -> JobResult:
        options = {"output": self.plan_file} if job == "plan" else {"plan": self.plan_file, **options}
        return self.lake.run(job, clock=NOON, **options)

    def sums(self, is_counted: Callable[[Sale], bool] = lambda _: True) -> Cells:
        """What ``agent_sums`` must hold of the sales that count."""
        found: Cells = {}
        for sale in filter(is_counted, self.history):
            row = found.setdefault(sale[1], {"agent_id": sale[1], "sales": 0, "total": Decimal(0)})
            row["sales"], row["total"] = row["sales"] + 1, row["total"] + Decimal(sale[2])
        return found

    def stored(self, mart: str = "agent_sums", grain: str = "agent_id") -> Cells:
        assert self.lake.rows(mart) == self.lake.rows_by_spark(mart), "both readers see the same"
        return cells(self.lake, mart, grain)


def write_mart(folder: Path, name: str, sql: str, declared: dict[str, Any]) -> None:
    text = yaml.safe_dump({"name": name, "layer": "test", **declared})
    (folder / "marts" / f"{name}.yaml").write_text(text, encoding="utf-8")
    (folder / "marts" / f"{name}.sql").write_text(sql, encoding="utf-8")


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SpecLake:
    """The lake with the history and its marts; no test writes to it."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "marts").mkdir()
    for name, sql in SQL.items():
        write_mart(folder, name, sql, DECLARED[name])
    path = folder / "lake.yaml"
    path.write_text(yaml.safe_dump({**read_bare_spec(["sales"]), "marts": "marts"}), encoding="utf-8")
    shop = Shop(lake=SpecLake(spark=spark, folder=folder, spec=path))
    shop.sell(*HISTORY)
    shop.refresh()
    return shop.lake


@pytest.fixture
def shop(made: SpecLake, tmp_path: Path) -> Shop:
    """A copy of it."""
    return Shop(lake=copy_lake(made, tmp_path))


SIGNED = (
    "SELECT agent_id, COUNT(*) AS sales, SUM(contract_subtotal) AS total FROM sales WHERE status_id = 8 "
    "GROUP BY agent_id"
)


def is_signed(sale: Sale) -> bool:
    return sale[3] == 8


def test_a_changed_mart_is_blocked_previewed_applied_and_taken_back(shop: Shop, capsys) -> None:
    assert shop.run("plan").status == NOTHING_TO_DO
    assert shop.stored() == shop.sums()
    before = shop.stored()
    shop.change("agent_sums", SIGNED)
    shop.sell_later()
    with pytest.raises(DefinitionChangedError, match="agent_sums: sql changed") as blocked:
        shop.refresh()
    assert blocked.value.result is not None
    assert {each.table: each.is_committed for each in blocked.value.result.tables} == {
        "agent_bands": False,
        "big_events": True,
    }
    assert shop.stored() == before

    planned = shop.run("plan")
    assert planned.counters == {"changes": 1, "to_apply": 1, "to_recompute": 1, "to_rebuild": 0, "impossible": 0}
    assert "agent_bands" in capsys.readouterr().out
    kept = shop.lake.run("plan", clock=NOON, marts="agent_bands,big_events", keep=True)
    assert (kept.counters, kept.findings) == (planned.counters, planned.findings)
    assert "agent_sums: was not chosen; a chosen mart reads it, so it is computed first" in kept.messages
    assert shop.lake.run("plan", clock=NOON, marts="big_events", output=shop.plan_file).status == NOTHING_TO_DO
    states = shop.lake.instants()
    found = shop.run("preview", samples=2).findings["agent_sums"]
    assert (found["rows_now"], found["rows_then"]) == (3, 2)
    assert (found["new"], found["changed"], found["gone"]) == (0, 1, 1), "7 has no signed sale, 5 one fewer"
    columns = {column["name"]: column for column in found["columns"]}
    assert (columns["sales"]["sum_now"], columns["sales"]["sum_then"], columns["sales"]["changed"]) == (5, 3, 1)
    assert [Decimal(columns["total"][name]) for name in ("sum_now", "sum_then")] == [Decimal("69.5"), Decimal("44")]
    assert Decimal(columns["total"]["percent"]) == 50
    assert found["samples"] == {"new": (), "changed": ("5",), "gone": ("7",)}
    assert "'5'" not in repr(shop.run("preview", plan=PLAN, samples=0).findings), "no key where none is wanted"
    assert shop.lake.instants() == states, "a preview writes nothing"

    crash = crash_at_commit("marts.refresh", 1, is_committed=False)
    assert run_and_crash(shop.lake, "apply", crash, clock=NOON, plan=shop.plan_file)
    assert shop.stored() == before
    assert [record.made_by for record in SavepointRecords(shop.lake.settings).all()] == ["apply"]
    applied = shop.run("apply", plan=PLAN)
    assert (applied.status, applied.messages[-1]) == (DONE, f"to undo: undo --plan {PLAN} --yes")
    assert shop.stored() == shop.sums(is_signed)
    assert shop.run("apply").status == NOTHING_TO_DO, "done already"
    shop.refresh()
    assert set(shop.stored("agent_bands")) == {5, 6}, "the mart that reads it follows"

    states = shop.lake.instants()
    shown = shop.run("undo", plan=PLAN)
    assert (shown.status, shown.counters) == (NOTHING_TO_DO, {"tables_planned": 1, "rows_written": 0})
    assert re.search(r"agent_sums: restored to its rows of \S+ \S+ UTC, commits since: 1$", shown.messages[1])
    assert shop.lake.instants() == states
    shop.run("undo", yes=True)
    assert shop.stored() == before
    with pytest.raises(ContractError, match="no savepoint made by apply is called"):
        shop.run("undo")
    with pytest.raises(DefinitionChangedError):
        shop.refresh()
    with pytest.raises(StalePlanError, match="agent_sums was written since it was made"):
        shop.run("apply")
    shop.change("agent_sums", SQL["agent_sums"])
    shop.refresh()
    assert shop.stored() == shop.sums()
    assert shop.run("plan").status == NOTHING_TO_DO


@pytest.mark.slice(name="jobs")
def test_columns_that_go_and_change_their_type_and_the_way_back(shop: Shop) -> None:
    before = {name: shop.lake.rows(name) for name in ("agent_sums", "big_events")}
    shop.change(
        "agent_sums",
        "SELECT agent_id, status_id, MAX(contract_subtotal) AS largest, CAST(COUNT(*) AS DECIMAL(20, 0)) AS sales "
        "FROM sales GROUP BY agent_id, status_id",
        grain=["agent_id", "status_id"],
        mode="full",
    )
    shop.change("big_events", "SELECT event_id, sale_id FROM sales_log WHERE contract_subtotal > 15")
    shop.change("agent_bands", "SELECT agent_id, CAST(SUM(sales) AS BIGINT) AS sales FROM agent_sums GROUP BY agent_id")
    assert shop.run("plan").counters["to_recompute"] == 3
    found = shop.run("preview", mart="big_events", samples=10).findings["big_events"]
    assert (found["rows_now"], found["rows_then"], found["gone"]) == (3, 2, 1)
    shop.run("apply")
    shop.refresh()
    largest = {
        (row["agent_id"], row["status_id"]): (row["largest"], row["sales"]) for row in shop.lake.rows("agent_sums")
    }
    assert largest == {
        (5, 8): (Decimal(10), 1),
        (5, 6): (Decimal("20.5"), 1),
        (6, 8): (Decimal(30), 2),
        (7, 6): (Decimal(5), 1),
    }
    assert {row["sale_id"] for row in shop.lake.rows("big_events")} == {2, 3}
    assert not {"total", "contract_subtotal"} & {name for row in shop.lake.rows("agent_sums") for name in row}
    assert {agent: row["sales"] for agent, row in shop.stored("agent_bands").items()} == {5: 2, 6: 2, 7: 1}
    shop.sell_later()
    shop.refresh()
    assert shop.stored("agent_bands")[5]["sales"] == 3

    shop.run("undo", yes=True)
    assert {name: shop.lake.rows(name) for name in before} == before
    for name, sql in SQL.items():
        shop.change(name, sql)
    shop.refresh()
    assert shop.stored() == shop.sums()
    assert {row["sale_id"] for row in shop.lake.rows("big_events")} == {1, 2, 3, 6}


def test_a_plan_of_other_files_is_refused(shop: Shop) -> None:
    shop.change("agent_sums", SIGNED)
    shop.run("plan")
    shop.change("agent_sums", SIGNED.replace("8", "6"))
    states = shop.lake.instants()
    for job in ("preview", "apply"):
        with pytest.raises(StalePlanError, match="the files are not those that it was made from"):
            shop.run(job)
    assert shop.lake.instants() == states
    with pytest.raises(DefinitionChangedError):
        shop.lake.run("recompute", clock=NOON, layer="test", from_date="2026-01-01", to_date="2026-01-31", yes=True)


@pytest.mark.slice(name="jobs")
def test_a_table_of_which_the_files_say_something_else_is_not_written(shop: Shop) -> None:
    document = yaml.safe_load(shop.lake.spec.read_text(encoding="utf-8"))
    (table,) = document["tables"]
    states, before = shop.lake.instants()["sales"], shop.lake.rows("sales")
    shop.lake.spec.write_text(
        yaml.safe_dump({**document, "tables": [{**table, "deletes": "remove"}]}), encoding="utf-8"
    )
    with pytest.raises(TablesFailedError, match="sales: deletes changed"):
        shop.sell_later()
    assert (shop.lake.instants()["sales"], shop.lake.rows("sales")) == (states, before)
    assert shop.run("plan").counters == {
        "changes": 1,
        "to_apply": 1,
        "to_recompute": 0,
        "to_rebuild": 1,
        "impossible": 0,
    }
    shop.lake.spec.write_text(yaml.safe_dump(document), encoding="utf-8")
    shop.lake.run("split")
    assert len(shop.lake.rows("sales")) == len(before) + 1
    assert shop.run("plan").status == NOTHING_TO_DO
