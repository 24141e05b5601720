"""The dashboards of include/superset as tests read them, and what their charts have to show, in plain Python."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import yaml

from local_stack.install.superset_dashboards import FOLDER

Row = dict[str, Any]
Rows = list[Row]


def files_of(kind: str) -> dict[str, dict[str, Any]]:
    """The files of one kind (``charts``) by name."""
    return {file.stem: yaml.safe_load(file.read_text()) for file in sorted((FOLDER / kind).rglob("*.yaml"))}


def chart_columns(chart: Mapping[str, Any]) -> list[str]:
    """The columns that a chart shows or groups by, as its page asks for them."""
    params = chart["params"]
    if params.get("query_mode") == "raw":
        return list(params["all_columns"])
    return [*([params["x_axis"]] if "x_axis" in params else []), *params.get("groupby", [])]


def chart_metrics(chart: Mapping[str, Any]) -> list[str]:
    """The metrics that a chart shows."""
    params = chart["params"]
    return list(params.get("metrics") or ([params["metric"]] if "metric" in params else []))


def joined(rows: Rows, column: str, names: Rows, shown: str) -> Rows:
    """The rows with the name of what they point to; None for what is not known."""
    by_key = {each[column]: each[shown] for each in names}
    return [{**row, shown: by_key.get(row[column])} for row in rows]


def steps_reached(rows: Rows) -> Rows:
    """For each row of agents' success and each of seven steps, how many sales came so far."""
    counts = [*(f"steps_{number}" for number in range(1, 7)), "steps_7_up"]
    return [
        {**row, "step": at + 1, "reached": sum(row[name] for name in counts[at:])}
        for row in rows
        for at in range(len(counts))
    ]


def datasets_of(store: Mapping[str, Rows]) -> dict[str, Rows]:
    """The rows of each dataset, made of the rows of the served marts and tables."""
    units = joined(store["units"], "project_id", store["projects"], "project_name")
    hard = joined(store["slow_unit_difficulty"], "unit_id", units, "unit_name")
    of_status = joined(store["fast_hourly_events"], "status_id", store["statuses"], "status_name")
    return {
        **store,
        "deals_of_the_day": joined(store["fast_daily_deals"], "project_id", store["projects"], "project_name"),
        "events_per_hour": joined(of_status, "project_id", store["projects"], "project_name"),
        "hard_to_sell_units": joined(hard, "unit_id", units, "project_name"),
        "steps_reached": steps_reached(store["slow_agent_success"]),
    }


def _share(part: str, whole: str) -> Callable[[Rows], Decimal | None]:
    def share(rows: Rows) -> Decimal | None:
        total = sum(row[whole] for row in rows)
        return Decimal(sum(row[part] for row in rows)) / total if total else None

    return share


def _total(column: str) -> Callable[[Rows], Decimal]:
    return lambda rows: sum((Decimal(row[column]) for row in rows), Decimal(0))


METRICS: Mapping[str, Callable[[Rows], Decimal | None]] = {
    "total_deals": _total("deals"),
    "total_contracts": _total("contract_total"),
    "total_events": _total("events"),
    "sales_reached": _total("reached"),
    "share_reached": _share("reached", "sales"),
    "sales_begun": _total("sales"),
    "sales_signed": _total("signed"),
    "success": _share("signed", "closed"),
    "total_milestones": _total("milestones"),
    "total_performance": _total("performance"),
    "agent_contracts": _total("contracts"),
    "agent_value": _total("contract_total"),
}
"""What a metric is, by its name."""


def rows_of(chart: Mapping[str, Any], dataset: Rows) -> list[tuple[Any, ...]]:
    """What a chart has to show: columns, then metrics; sorted, because equal rows of an order may come in any."""
    columns, metrics = chart_columns(chart), chart_metrics(chart)
    if not metrics:
        return in_order(tuple(row[name] for name in columns) for row in dataset)
    groups = defaultdict[tuple[Any, ...], Rows](list)
    for row in dataset:
        groups[tuple(row[name] for name in columns)].append(row)
    return in_order((*key, *(METRICS[name](rows) for name in metrics)) for key, rows in groups.items())


def in_order(rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Rows whose values may be None, in an order that depends on the values alone."""
    return sorted(map(tuple, rows), key=lambda row: json.dumps(row, default=str))
