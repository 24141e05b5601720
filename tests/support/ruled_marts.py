"""A mart with rules over the shop, and versions of rules for it.

``paid`` has a row an order: its number, the month in which it was paid, its kind and amount, and the buyer. ``totals``
counts amounts by month and kind, each by the value ``share`` of the version that counts in the month.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from spark_jobs.lake_spec.marts import MartSpec, ReadSpec, TimeSpec, TimeUnit
from spark_jobs.lake_spec.rules import RuleBook, RuleValue, RuleVersion
from tests.support.shop import mart, scoped

PAID = mart(
    "SELECT number, string(paid_at) AS month, buyer_id, buyer_id % 4 AS kind, amount FROM orders",
    name="paid",
    grain=("number",),
)
OF_MONTH = ReadSpec(table="paid", scope="month")
TOTALS = (
    "SELECT month, kind, SUM(amount * RULE('share')) AS total, COUNT(*) AS n, MAX(RULE('version')) AS counted_by\n"
    "FROM paid WHERE RULE('share') <> 0 GROUP BY month, kind"
)


def ruled(sql: str = TOTALS, *reads: ReadSpec, **changes: Any) -> MartSpec:
    """A mart by month and kind whose SQL uses rules."""
    parts = {"grain": ("month", "kind"), "time": TimeSpec(column="month", unit=TimeUnit.MONTH), "rules": True}
    return scoped(sql, *(reads or (OF_MONTH,)), scope="month", **{**parts, **changes})


def book_of(type_: str = "decimal(9,6)", **versions: str | Mapping[str, str]) -> RuleBook:
    """Versions by name, in force since 2020, 2021, …: the SQL of ``share``, or that of each value."""
    made = []
    for number, (version, given) in enumerate(versions.items()):
        values = {"share": given} if isinstance(given, str) else given
        made.append(
            RuleVersion(
                version=version,
                valid_from=date(2020 + number, 1, 1),
                promoted=True,
                description="",
                values=tuple(RuleValue(name=name, type=type_, sql=sql) for name, sql in values.items()),
            )
        )
    return RuleBook(versions=tuple(made))
