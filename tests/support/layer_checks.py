"""Marts of all three layers beside their oracles: from the landing files to what each table must hold."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from local_stack.demos.layer_changes import read_marts
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from tests.support import oracle, oracle_slow
from tests.support.lakes import in_utc
from tests.support.oracle_marts import daily_deals, hourly_events, stitch_agent_contracts

Rows = dict[tuple[Any, ...], dict[str, Any]]


def differing_marts(
    spec: LakeSpec, settings: Settings, clocks: Mapping[str, datetime], overrides: Mapping[str, str] | None = None
) -> dict[str, list[Any]]:
    """Rows that a mart has and should not have, or the other way round, by mart; empty when all is right.

    ``clocks`` says as of when each mart is true, ``overrides`` which months were computed under another rule version.
    """
    found, expected = stored_rows(spec, settings), expected_rows(spec, settings, clocks, overrides)
    assert found.keys() == expected.keys()
    different = {}
    for mart, rows in expected.items():
        keys = sorted(rows.keys() | found[mart].keys(), key=repr)
        if pairs := [(found[mart].get(key), rows.get(key)) for key in keys if found[mart].get(key) != rows.get(key)]:
            different[mart] = pairs
    return different


def stored_rows(spec: LakeSpec, settings: Settings) -> dict[str, Rows]:
    """What the marts hold, by grain."""
    marts = read_marts(spec, settings)
    return {
        name: {
            tuple(in_utc(row[column]) for column in spec.mart(name).grain): {k: in_utc(v) for k, v in row.items()}
            for row in rows.values()
        }
        for name, rows in marts.items()
    }


def expected_rows(
    spec: LakeSpec, settings: Settings, clocks: Mapping[str, datetime], overrides: Mapping[str, str] | None = None
) -> dict[str, Rows]:
    """What they must hold, by grain, from every line of the landing zone."""
    files = sorted(Path(settings.landing_path).glob("[!_]*/*.jsonl"))
    events, _ = oracle.read_lines(line for file in files for line in file.read_bytes().splitlines())
    tables, zone = oracle.fold(events), spec.time_zone
    paths = oracle_slow.slow_sale_paths(events, zone)
    reached = oracle_slow.milestones(paths, zone)
    rules = oracle_slow.read_rules(Path(settings.rules_path))
    hourly = hourly_events(events, clocks["fast_hourly_events"])
    daily = daily_deals(tables, clocks["fast_daily_deals"], zone)
    agents = stitch_agent_contracts(tables, clocks["stitch_agent_contracts"], zone)
    rows: dict[str, dict[Any, Any]] = {
        "fast_hourly_events": {key: {"events": count} for key, count in hourly.items()},
        "fast_daily_deals": {key: {"deals": n, "contract_total": total} for key, (n, total) in daily.items()},
        "stitch_agent_contracts": {
            (agent,): {"contracts": n, "contract_total": total} for agent, (n, total) in agents.items()
        },
        "slow_sale_paths": {(sale_id,): row for sale_id, row in paths.items()},
        "slow_unit_difficulty": oracle_slow.unit_difficulty(paths, zone),
        "slow_agent_success": oracle_slow.agent_success(paths),
        "slow_customer_demand": oracle_slow.customer_demand(paths),
        "slow_milestones": reached,
        "slow_agent_performance": oracle_slow.agent_performance(reached, rules, overrides),
    }
    return {
        mart: {key: {**dict(zip(spec.mart(mart).grain, key, strict=True)), **row} for key, row in cells.items()}
        for mart, cells in rows.items()
    }
