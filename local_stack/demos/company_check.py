"""The company's lake compared with what it must hold, table by table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from local_stack.demos.company_data import COLUMNS, KEYS, Company, Key, Row
from local_stack.demos.truth_check import IS_DELETED
from spark_jobs.contracts.text_table import format_table

Read = Callable[[str], list[dict[str, Any]]]
_GRAINS: Mapping[str, tuple[str, ...]] = {
    "order_line_facts": ("order_id", "line"),
    "product_daily_revenue": ("day", "product_id", "currency"),
    "category_monthly_revenue": ("month", "category", "currency"),
    "daily_revenue_in_euro": ("day",),
    "sales_by_segment": ("month", "segment"),
}
"""The columns that say which row of a mart it is, in the order of the truth."""


def expected(company: Company) -> dict[str, dict[Key, Row]]:
    """Rows by key of every table at the source that has had one, and of every mart."""
    return {**company.tables, **company.marts()}


def differences(company: Company, read: Read) -> list[str]:
    """In what the lake is not what it must be, one line for a table; ``read`` gives the rows of a table."""
    return [f"{table}: {wrong}" for table, _, wrong in compare(company, read) if wrong]


def compare(company: Company, read: Read) -> list[tuple[str, int, str]]:
    """Of every table its name, how many rows it has, and how it differs from what it must hold; "" for not at all."""
    found = []
    for table, truth in expected(company).items():
        key = _GRAINS.get(table) or tuple(COLUMNS[table])[: KEYS.get(table, 1)]
        rows = [row for row in read(table) if not row.get(IS_DELETED)]
        here = {tuple(row[name] for name in key): row for row in rows}
        shown = {at: {name: _in_utc(here[at][name]) for name in row} for at, row in truth.items() if at in here}
        wrong = [at for at in {*truth, *here} if at not in here or at not in truth or shown[at] != truth[at]]
        twice = len(rows) - len(here)
        differences = [f"{len(wrong)} rows differ, one is {min(wrong, key=str)}"] if wrong else []
        differences += [f"{twice} rows are there twice"] if twice else []
        found.append((table, len(rows), "; ".join(differences)))
    return found


def format_comparison(compared: list[tuple[str, int, str]]) -> str:
    """A table of tables, their rows and whether they are right."""
    return format_table(("table", "rows", "compared"), [(t, n, wrong or "as it must be") for t, n, wrong in compared])


def _in_utc(value: Any) -> Any:
    """Readers give times with their zone, or without it in UTC."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value
