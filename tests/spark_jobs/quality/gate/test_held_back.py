"""What a gate sets aside or stops on its way into the lake, what readers see meanwhile, and how it is let through.

The lake's spec is the shipped one with a few expectations more: a sale of project 13 may not be ingested, a batch with
a sale of agent 13 stops the tables, deals of more than a million stop the fast layer.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.job_errors import GateStoppedError
from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.quality.holds import Holds
from tests.support.contexts import CLOCK
from tests.support.envelopes import line, sqlserver
from tests.support.expecting_lakes import make_expecting_lake, quality_of
from tests.support.lakes import PIPELINE, SpecLake
from tests.support.quarantines import act, hash_of, kept

pytestmark = [pytest.mark.hudi, pytest.mark.timeout(900)]

INCLUDE = PROJECT_ROOT / "include"
MORE: dict[str, dict[str, Any]] = {
    "sales_log": {
        "not_project_13": {"column": "project_id", "one_of": [1, 2], "action": "quarantine"},
        "not_negative": {"column": "contract_subtotal", "between": [0, None], "action": "quarantine"},
        "not_status_13": {"holds": "status_id <> 13", "action": "quarantine"},
        "not_unit_13": {"holds": "unit_id <> 13", "action": "stop"},
    },
    "sales": {"not_agent_13": {"holds": "agent_id <> 13", "action": "stop"}},
    "agents": {"has_a_name": {"column": "agent_name", "not_null": True}},
    "fast_daily_deals": {"not_too_much": {"column": "contract_total", "between": [0, 1000000], "action": "stop"}},
}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> SpecLake:
    return make_expecting_lake(spark, tmp_path, MORE)


def sale(key: int, *, at: int = 0, **columns: Any) -> bytes:
    row = {"SaleId": key, "UnitId": 1, "ProjectId": 1, "StatusId": 2, "AgentId": 1, "AgentName": "Ann", **columns}
    return line(sqlserver("c", row, at or key))


def outcomes(lake: SpecLake, table: str) -> dict[str, str]:
    return {name: outcome for name, _, _, outcome, _, _ in quality_of(lake, table)["rules"] if outcome != "held"}


def run_publish(lake: SpecLake, action: str, **options: Any) -> Any:
    return lake.run("publish", clock=CLOCK, action=action, **options)


def test_events_that_break_a_rule_are_kept_with_their_bytes_and_the_rest_goes_on(lake: SpecLake):
    aside = [
        sale(1, ProjectId=13),
        sale(2, ProjectId=13, StatusId=13),
        sale(3, StatusId=13, ContractSubtotal="-1.0000"),
    ]
    good = [sale(4), sale(5, ProjectId=None), sale(6)]
    broken = [b"no record", b"no record", b""]
    lake.land("plain.jsonl", [aside[0], good[0], *broken, aside[1], good[0]])
    lake.land("packed.gz", [good[1], aside[2], good[2], aside[0], good[0]], is_gzip=True)
    result = lake.run("ingest")
    kept = {bytes(row["raw"]): (row["reason"], row["detail"]) for row in lake.rows("quarantine")}
    assert kept == {
        aside[0]: ("broken_rule", "not_project_13"),
        aside[1]: ("broken_rule", "not_project_13, not_status_13"),
        aside[2]: ("broken_rule", "not_negative, not_status_13"),
        broken[0]: ("not_json", kept[broken[0]][1]),
    }
    assert sorted(row["sale_id"] for row in lake.rows("sales_log")) == [4, 5, 6]
    # 12 lines: three events, three records set aside and one that is none; the others repeat these, one is blank.
    assert quality_of(lake, "sales_log")["rows"] == {"read": 12, "written": 3, "quarantined": 4, "duplicates": 5}
    assert outcomes(lake, "sales_log") == {
        "amount_is_possible": "warned",
        "not_negative": "quarantined",
        "not_project_13": "quarantined",
        "not_status_13": "quarantined",
    }
    assert result.counters["records_set_aside"] == 4
    assert "sales_log: quarantined: not_project_13 (project_id one of 1, 2): 3 of 9 rows broke it" in result.messages
    lake.land("again.jsonl", [*good, *aside, sale(7)])
    lake.run("ingest")
    assert quality_of(lake, "sales_log")["rows"] == {"read": 7, "written": 1, "quarantined": 0, "duplicates": 6}
    assert len(lake.rows("quarantine")) == 4


def test_a_batch_that_is_stopped_is_not_taken_in_until_a_person_lets_it_pass(
    lake: SpecLake, capsys: pytest.CaptureFixture[str]
):
    lake.land("good.jsonl", [sale(1)])
    lake.run("ingest")
    before = lake.instants()
    lake.land("bad.jsonl", [sale(2, UnitId=13), sale(3), b"no record"])
    for _ in range(2):
        with pytest.raises(GateStoppedError, match=r"not_unit_13 .* 1 of 2 rows broke it") as caught:
            lake.run("ingest", clock=CLOCK + timedelta(hours=1))
        assert "publish accept --table sales_log" in str(caught.value)
        assert lake.instants() == before
    (hold,) = Holds(lake.settings).held()
    assert (hold.table, hold.job, hold.expectations) == ("sales_log", "ingest", ("not_unit_13",))
    assert run_publish(lake, "list").counters == {"held": 1}
    assert "not_unit_13" in capsys.readouterr().out
    with pytest.raises(ContractError, match="sales is not held"):
        run_publish(lake, "accept", table="sales", because="so")
    run_publish(lake, "accept", table="sales_log", because="unit 13 is new", by="Ann")
    lake.run("ingest")
    assert sorted(row["sale_id"] for row in lake.rows("sales_log")) == [1, 2, 3]
    assert Holds(lake.settings).held() == []
    (rule,) = (rule for rule in quality_of(lake, "sales_log")["rules"] if rule[0] == "not_unit_13")
    assert rule[3] == "accepted"
    assert rule[5] == "Ann, 2026-01-02T12:30:00Z: unit 13 is new"
    lake.land("bad_again.jsonl", [sale(4, UnitId=13)])
    with pytest.raises(GateStoppedError):
        lake.run("ingest")


def test_a_batch_of_which_most_cannot_be_used_is_stopped_whole(lake: SpecLake):
    text = lake.spec.read_text(encoding="utf-8")
    lake.spec.write_text(text.replace("from_records: 1000", "from_records: 11"), encoding="utf-8")
    lake.land("bad.jsonl", [b"no record %d" % n for n in range(6)] + [sale(n) for n in range(1, 6)])
    with pytest.raises(GateStoppedError, match=r"records_can_be_used .*: 6 of 11 rows broke it"):
        lake.run("ingest")
    assert lake.instants() == {}
    lake.land("more.jsonl", [sale(n) for n in range(6, 9)])
    lake.run("ingest")
    assert quality_of(lake, "sales_log")["rows"] == {"read": 14, "written": 8, "quarantined": 6, "duplicates": 0}


@pytest.mark.slice(name="tables")
def test_tables_and_marts_stay_as_they_are_until_the_source_is_right(lake: SpecLake):
    lake.land("good.jsonl", [sale(1, AgentName=None)])
    for job, options in PIPELINE:
        result = lake.run(job, **options)
        if job == "split":
            assert result.messages == ("agents: warned: has_a_name (agent_name not null): 1 of 1 rows broke it",)
            assert outcomes(lake, "agents") == {"has_a_name": "warned"}
    tables = {name: at for name, at in lake.instants().items() if name not in ("sales_log", "quarantine")}
    lake.land("bad.jsonl", [sale(2, AgentId=13), sale(3, UnitId=9, UnitName="nine")])
    lake.run("ingest")
    with pytest.raises(GateStoppedError, match=r"sales: not_agent_13 \(agent_id <> 13\): 1 of 2 rows broke it"):
        lake.run("split")
    assert {name: at for name, at in lake.instants().items() if name in tables} == tables, "no table moved"
    lake.land("better.jsonl", [sale(2, at=50, AgentId=12)])
    lake.run("ingest")
    lake.run("split")
    assert Holds(lake.settings).held() == []
    assert {row["sale_id"]: row["agent_id"] for row in lake.rows("sales")} == {1: 1, 2: 12, 3: 1}

    signed = int(CLOCK.timestamp() * 1000)
    lake.land("dear.jsonl", [sale(4, at=60, ContractSubtotal="2000000.0000", ContractSigningDate=signed)])
    lake.run("ingest")
    lake.run("split")
    with pytest.raises(GateStoppedError, match="fast_daily_deals: not_too_much") as caught:
        lake.run("mart", layer="fast")
    assert lake.rows("fast_daily_deals") == []
    assert caught.value.result is not None
    assert [done.table for done in caught.value.result.tables] == ["fast_hourly_events"], "the other was refreshed"
    run_publish(lake, "accept", table="fast_daily_deals", because="a palace", by="Ann")
    lake.run("mart", layer="fast")
    (row,) = lake.rows("fast_daily_deals")
    assert row["contract_total"] == Decimal(2_000_000)
    assert outcomes(lake, "fast_daily_deals") == {"not_too_much": "accepted"}
    assert lake.run("mart", layer="fast").status == "nothing_to_do"


@pytest.mark.slice(name="tables")
def test_what_was_set_aside_is_replayed_when_its_rule_is_gone(lake: SpecLake):
    """Sales 1 and 2 break a rule, 3 another one too, 4 is broken; then it goes, and one comes that stops 2."""
    aside = {key: sale(key, ProjectId=13) for key in (1, 2)}
    aside[3] = sale(3, ProjectId=13, StatusId=13)
    lake.land("a.jsonl", [*aside.values(), b"no record", sale(5)])
    lake.run("ingest")
    assert act(lake, "replay", rule="not_project_13").counters["records_unusable"] == 3, "the same gate"
    file = lake.folder / "expectations" / "sales_log.yaml"
    rules = yaml.safe_load(file.read_text(encoding="utf-8"))
    del rules["not_project_13"]
    rules["not_sale_2"] = {"holds": "sale_id <> 2", "action": "stop"}
    file.write_text(yaml.safe_dump(rules), encoding="utf-8")
    assert act(lake, "replay", record=hash_of(aside[1])).counters["events_new"] == 1
    before = lake.instants()
    with pytest.raises(GateStoppedError, match="not_sale_2"):
        act(lake, "replay", rule="not_project_13")
    assert lake.instants() == before, "a stop leaves everything as it is"
    run_publish(lake, "accept", table="sales_log", because="so it is", by="Ann")
    counters = act(lake, "replay", rule="not_project_13").counters
    assert {name: counters[name] for name in ("records", "events_new", "records_unusable")} == {
        "records": 2,
        "events_new": 1,
        "records_unusable": 1,
    }
    assert outcomes(lake, "sales_log")["not_sale_2"] == "accepted"
    assert Holds(lake.settings).accepted("sales_log") is None, "it counted for one commit"
    found = {raw: (row["state"], row["detail"]) for raw, row in kept(lake).items()}
    assert [found[aside[key]] for key in (1, 2)] == [("replayed", "not_project_13")] * 2
    assert found[aside[3]] == (None, "not_status_13")
    assert kept(lake)[aside[3]]["history"][-1]["outcome"] == "cannot be used: broken_rule: not_status_13"
    assert kept(lake)[b"no record"]["history"] == []
    assert sorted(row["sale_id"] for row in lake.rows("sales_log")) == [1, 2, 5]
    lake.land("again.jsonl", [aside[1], aside[3]])
    lake.run("ingest")
    assert quality_of(lake, "sales_log")["rows"] == {"read": 2, "written": 0, "quarantined": 0, "duplicates": 2}
