"""The oracle of the slow layer: funnel paths, what is counted from them, and performance by rules. Plain loops.

Every function returns rows by their grain, each with all columns of its table. Fractions are rounded half up, away
from zero. Rules are what ``read_rules`` makes of the files: plain dictionaries by version.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import yaml

from tests.support.oracle import Event, Row

NEWEST = {
    "unit_id": "unit_id",
    "project_id": "project_id",
    "building_id": "building_id",
    "customer_id": "customer_id",
    "agent_id": "agent_id",
    "status_id": "last_status_id",
    "contract_subtotal": "contract_subtotal",
    "contract_signing_date": "signed_at",
}
"""Columns of an event, and what their newest values are called in the sale's row."""
LOST, CANCELLED = 9, 10
EXACT = Context(prec=200)

Rows = dict[Any, Row]
Rules = Mapping[str, Mapping[str, Any]]
CASE = re.compile(r"CASE (\w+)((?: WHEN \d+ THEN [\d.]+)+) ELSE ([\d.]+) END")
BRANCH = re.compile(r" WHEN (\d+) THEN ([\d.]+)")


def slow_sale_paths(events: Iterable[Event], time_zone: str) -> Rows:
    """One row a live sale, by sale_id."""
    sales: Rows = {}
    for event in sorted({e.identity: e for e in events}.values(), key=lambda event: (event.order, event.origin)):
        sale_id = event.row["sale_id"]
        if event.op == "d":
            sales.pop(sale_id, None)
            continue
        if sale_id not in sales:
            sales[sale_id] = {"sale_id": sale_id, **dict.fromkeys(NEWEST.values()), "opened_at": event.time}
            sales[sale_id] |= {"agents": [], "path": [], "path_times": []}
        sale = sales[sale_id]
        sale["last_event_at"] = event.time
        sale |= {name: event.row[column] for column, name in NEWEST.items() if column in event.row}
        if "agent_id" in event.row and event.row["agent_id"] not in sale["agents"]:
            sale["agents"] = sorted([*sale["agents"], event.row["agent_id"]])
        if "status_id" in event.row and event.row["status_id"] not in sale["path"]:
            sale["path"].append(event.row["status_id"])
            sale["path_times"].append(event.time)
    for sale in sales.values():
        sale["month"] = month_of(sale["opened_at"], time_zone)
        sale["steps"] = len(sale["path"])
        sale["is_signed"] = sale["signed_at"] is not None
    return sales


def unit_difficulty(paths: Rows, time_zone: str) -> Rows:
    """By (month, unit_id); ranked within the month, the hardest first."""
    cells: Rows = {}
    for cell, sales in grouped(paths, "unit_id").items():
        signings = [sale["signed_at"] for sale in sales if sale["is_signed"]]
        begin = min(sale["opened_at"] for sale in sales)
        end = min(signings) if signings else max(sale["last_event_at"] for sale in sales)
        cells[cell] = {
            "month": cell[0],
            "unit_id": cell[1],
            "sales": len(sales),
            "agents": len({agent for sale in sales for agent in sale["agents"]}),
            "mean_steps": mean_steps(sales),
            "days_on_market": max(0, (day_of(end, time_zone) - day_of(begin, time_zone)).days),
            "signed_sales": len(signings),
        }
    for cell, row in cells.items():
        harder = {hardness(other) for (month, _), other in cells.items() if month == cell[0]}
        row["difficulty_rank"] = 1 + sum(other > hardness(row) for other in harder)
    return cells


def hardness(row: Row) -> tuple[Any, ...]:
    """What makes a unit harder than another: unsold, then more agents, more steps, more days."""
    return (not row["signed_sales"], row["agents"], row["mean_steps"], row["days_on_market"])


def agent_success(paths: Rows) -> Rows:
    """By (month, agent_id)."""
    cells: Rows = {}
    for cell, sales in grouped(paths, "agent_id").items():
        signed = sum(sale["is_signed"] for sale in sales)
        closed = sum(sale["is_signed"] or sale["last_status_id"] in (LOST, CANCELLED) for sale in sales)
        cells[cell] = {
            "month": cell[0],
            "agent_id": cell[1],
            "sales": len(sales),
            "signed": signed,
            "closed": closed,
            "share_signed": rounded(Fraction(signed, len(sales)), 6),
            "success_rate": rounded(Fraction(signed, closed), 6) if closed else None,
            "mean_steps": mean_steps(sales),
            **{f"steps_{steps}": sum(sale["steps"] == steps for sale in sales) for steps in range(1, 7)},
            "steps_7_up": sum(sale["steps"] >= 7 for sale in sales),
        }
    return cells


