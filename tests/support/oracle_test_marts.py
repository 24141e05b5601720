"""The oracle of the marts that the tests alone declare (tests/data/marts), in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from tests.support.oracle import Event, Row, Tables

Rows = dict[Any, dict[str, Any]]
GRAINS = {
    "test_signed_events": ("event_id",),
    "test_agent_totals": ("agent_id",),
    "test_status_events": ("status_id",),
    "test_unit_agents": ("unit_id", "agent_id"),
    "test_status_totals": ("status_name",),
    "test_busy_units": ("unit_id",),
}


def all_test_marts(events: Iterable[Event], tables: Tables) -> Mapping[str, Rows]:
    """Every test mart as it must be."""
    events = list(events)
    unit_agents = _unit_agents(tables)
    return {
        "test_signed_events": _signed_events(events),
        "test_agent_totals": _agent_totals(tables),
        "test_status_events": _status_events(_signed_events(events)),
        "test_unit_agents": unit_agents,
        "test_status_totals": _status_totals(tables),
        "test_busy_units": _busy_units(unit_agents),
    }


def _live(tables: Tables) -> list[Row]:
    return [sale for sale in tables["sales"].values() if not sale["is_deleted"]]


def _signed_events(events: Iterable[Event]) -> Rows:
    return {
        event.row["event_id"]: {
            "event_id": event.row["event_id"],
            "event_month": event.time.strftime("%Y-%m"),
            "sale_id": event.row["sale_id"],
            "agent_id": event.row.get("agent_id"),
            "contract_subtotal": event.row.get("contract_subtotal"),
            "status_id": event.row.get("status_id", -1),
        }
        for event in events
        if event.op != "d" and "contract_signing_date" in event.row
    }


def _status_events(signed: Rows) -> Rows:
    return {
        status: {"status_id": status, "events": len(rows), "total": _total(row["contract_subtotal"] for row in rows)}
        for status, rows in _grouped(signed.values(), lambda row: row["status_id"]).items()
    }


def _agent_totals(tables: Tables) -> Rows:
    rows = {}
    for agent, sales in _grouped(_live(tables), lambda sale: sale["agent_id"]).items():
        prices = [sale["contract_subtotal"] for sale in sales if sale["contract_subtotal"] is not None]
        signings = [sale["contract_signing_date"] for sale in sales if sale["contract_signing_date"] is not None]
        mean = (sum(prices) / len(prices)).quantize(Decimal("1e-8"), ROUND_HALF_UP) if prices else None
        rows[agent] = {
            "agent_id": agent,
            "sales": len(sales),
            "priced": len(prices),
            "total": _total(prices),
            "mean": mean,
            "least": min(prices, default=None),
            "last_signing": max(signings, default=None),
        }
    return rows


def _unit_agents(tables: Tables) -> Rows:
    pairs = _grouped(_live(tables), lambda sale: (sale["unit_id"], sale["agent_id"]))
    counts: dict[Any, list[int]] = defaultdict(list)
    for (unit, _), sales in pairs.items():
        counts[unit].append(len(sales))
    return {
        (unit, agent): {
            "unit_id": unit,
            "agent_id": agent,
            "unit_name": tables["units"].get(unit, {}).get("unit_name"),
            "agent_name": tables["agents"].get(agent, {}).get("agent_name"),
            "customers": len({sale["customer_id"] for sale in sales} - {None}),
            "sales": len(sales),
            "place": 1 + sum(1 for count in counts[unit] if count > len(sales)),
        }
        for (unit, agent), sales in pairs.items()
    }


def _status_totals(tables: Tables) -> Rows:
    named = [sale for sale in _live(tables) if sale["status_id"] in tables["statuses"]]
    groups = _grouped(named, lambda sale: tables["statuses"][sale["status_id"]]["status_name"])
    return {
        name: {"status_name": name, "sales": len(sales), "total": _total(s["contract_subtotal"] for s in sales)}
        for name, sales in groups.items()
    }


def _busy_units(unit_agents: Rows) -> Rows:
    agents = Counter(row["unit_id"] for row in unit_agents.values())
    return {
        unit: {
            "unit_id": unit,
            "agents": agents[unit],
            "sales": sum(row["sales"] for row in unit_agents.values() if row["unit_id"] == unit),
            "last_place": max(row["place"] for row in unit_agents.values() if row["unit_id"] == unit),
        }
        for unit in agents
    }


def _grouped(rows: Iterable[Any], key: Callable[[Any], Any]) -> dict[Any, list[Any]]:
    groups: dict[Any, list[Any]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def _total(values: Iterable[Decimal | None]) -> Decimal | None:
    known = [value for value in values if value is not None]
    return sum(known, Decimal(0)) if known else None
