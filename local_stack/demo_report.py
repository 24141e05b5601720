"""What the demo prints at its end: tables, quarantine, deals of the day, where to look next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from local_stack.lake_view import TableView
from local_stack.truth_check import IS_DELETED
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import DailyTotalsSpec, LakeSpec

MOST_DEALS = 12


def build_report(spec: LakeSpec, views: Mapping[str, TableView], settings: Settings, now: datetime) -> str:
    """The whole report as text."""
    parts = [
        f"{len(views[spec.log].rust):,} events in the log",
        "",
        _tables(views, now),
        "",
        _quarantine(views[spec.quarantine]),
    ]
    for mart in spec.marts:
        if isinstance(mart, DailyTotalsSpec):
            parts += ["", _daily(mart, spec, views)]
    return "\n".join([*parts, "", _next_steps(spec, settings)])


def format_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns side by side: numbers to the right, text to the left."""
    cells = [[_text(value) for value in row] for row in rows]
    widths = [max(len(header[at]), *(len(row[at]) for row in cells), 0) for at in range(len(header))]
    is_number = [
        bool(rows) and all(isinstance(row[at], int | Decimal) or row[at] is None for row in rows)
        for at in range(len(header))
    ]

    def line(values: Sequence[str]) -> str:
        padded = (v.rjust(w) if right else v.ljust(w) for v, w, right in zip(values, widths, is_number, strict=True))
        return "  " + "  ".join(padded).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, cells)])


def _tables(views: Mapping[str, TableView], now: datetime) -> str:
    rows = [
        (
            view.name,
            len(view.live),
            sum(1 for row in view.spark if row.get(IS_DELETED)),
            view.instant,
            f"{view.age(now):.0f} s ago",
        )
        for view in views.values()
    ]
    return "Tables\n" + format_table(("table", "rows", "tombstones", "last commit (instant)", "committed"), rows)


def _quarantine(view: TableView) -> str:
    if not view.spark:
        return "Quarantine: empty"
    reasons = Counter(str(row["reason"]) for row in view.spark)
    return "Quarantine by reason\n" + format_table(("reason", "records"), reasons.most_common())


def _daily(mart: DailyTotalsSpec, spec: LakeSpec, views: Mapping[str, TableView]) -> str:
    names = {table.key: _names(table.name, table.key, table.columns, views) for table in spec.tables}
    rows = sorted(views[mart.name].live, key=lambda row: row[mart.total_as], reverse=True)
    title = (
        f"Deals of the day ({mart.name}), {rows[0]['day']}"
        if rows
        else f"Deals of the day ({mart.name}): none yet today"
    )
    shown = [
        (
            *(names.get(column, {}).get(row[column], row[column]) for column in mart.group_by),
            row[mart.count_as],
            row[mart.total_as],
        )
        for row in rows[:MOST_DEALS]
    ]
    if not shown:
        return title
    header = (*(column.removesuffix("_id") for column in mart.group_by), mart.count_as, mart.total_as)
    more = f"\n  … and {len(rows) - MOST_DEALS} more" if len(rows) > MOST_DEALS else ""
    return f"{title}\n{format_table(header, shown)}{more}"


def _names(table: str, key: str, columns: Sequence[str], views: Mapping[str, TableView]) -> dict[Any, Any]:
    name = f"{key.removesuffix('_id')}_name"
    return {row[key]: row[name] for row in views[table].live} if name in columns else {}


def _next_steps(spec: LakeSpec, settings: Settings) -> str:
    table = spec.tables[0].name
    path = settings.table_path(table)
    read = f"import hudi; print(hudi.HudiTableBuilder.from_base_uri('{path}').build().read())"
    return "\n".join(
        [
            "Where to look next",
            f"  the lake            {settings.base_path}",
            f"  what arrived        {settings.landing_path}",
            f'  read a table        .venv/bin/python -c "{read}"',
            "  Airflow's pages     make up (make down stops them)",
            "  your own data       README.md",
        ]
    )


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int | Decimal) else str(value)
