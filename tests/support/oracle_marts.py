"""The oracle of the fast and stitch layers: what their marts hold, from the plain oracle's tables.

Days are the company's: those of its time zone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from tests.support.oracle import Event, Row, Tables

Hourly = dict[tuple[datetime, int | None, int | None], int]
Daily = dict[tuple[str, int | None, int | None], tuple[int, Decimal]]
AgentDays = dict[tuple[int | None, str], tuple[int, Decimal | None]]
AgentContracts = dict[int | None, tuple[int, Decimal]]


def hourly_events(events: Iterable[Event], clock: datetime) -> Hourly:
    """Events by (hour, project_id, status_id) of the clock's hour and the 23 before it; deletes are events too."""
    last = clock.replace(minute=0, second=0, microsecond=0)
    counts: Counter[tuple[datetime, int | None, int | None]] = Counter()
    for event in {event.identity: event for event in events}.values():
        hour = event.time.replace(minute=0, second=0, microsecond=0)
        if last - timedelta(hours=23) <= hour <= last:
            counts[hour, event.row.get("project_id"), event.row.get("status_id")] += 1
    return dict(counts)


def daily_deals(tables: Tables, clock: datetime, time_zone: str = "UTC") -> Daily:
    """Number and total of the live sales signed on the clock's day, by (day, project of the unit, agent)."""
    today = clock.astimezone(ZoneInfo(time_zone)).date()
    cells: dict[tuple[str, int | None, int | None], list[Decimal]] = defaultdict(list)
    for day, sale in signed_sales(tables, time_zone):
        if day == today:
            unit = tables["units"].get(sale["unit_id"], {})
            cells[day.isoformat(), unit.get("project_id"), sale["agent_id"]].append(
                sale["contract_subtotal"] or Decimal(0)
            )
    return {cell: (len(totals), sum(totals, Decimal(0))) for cell, totals in cells.items()}


def signed_sales(tables: Tables, time_zone: str) -> Iterator[tuple[date, Row]]:
    """Every live sale with a signing date, and the day that date is in the zone."""
    for sale in tables["sales"].values():
        if not sale["is_deleted"] and sale["contract_signing_date"] is not None:
            yield sale["contract_signing_date"].astimezone(ZoneInfo(time_zone)).date(), sale


def year_before(day: date) -> date:
    """The same day a year earlier; of 29 February it is the 28th."""
    try:
        return day.replace(year=day.year - 1)
    except ValueError:
        return day.replace(year=day.year - 1, day=28)


def stitch_agent_days(tables: Tables, time_zone: str) -> AgentDays:
    """Number and total of the live signed sales by (agent, day); the total is None when no sale has a subtotal."""
    cells: AgentDays = {}
    for day, sale in signed_sales(tables, time_zone):
        contracts, total = cells.get((sale["agent_id"], day.isoformat()), (0, None))
        if sale["contract_subtotal"] is not None:
            total = (total or Decimal(0)) + sale["contract_subtotal"]
        cells[sale["agent_id"], day.isoformat()] = (contracts + 1, total)
    return cells


def stitch_agent_contracts(tables: Tables, clock: datetime, time_zone: str) -> AgentContracts:
    """Number and total of the live sales signed in the year that ends with the clock's day, by agent.

    Sales of no known agent are a group as well; an agent without such a sale has no row.
    """
    today = clock.astimezone(ZoneInfo(time_zone)).date()
    cells: AgentContracts = {}
    for day, sale in signed_sales(tables, time_zone):
        if year_before(today) < day <= today:
            contracts, total = cells.get(sale["agent_id"], (0, Decimal(0)))
            cells[sale["agent_id"]] = (contracts + 1, total + (sale["contract_subtotal"] or Decimal(0)))
    return cells
