"""What the demo prints at its end: tables, quarantine, answers of every layer, where to look next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from local_stack.demos.lake_view import Rows, TableView
from local_stack.demos.truth_check import IS_DELETED
from spark_jobs.contracts.results import JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.serving.address import FILE

MOST_ROWS = 6
MOST_CHARACTERS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A mart that is worth a look: its columns in this order, the first rows by ``first``."""

    mart: str
    title: str
    columns: tuple[str, ...]
    first: str
    is_descending: bool = True


ANSWERS = (
    Answer(
        mart="fast_daily_deals",
        title="Fast: deals of the day",
        columns=("day", "project_id", "agent_id", "deals", "contract_total"),
        first="contract_total",
    ),
    Answer(
        mart="stitch_agent_contracts",
        title="Stitch: contracts of the last year, by agent",
        columns=("agent_id", "contracts", "contract_total"),
        first="contract_total",
    ),
    Answer(
        mart="slow_unit_difficulty",
        title="Slow: units that are hard to sell",
        columns=("month", "difficulty_rank", "unit_id", "agents", "mean_steps", "days_on_market", "signed_sales"),
        first="difficulty_rank",
        is_descending=False,
    ),
    Answer(
        mart="slow_agent_success",
        title="Slow: agents by their success",
        columns=("month", "agent_id", "sales", "signed", "success_rate", "mean_steps"),
        first="success_rate",
    ),
    Answer(
        mart="slow_customer_demand",
        title="Slow: demanding customers",
        columns=("month", "customer_id", "paths", "units", "short_paths", "is_demanding"),
        first="short_paths",
    ),
    Answer(
        mart="slow_agent_performance",
        title="Slow: performance by the rules of the month",
        columns=("month", "agent_id", "performance", "milestones", "rules_version"),
        first="performance",
    ),
)


def build_report(
    spec: LakeSpec, views: Mapping[str, TableView], settings: Settings, now: datetime, pictures: Path
) -> str:
    """The whole report as text; ``pictures`` is the file of the job ``report``."""
    parts = [
        f"{len(views[spec.log].rust):,} events in the log",
        "",
        _tables(views, now),
    ]
    for answer in ANSWERS:
        if answer.mart in views:
            parts += ["", _answer(answer, spec, views)]
    return "\n".join([*parts, "", _next_steps(spec, settings, pictures)])


def build_quality(validated: JobResult, quarantined: Rows) -> str:
    """What was set aside and why, what is expected of the tables and broken, and where the pages about it are."""
    counts = validated.counters
    held = counts["expectations"] - counts["broken"]
    parts = [
        _quarantine(quarantined),
        "",
        f"Quality: {counts['expectations']} expectations of {counts['tables']} tables, {held} hold",
        *(f"  {message}" for message in validated.messages),
    ]
    return "\n".join(parts)


def format_table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns side by side: numbers to the right, text to the left."""
    cells = [[_text(value) for value in row] for row in rows]
    widths = [max(len(header[at]), *(len(row[at]) for row in cells), 0) for at in range(len(header))]
    is_number = [
        bool(rows) and all(row[at] is None or _is_number(row[at]) for row in rows) for at in range(len(header))
    ]

    def line(values: Sequence[str]) -> str:
        padded = (v.rjust(w) if right else v.ljust(w) for v, w, right in zip(values, widths, is_number, strict=True))
        return "  " + "  ".join(padded).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, cells)])


def shorten(text: str) -> str:
    """The beginning of a long text."""
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


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


def _quarantine(rows: Rows) -> str:
    if not rows:
        return "Quarantine: empty"
    reasons = Counter(str(row["reason"]) for row in rows)
    return "Quarantine by reason\n" + format_table(("reason", "records"), reasons.most_common())


def _answer(answer: Answer, spec: LakeSpec, views: Mapping[str, TableView]) -> str:
    """The first rows; of a mart kept by month those of its last full month, the one before the newest."""
    rows = views[answer.mart].live
    months = sorted({row["month"] for row in rows if "month" in row})
    if len(months) > 1:
        rows = [row for row in rows if row["month"] == months[-2]]
    if not rows:
        return f"{answer.title} ({answer.mart}): none yet"
    known = [row for row in rows if row.get(answer.first) is not None]
    known.sort(key=lambda row: row[answer.first], reverse=answer.is_descending)
    names = {table.key_column: _names(table.name, table.key_column, table.columns, views) for table in spec.tables}
    header = [column.removesuffix("_id") for column in answer.columns]
    shown = [
        [names.get(name, {}).get(row.get(name), row.get(name)) for name in answer.columns] for row in known[:MOST_ROWS]
    ]
    more = f"\n  … and {len(rows) - len(shown)} more" if len(rows) > len(shown) else ""
    return f"{answer.title} ({answer.mart})\n{format_table(header, shown)}{more}"


def _names(table: str, key: str, columns: Sequence[str], views: Mapping[str, TableView]) -> dict[Any, Any]:
    name = f"{key.removesuffix('_id')}_name"
    return {row[key]: row[name] for row in views[table].live} if name in columns else {}


def _next_steps(spec: LakeSpec, settings: Settings, pictures: Path) -> str:
    table = spec.tables[0].name
    path = settings.table_path(table)
    read = f"import hudi; print(hudi.HudiTableBuilder.from_base_uri('{path}').build().read())"
    return "\n".join(
        [
            "Where to look next",
            f"  pictures of it      {pictures}",
            f"  the lake            {settings.base_path}",
            f"  what arrived        {settings.landing_path}",
            f"  what is served      {'LAKEHOUSE_SERVING_URL' if settings.serving_url else settings.table_path(FILE)}",
            f'  read a table        .venv/bin/python -c "{read}"',
            "  Airflow's pages     make up (make down stops them)",
            "  your own data       README.md",
        ]
    )


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if _is_number(value) else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)
