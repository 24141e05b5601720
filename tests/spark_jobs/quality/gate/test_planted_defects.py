"""One defect of each kind, planted among right events: each is found by its rule with its rows, and nothing else is.

Rules of the log set events aside, so their defects never reach the tables; those of tables and marts warn, and their
defects are of events that the log takes in. What is expected is listed here, event by event.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.envelopes import MINUTE_MS, START_MS, line, sqlserver
from tests.support.expecting_lakes import broken_rules, make_expecting_lake
from tests.support.lakes import PIPELINE, SpecLake

pytestmark = [pytest.mark.hudi, pytest.mark.timeout(900)]

CLOCK = datetime(2026, 1, 1, 23, 30, tzinfo=UTC)
SIGNED = {"StatusId": 8, "ContractSubtotal": "900.0000", "ContractSigningDate": START_MS + MINUTE_MS}
ASIDE = "quarantine"
LOG_RULES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "sale_in_range": ({"column": "sale_id", "between": [1, 900]}, {"SaleId": 901}),
    "agent_in_range": ({"column": "agent_id", "between": [1, 900]}, {"AgentId": 0}),
    "unit_in_range": ({"column": "unit_id", "between": [1, None]}, {"UnitId": -1}),
    "building_in_range": ({"column": "building_id", "between": [None, 900]}, {"BuildingId": 4_000_000_000}),
    "project_is_ours": ({"column": "project_id", "one_of": [1, 2, 700]}, {"ProjectId": 3}),
    "status_is_known": ({"column": "status_id", "not_null": True}, {"StatusId": None}),
    "status_is_of_the_funnel": ({"column": "status_id", "one_of": [1, 2, 8, 700]}, {"StatusId": 13}),
    "customer_in_range": ({"column": "customer_id", "between": [1, 900]}, {"CustomerId": 12345}),
    "agent_is_named": ({"column": "agent_name", "matches": "^[A-Z]"}, {"AgentName": "ann"}),
    "unit_is_named": ({"column": "unit_name", "matches": "^[A-Z]+ [0-9]+$"}, {"UnitName": "A1"}),
    "building_is_named": ({"holds": "building_name <> 'unknown'"}, {"BuildingName": "unknown"}),
    "project_has_no_blanks": ({"holds": "TRIM(project_name) = project_name"}, {"ProjectName": "North "}),
    "status_name_is_short": ({"holds": "LENGTH(status_name) <= 20"}, {"StatusName": "S" * 21}),
    "customer_is_a_name": ({"holds": "customer_name NOT LIKE '%@%'"}, {"CustomerName": "Li@example.com"}),
    "amount_is_not_negative": ({"column": "contract_subtotal", "between": [0, None]}, {"ContractSubtotal": "-0.0001"}),
    "amount_is_possible": (
        {"column": "contract_subtotal", "between": [None, "99999.9999"]},
        {"ContractSubtotal": "100000.0000"},
    ),
    "signed_in_this_century": (
        {"column": "contract_signing_date", "between": ["2000-01-01", None]},
        {"ContractSigningDate": 946_684_799_999},
    ),
    "signed_has_an_amount": (
        {"column": "contract_subtotal", "not_null": True, "where": "status_id = 8"},
        {**SIGNED, "ContractSubtotal": None},
    ),
    "signed_has_a_day": (
        {"holds": "status_id <> 8 OR contract_signing_date IS NOT NULL"},
        {**SIGNED, "ContractSigningDate": None},
    ),
    "sold_by_agent_or_customer": ({"holds": "agent_id IS NOT NULL OR customer_id IS NOT NULL"}, {"AgentId": None}),
}
"""Of each rule what it says, and what an event has that breaks it and no other."""
NAMED = {"unit": "UnitName", "building": "BuildingName", "project": "ProjectName", "agent": "AgentName"}
NAMED |= {"status": "StatusName", "customer": "CustomerName"}
TABLES = {"unit": "units", "building": "buildings", "project": "projects", "agent": "agents"}
TABLES |= {"status": "statuses", "customer": "customers"}
TABLE_RULES: dict[str, dict[str, dict[str, Any]]] = {
    **{
        table: {
            "key_is_small": {"column": f"{thing}_id", "between": [1, 500]},
            "name_is_no_test": {"holds": f"{thing}_name <> 'TEST 1'"},
        }
        for thing, table in TABLES.items()
    },
    "sales": {
        "is_of_a_unit": {"column": "unit_id", "not_null": True},
        "is_not_huge": {"column": "contract_subtotal", "between": [None, 50000]},
        "has_one_of_the_first_agents": {"column": "agent_id", "one_of": [1, 2, 700, 701]},
        "signed_is_of_a_customer": {"holds": "customer_id IS NOT NULL", "where": "status_id = 8"},
        "are_few": {"rows": [1, 3]},
        "are_small_on_average": {"column": "contract_subtotal", "mean": [0, 100]},
    },
    "fast_daily_deals": {
        "no_agent_sells_all": {"column": "deals", "between": [0, 1]},
        "no_day_is_all": {"column": "contract_total", "between": [0, 60000]},
    },
    "fast_hourly_events": {
        "no_hour_is_all": {"column": "events", "between": [0, 20]},
        "project_is_known": {"column": "project_id", "not_null": True},
    },
}


def event(key: int, **columns: Any) -> bytes:
    right = {"SaleId": key, "AgentId": 1, "UnitId": 1, "BuildingId": 1, "ProjectId": 1, "StatusId": 2, **columns}
    return line(sqlserver("c", right, key))


def make(spark: SparkSession, folder: Path) -> SpecLake:
    log = {name: {**rule, "action": ASIDE} for name, (rule, _) in LOG_RULES.items()}
    return make_expecting_lake(spark, folder, {"sales_log": log, **TABLE_RULES}, keeps_shipped=False, tables=())


def test_each_defect_is_found_by_its_rule_with_its_rows(spark: SparkSession, tmp_path: Path):
    lake = make(spark, tmp_path)
    planted = {name: event(100 + number, **defect) for number, (name, (_, defect)) in enumerate(LOG_RULES.items())}
    names = {
        thing: event(10 + number, **{f"{thing.title()}Id": 1, NAMED[thing]: "TEST 1"})
        for number, thing in enumerate(NAMED)
    }
    keys = {
        thing: event(20 + number, **{f"{thing.title()}Id": 700, NAMED[thing]: "A 1"})
        for number, thing in enumerate(NAMED)
    }
    sales = [
        event(40, UnitId=None),
        event(41, **{**SIGNED, "ContractSubtotal": "60001.0000"}, CustomerId=1),
        event(42, AgentId=3),
        event(43, **SIGNED, AgentId=2),
        event(44, **SIGNED, AgentId=2, CustomerId=1),
        event(45, ProjectId=None),
    ]
    right = [event(number) for number in range(50, 71)]
    lake.land("all.jsonl", [*planted.values(), *names.values(), *keys.values(), *sales, *right])
    for job, options in PIPELINE:
        lake.run(job, clock=CLOCK, **options)
    found = {row["detail"]: bytes(row["raw"]) for row in lake.rows("quarantine")}
    assert found == planted
    assert broken_rules(lake, "sales_log") == dict.fromkeys(planted, 1)
    for thing, table in TABLES.items():
        assert broken_rules(lake, table) == {"key_is_small": 1, "name_is_no_test": 1}, table
        rows = {row[f"{thing}_id"]: row[f"{thing}_name"] for row in lake.rows(table)}
        assert {key for key, name in rows.items() if key > 500 or name == "TEST 1"} == {1, 700}
    assert broken_rules(lake, "sales") == {
        "is_of_a_unit": 1,
        "is_not_huge": 1,
        "has_one_of_the_first_agents": 1,
        "signed_is_of_a_customer": 1,
        "are_few": 0,
        "are_small_on_average": 0,
    }
    assert broken_rules(lake, "fast_daily_deals") == {"no_agent_sells_all": 1, "no_day_is_all": 1}
    assert broken_rules(lake, "fast_hourly_events") == {"no_hour_is_all": 1, "project_is_known": 1}


@pytest.mark.slice(name="tables")
def test_without_defects_nothing_is_found(spark: SparkSession, tmp_path: Path):
    lake = make(spark, tmp_path)
    lake.land("all.jsonl", [event(1), event(2, **SIGNED, CustomerId=1, CustomerName="Li"), event(3, AgentName="Ann")])
    messages = [message for job, options in PIPELINE for message in lake.run(job, clock=CLOCK, **options).messages]
    warned = "sales: warned: are_small_on_average (contract_subtotal mean between 0 and 100): 900.0000000000"
    assert [message for message in messages if "full refresh because" not in message] == [warned]
    assert lake.rows("quarantine") == []
