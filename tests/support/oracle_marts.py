"""The oracle of the fast layer: what the two marts hold at a clock, from the events and tables of the plain oracle."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal

from tests.support.oracle import Event, Tables

Hourly = dict[tuple[datetime, int | None, int | None], int]
Daily = dict[tuple[str, int | None, int | None], tuple[int, Decimal]]


def hourly_events(events: Iterable[Event], clock: datetime) -> Hourly:
    """Events by (hour, project_id, status_id) of the clock's hour and the 23 before it; deletes are events too."""
    last = clock.replace(minute=0, second=0, microsecond=0)
    counts: Counter[tuple[datetime, int | None, int | None]] = Counter()
    for event in {event.identity: event for event in events}.values():
        hour = event.time.replace(minute=0, second=0, microsecond=0)
        if last - timedelta(hours=23) <= hour <= last:
            counts[hour, event.row.get("project_id"), event.row.get("status_id")] += 1
    return dict(counts)


def daily_deals(tables: Tables, clock: datetime) -> Daily:
    """Number and total of the live sales signed on the clock's day (UTC), by (day, project of the unit, agent)."""
    day = clock.date()
    cells: dict[tuple[str, int | None, int | None], list[Decimal]] = defaultdict(list)
    for sale in tables["sales"].values():
        signed = sale["contract_signing_date"]
        if not sale["is_deleted"] and signed is not None and signed.date() == day:
            unit = tables["units"].get(sale["unit_id"], {})
            cells[day.isoformat(), unit.get("project_id"), sale["agent_id"]].append(
                sale["contract_subtotal"] or Decimal(0)
            )
    return {cell: (len(totals), sum(totals, Decimal(0))) for cell, totals in cells.items()}
