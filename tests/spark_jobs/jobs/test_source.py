"""Two companies' databases under one pattern, and a server whose positions begin again.

Sale 1 of ERP_A is agent 10's; ERP_B has a sale 1 of its own. ERP_A is restored after position 105: its changes come at
positions 5 to 9 with later times.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.epochs import PositionsFellError
from tests.support.envelopes import MINUTE_MS, SQLSERVER_TOPIC, START_MS, line, sqlserver
from tests.support.lakes import NARROW, SpecLake, read_shipped_spec, write_spec
from tests.support.quarantines import act

pytestmark = pytest.mark.hudi

STREAM = "sqlserver/erp/ERP_A"


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictLake(SpecLake):
    """A lake of the shipped spec as it is: one origin, and positions that rise with times."""

    @property
    def settings(self) -> Settings:
        return replace(super(StrictLake, self).settings, source_skew_seconds=10)


@pytest.fixture
def strict(spark, tmp_path) -> StrictLake:
    document = read_shipped_spec(NARROW)
    del document["source"]["origins"]
    (tmp_path / "landing").mkdir()
    return StrictLake(spark=spark, folder=tmp_path, spec=write_spec(tmp_path, document))


def change(position: int, agent: int, *, minute: int | None = None, database: str = "ERP_A", op: str = "u") -> bytes:
    """Sale 1 gets an agent."""
    row = {"SaleId": 1, "AgentId": agent, "AgentName": f"agent {agent}"}
    record = sqlserver(op, row, position, ts_ms=START_MS + (position if minute is None else minute) * MINUTE_MS)
    return line({**record, "source": {**record["source"], "db": database}})


def agent_of(lake: StrictLake) -> Any:
    (sale,) = lake.rows("sales")
    return sale["agent_id"]


def test_another_database_goes_to_the_quarantine_with_its_name(strict):
    strict.land("a.jsonl", [change(100, 10)])
    strict.run("ingest")
    strict.land("b.jsonl", [change(100, 10, database="ERP_B"), change(101, 20, database="ERP_B"), change(102, 30)])
    result = strict.run("ingest")
    assert [line for line in result.alerts if "ERP_B" in line and "ERP_A" in line] == list(result.alerts) != []
    assert [row["reason"] for row in strict.rows("quarantine")] == ["other_origin"] * 2
    strict.run("split")
    assert agent_of(strict) == 30
    assert {row["event_id"].rpartition("@")[2] for row in strict.rows("sales_log")} == {"sqlserver/ERP_A"}
    strict.land("c.jsonl", [change(110, 40, database="ERP_B")])
    assert strict.run("ingest").alerts == (), "it was reported before"


def test_positions_that_begin_again_stop_the_run_and_win_after_a_persons_word(strict):
    strict.land("a.jsonl", [change(position, position) for position in range(100, 106)])
    strict.run("ingest")
    strict.run("split")
    before = strict.instants()
    strict.land("b.jsonl", [change(position, position, minute=200 + position) for position in range(5, 10)])
    with pytest.raises(PositionsFellError, match="source new-epoch --stream"):
        strict.run("ingest")
    assert strict.instants() == before

    options = {"action": "new-epoch", "stream": STREAM, "since": "2026-01-01T03:25:00Z", "because": "restored"}
    assert strict.run("source", **options).status == "nothing_to_do"
    assert strict.instants() == before, "a plan changes nothing"
    assert strict.run("source", **options, yes=True).status == "done"
    strict.run("ingest")
    strict.run("split")
    assert agent_of(strict) == 9

    # What is delivered again, and what comes late from before the restore, is of the epoch of its time.
    strict.land("again.jsonl", [change(9, 9, minute=209), change(104, 104), change(99, 99)])
    assert strict.run("ingest").counters["events_new"] == 1
    read = strict.run("ingest", again=SQLSERVER_TOPIC, yes=True)
    assert (read.status, read.counters["events_new"]) == ("nothing_to_do", 0)
    strict.run("split")
    assert agent_of(strict) == 9
    with pytest.raises(ContractError, match="give a later time"):
        strict.run("source", **options, yes=True)


def test_a_few_that_fell_wait_in_the_quarantine_for_a_decision(strict):
    strict.land("a.jsonl", [change(100, 10)])
    strict.run("ingest")
    strict.land("b.jsonl", [change(5, 20, minute=200)])
    (alert,) = strict.run("ingest").alerts
    assert "source same-epoch --stream" in alert
    assert [row["reason"] for row in strict.rows("quarantine")] == ["position_fell"]
    strict.run("source", action="same-epoch", stream=STREAM, until="2026-01-01T03:20:00Z", yes=True)
    act(strict, "replay", reason="position_fell")
    strict.run("split")
    assert len(strict.rows("sales_log")) == 2
    assert agent_of(strict) == 10
