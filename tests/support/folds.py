"""Random small histories of one table, and their fold in plain Python, orders included, by no code of the product.

A history has a few keys, and events with nulls, deletes and repetitions, delivered in one to three steps in any order.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from tests.support.oracle import TABLES

KEYS_PER_HISTORY = 3
CHOICES: Mapping[str, tuple[Any, ...]] = {
    "unit_name": ("a", "b", ""),
    "building_name": ("east", "west"),
    "agent_name": ("Ann", "Bob"),
    "contract_subtotal": (Decimal("0.0001"), Decimal("99999999999999.9999"), Decimal("-1.0000")),
    "contract_signing_date": (datetime(2026, 1, 1, tzinfo=UTC), datetime(1999, 12, 31, 23, 59, tzinfo=UTC)),
}
NUMBERS = (0, 1, 2**40)
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One event about one key; ``values`` are those of the table's columns, None where there is no value."""

    key: int | None
    op: str
    order: str
    values: tuple[Any, ...]


def random_history(rng: random.Random, table: str, number: int) -> list[list[Change]]:
    """Steps of a history whose keys no other ``number`` has; together they hold every change at least once."""
    _, columns = TABLES[table]
    changes = []
    for position in rng.sample(range(100), rng.randint(1, 8)):
        key = number * KEYS_PER_HISTORY + rng.randrange(KEYS_PER_HISTORY)
        values = tuple(rng.choice((None, *CHOICES.get(column, NUMBERS))) for column in columns)
        order = f"{position:03d}-{rng.choice('abc')}"
        has_key = table == "sales" or rng.random() < 0.9
        changes.append(Change(key=key if has_key else None, op=rng.choice("ccurudd"), order=order, values=values))
    steps: list[list[Change]] = [[] for _ in range(rng.randint(1, 3))]
    for change in [*changes, *rng.choices(changes, k=rng.randint(0, 4))]:
        rng.choice(steps).append(change)
    for step in steps:
        rng.shuffle(step)
    return steps


def fold_changes(changes: Iterable[Change], table: str) -> dict[int, Row]:
    """Rows of the table with the order of every value; ``sales`` follows deletes."""
    _, columns = TABLES[table]
    rows: dict[int, Row] = {}
    for change in sorted(changes, key=lambda change: change.order):
        if change.key is None or (table != "sales" and change.op == "d"):
            continue
        empty = dict.fromkeys((*columns, *(f"{column}_order" for column in columns)))
        life = {"row_order": None, "deleted_order": None, "is_deleted": True} if table == "sales" else {}
        if change.op == "d":
            rows[change.key] = {**empty, **life, "deleted_order": change.order}
            continue
        row = rows.setdefault(change.key, {**empty, **life})
        if table == "sales":
            row |= {"row_order": change.order, "is_deleted": False}
        for column, value in zip(columns, change.values, strict=True):
            if value is not None:
                row |= {column: value, f"{column}_order": change.order}
    return rows
