"""The marts of a lake against the oracles, from the log and the tables as they are now, by the Rust reader."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support import oracle_slow
from tests.support.lakes import Lake, tables_by_rust_reader
from tests.support.mart_lakes import cells, logged_events
from tests.support.oracle import Tables
from tests.support.oracle_marts import daily_deals, hourly_events, stitch_agent_contracts
from tests.support.oracle_test_marts import GRAINS, all_test_marts

SLOW_GRAINS = {
    "slow_sale_paths": ("sale_id",),
    "slow_unit_difficulty": ("month", "unit_id"),
    "slow_agent_success": ("month", "agent_id"),
    "slow_customer_demand": ("month", "customer_id"),
    "slow_milestones": ("sale_id", "status_id"),
    "slow_agent_performance": ("month", "agent_id"),
}
RULES = PROJECT_ROOT / "include" / "rules"


def assert_fast_is_right(lake: Lake, clock: datetime, time_zone: str) -> None:
    """The marts of the fast layer that the lake has, at the latest clock they were brought to."""
    for mart in marts_of(lake, "fast"):
        assert_rows_are_counted(lake, mart)
        if mart == "fast_hourly_events":
            hourly = cells(lake, mart, "event_hour", "project_id", "status_id")
            assert {key: row["events"] for key, row in hourly.items()} == hourly_events(logged_events(lake), clock)
        else:
            daily = cells(lake, mart, "day", "project_id", "agent_id")
            found = {key: (row["deals"], row["contract_total"]) for key, row in daily.items()}
            assert found == daily_deals(tables(lake), clock, time_zone)


def assert_stitch_is_right(lake: Lake, clock: datetime, time_zone: str) -> None:
    """The year's contracts by agent, to the last digit."""
    rows = cells(lake, "stitch_agent_contracts", "agent_id")
    found = {agent: (row["contracts"], row["contract_total"]) for agent, row in rows.items()}
    assert found == stitch_agent_contracts(tables(lake), clock, time_zone)


def assert_slow_is_right(
    lake: Lake, time_zone: str, overrides: dict[str, str] | None = None, rules: Path = RULES
) -> None:
    """The tables of the slow layer that the lake has."""
    expected = slow_marts(lake, time_zone, overrides or {}, rules)
    for mart in marts_of(lake, "slow"):
        assert_rows_are_counted(lake, mart)
        assert cells(lake, mart, *SLOW_GRAINS[mart]) == expected[mart], mart


def assert_rows_are_counted(lake: Lake, mart: str) -> None:
    """What a refresh counted of its rows is what Hudi counted when it wrote them to copy-on-write files."""
    for file in Path(lake.path(mart), ".hoodie").glob("*.commit"):
        content = json.loads(file.read_bytes())
        if counted := content["extraMetadata"].get("lakehouse.row_counts"):
            stats = [stat for files in content["partitionToWriteStats"].values() for stat in files]
            names = {"added": "numInserts", "changed": "numUpdateWrites", "removed": "numDeletes"}
            found = {kind: sum(stat[name] for stat in stats) for kind, name in names.items()}
            assert json.loads(counted) == {**found, "upserted": 0}, f"{mart} at {file.name}"


def marts_of(lake: Lake, layer: str) -> list[str]:
    """Names of the marts of a layer in the lake's spec; fails when there is none, or a check would check nothing."""
    names = [mart.name for mart in load_lake_spec(lake.settings.lake_spec).marts if mart.layer == layer]
    assert names, f"the lake has no mart of layer {layer}"
    return names


def slow_marts(lake: Lake, time_zone: str, overrides: dict[str, str], rules: Path) -> dict[str, dict[Any, Any]]:
    """The slow layer as it must be."""
    paths = oracle_slow.slow_sale_paths(logged_events(lake), time_zone)
    reached = oracle_slow.milestones(paths, time_zone)
    return {
        "slow_sale_paths": paths,
        "slow_unit_difficulty": oracle_slow.unit_difficulty(paths, time_zone),
        "slow_agent_success": oracle_slow.agent_success(paths),
        "slow_customer_demand": oracle_slow.customer_demand(paths),
        "slow_milestones": reached,
        "slow_agent_performance": oracle_slow.agent_performance(reached, oracle_slow.read_rules(rules), overrides),
    }


def assert_test_marts_are_right(lake: Lake) -> None:
    """Marts of every mode, declared by the tests alone."""
    expected = all_test_marts(logged_events(lake), tables(lake))
    for mart, rows in expected.items():
        assert cells(lake, mart, *GRAINS[mart]) == rows, mart


def tables(lake: Lake) -> Tables:
    """The entity tables, by the Rust reader."""
    return tables_by_rust_reader(lake)