def customer_demand(paths: Rows) -> Rows:
    """By (month, customer_id)."""
    cells: Rows = {}
    for cell, sales in grouped(paths, "customer_id").items():
        units = {sale["unit_id"] for sale in sales} - {None}
        short = [sale for sale in sales if sale["steps"] <= 3]
        cells[cell] = {
            "month": cell[0],
            "customer_id": cell[1],
            "paths": len(sales),
            "units": len(units),
            "mean_steps": mean_steps(sales),
            "short_paths": len(short),
            "paths_per_unit": rounded(Fraction(len(sales), len(units)), 4) if units else None,
            "is_demanding": len(short) >= 3 and len(units) >= 3,
        }
    return cells


def milestones(paths: Rows, time_zone: str) -> Rows:
    """By (sale_id, status_id): every status that a sale with an agent and a subtotal has reached."""
    rows: Rows = {}
    for sale_id, sale in paths.items():
        if sale["agent_id"] is None or sale["contract_subtotal"] is None:
            continue
        for status_id, reached_at in zip(sale["path"], sale["path_times"], strict=True):
            rows[sale_id, status_id] = {
                "sale_id": sale_id,
                "status_id": status_id,
                "month": month_of(reached_at, time_zone),
                "reached_at": reached_at,
                **{name: sale[name] for name in ("agent_id", "project_id", "contract_subtotal")},
            }
    return rows


def agent_performance(reached: Rows, rules: Rules, overrides: Mapping[str, str] | None = None) -> Rows:
    """By (month, agent_id), as the version that counts in each month says; ``overrides`` names other ones by month."""
    cells: Rows = {}
    for row in reached.values():
        version = (overrides or {}).get(row["month"]) or version_in_force(rules, row["month"])
        share = rule_value(rules[version]["share"], row) if version else None
        if version is None or not share:
            continue
        cell = (row["month"], row["agent_id"])
        empty = {"month": cell[0], "agent_id": cell[1], "performance": Decimal(0), "milestones": 0}
        counted = cells.setdefault(cell, {**empty, "rules_version": version})
        factor = rule_value(rules[version]["factor"], row)
        exact = EXACT.multiply(EXACT.multiply(row["contract_subtotal"], share), factor)
        counted["performance"] = EXACT.add(counted["performance"], rounded(Fraction(exact), 6))
        counted["milestones"] += 1
    return cells


def version_in_force(rules: Rules, month: str) -> str | None:
    """The promoted version with the greatest valid_from up to the month's first day."""
    day = date.fromisoformat(f"{month}-01")
    valid = sorted((r["valid_from"], name) for name, r in rules.items() if r["promoted"] and r["valid_from"] <= day)
    return valid[-1][1] if valid else None


def read_rules(folder: Path) -> dict[str, dict[str, Any]]:
    """Every version of the folder: valid_from, promoted, and each value as :func:`rule_value` takes it."""
    rules = {}
    for file in sorted(folder.glob("*.yaml")):
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
        rules[document["version"]] = {
            "valid_from": document["valid_from"],
            "promoted": document["promoted"],
            **{name: read_case(value["sql"]) for name, value in document["values"].items()},
        }
    return rules


def read_case(sql: str) -> tuple[str, dict[int, Decimal], Decimal]:
    """A column, results by its numbers, and the result otherwise; of a number alone just that."""
    text = " ".join(line.split("--")[0].strip() for line in sql.splitlines()).strip()
    if not (found := CASE.fullmatch(text)):
        return "", {}, Decimal(text)
    results = {int(number): Decimal(result) for number, result in BRANCH.findall(found[2])}
    return found[1], results, Decimal(found[3])


def rule_value(value: tuple[str, dict[int, Decimal], Decimal], row: Row) -> Decimal:
    """What a value is for a row."""
    column, results, otherwise = value
    number = row.get(column)
    return otherwise if number is None else results.get(number, otherwise)


def grouped(paths: Rows, column: str) -> dict[tuple[str, int], list[Row]]:
    """Sales by (month, value of ``column``), where the value is known."""
    groups: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for sale in paths.values():
        if sale[column] is not None:
            groups[sale["month"], sale[column]].append(sale)
    return groups


def mean_steps(sales: list[Row]) -> Decimal:
    """Steps of the paths on average, to four digits."""
    return rounded(Fraction(sum(sale["steps"] for sale in sales), len(sales)), 4)


def rounded(value: Fraction, digits: int) -> Decimal:
    """The nearest decimal of so many digits; of two that are as near, the one further from zero."""
    units = int(abs(value) * 10**digits + Fraction(1, 2))
    unsigned = Decimal(units).scaleb(-digits, context=EXACT)
    return (-unsigned if value < 0 else unsigned).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, context=EXACT)


def day_of(moment: datetime, time_zone: str) -> date:
    """The day it is in the zone."""
    return moment.astimezone(ZoneInfo(time_zone)).date()


def month_of(moment: datetime, time_zone: str) -> str:
    """The month it is in the zone, yyyy-MM."""
    return day_of(moment, time_zone).isoformat()[:7]
