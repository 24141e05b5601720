"""Random histories of sales for the slow layer: many ties, deletes, re-entries, nulls, moves and odd amounts."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.support.oracle import Event

BEGIN = datetime(2025, 12, 25, tzinfo=UTC)
HOURS = 100 * 24
ODD_AMOUNTS = tuple(
    map(Decimal, ("0.0000", "0.0001", "-0.0001", "0.0005", "-1250.5000", "99999999999999.9999", "-99999999999999.9999"))
)
LOG_SCHEMA = (
    "event_id string, op string, event_order string, event_time timestamp, sale_id bigint, agent_id bigint, "
    "unit_id bigint, building_id bigint, project_id bigint, status_id bigint, contract_subtotal decimal(18,4), "
    "contract_signing_date timestamp, customer_id bigint"
)


def random_events(seed: int, sales: int) -> list[Event]:
    """Events of so many sales in no particular order; their times say little about the source's order."""
    rng = random.Random(seed)
    events = [_event(rng, sale_id) for sale_id in range(1, sales + 1) for _ in range(rng.choice((1, 2, 4, 8, 14)))]
    rng.shuffle(events)
    return list({event.identity: event for event in events}.values())


def _event(rng: random.Random, sale_id: int) -> Event:
    def maybe(value: Any, likely: float = 0.5) -> Any:
        return value if rng.random() < likely else None

    op = "d" if rng.random() < 0.08 else rng.choice("cru")
    moment = BEGIN + timedelta(hours=rng.randrange(HOURS), microseconds=rng.choice((0, 1, 999_999, 1_800_000_000)))
    row = {
        "sale_id": sale_id,
        "agent_id": maybe(rng.randrange(1, 13)),
        "unit_id": maybe(rng.randrange(1, 25)),
        "building_id": maybe(rng.randrange(1, 4)),
        "project_id": maybe(rng.randrange(1, 6)),
        "status_id": maybe(rng.randrange(1, 11), 0.8),
        "contract_subtotal": maybe(rng.choice((*ODD_AMOUNTS, Decimal(rng.randrange(10**10)).scaleb(-4))), 0.3),
        "contract_signing_date": maybe(moment + timedelta(hours=rng.randrange(-500, 500)), 0.1),
        "customer_id": maybe(rng.randrange(1, 16)),
    }
    return Event(
        origin=rng.choice(("erp/dbo/SALES", "old/dbo/SALES")),
        order=((rng.randrange(12),), f"{rng.choice(('07', '7f'))}{op}{sale_id:08x}"),
        op=op,
        time=moment,
        row={name: value for name, value in row.items() if value is not None},
    )


def log_rows(events: list[Event]) -> list[tuple[Any, ...]]:
    """The events as rows of the log, by ``LOG_SCHEMA``."""
    rows = []
    for event in events:
        order = f"{event.order[0][0]:016x}-{event.order[1]}"
        columns = [part.split()[0] for part in LOG_SCHEMA.split(", ")[4:]]
        values = (event.row.get(column) for column in columns)
        rows.append((f"{event.origin}:{order}", event.op, order, event.time, *values))
    return rows
