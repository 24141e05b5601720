"""What one correction changed in the marts of all layers: their rows before and after, checked and printed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from local_stack.demos.correction import Correction, Row, in_utc
from local_stack.demos.demo_report import format_table, shorten
from local_stack.demos.lake_view import read_with_rust
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import CELL_ID
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.timeline import Timeline

Marts = Mapping[str, Mapping[str, Row]]
"""Rows by mart and key."""
LAYERS = ("fast", "stitch", "slow")
NO_ROW = "no row"
MOST_ROWS = 4


def read_marts(spec: LakeSpec, settings: Settings) -> Marts:
    """Every mart but the caches, without technical columns, as the Rust reader sees it; no JVM."""
    marts: dict[str, dict[str, Row]] = {}
    for mart in spec.marts:
        path = settings.table_path(mart.name)
        if mart.name not in spec.caches and Timeline(table=mart.name, path=path).writes:
            marts[mart.name] = {
                row[CELL_ID]: {name: value for name, value in row.items() if name != CELL_ID and "__" not in name}
                for row in read_with_rust(path)
            }
    return marts


def check_correction(correction: Correction, before: Marts, after: Marts) -> list[str]:
    """What the layers should say after the correction and do not; empty when it went through all of them."""
    sale, wrong = correction.sale, []
    events = [_events_like(correction, marts) for marts in (before, after)]
    if events[1] != events[0] + 1:
        wrong.append(f"fast_hourly_events: {events[0]} events like the correction became {events[1]}, not one more")
    moves = ((sale["agent_id"], -1, -sale["contract_subtotal"]), (correction.agent_id, 1, correction.subtotal))
    for agent, count, total in moves:
        old, new = (_contracts(marts, agent) for marts in (before, after))
        if new != (old[0] + count, old[1] + total):
            wrong.append(f"stitch_agent_contracts: agent {agent} went from {old} to {new}, not by {count} and {total}")
    path = after["slow_sale_paths"].get(str(sale["sale_id"]), {})
    if (path.get("agent_id"), path.get("contract_subtotal")) != (correction.agent_id, correction.subtotal):
        wrong.append(f"slow_sale_paths: sale {sale['sale_id']} is not corrected: {dict(path)}")
    return wrong


def build_changes(spec: LakeSpec, correction: Correction, before: Marts, after: Marts) -> str:
    """A table of the values that the correction changed, layer by layer; rows beyond the first are counted below it."""
    lines: list[tuple[str, ...]] = []
    notes: list[str] = []
    for mart in sorted(spec.marts, key=lambda mart: (*LAYERS, mart.layer).index(mart.layer)):
        old, new = before.get(mart.name, {}), after.get(mart.name, {})
        changed = [key for key in sorted(old.keys() | new.keys()) if old.get(key) != new.get(key)]
        of_it = [key for key in changed if correction.concerns(old.get(key) or new[key])]
        for key in of_it[:MOST_ROWS]:
            cells = _changed_columns(mart.grain, old.get(key), new.get(key))
            label = _label(mart.grain, old.get(key) or new[key])
            lines += [(mart.layer, mart.name, label, *cell) for cell in cells]
        if (more := len(of_it) - MOST_ROWS) > 0:
            notes.append(f"  {mart.name}: and {more} rows more like these")
        if others := len(changed) - len(of_it):
            notes.append(f"  {mart.name}: and {others} rows of others: their rank moved, or the window did")
    table = format_table(("layer", "table", "row", "column", "before", "after"), _without_repeats(lines))
    return "\n".join([table, *notes])


def _events_like(correction: Correction, marts: Marts) -> int:
    hour = correction.at.replace(minute=0, second=0, microsecond=0)
    return sum(
        row["events"]
        for row in marts["fast_hourly_events"].values()
        if in_utc(row["event_hour"]) == hour and row["status_id"] == correction.sale["status_id"]
    )


def _contracts(marts: Marts, agent: int) -> tuple[int, Decimal]:
    row = marts["stitch_agent_contracts"].get(str(agent), {})
    return row.get("contracts", 0), row.get("contract_total", Decimal(0))


def _changed_columns(grain: tuple[str, ...], old: Row | None, new: Row | None) -> list[tuple[str, str, str]]:
    def cell(row: Row | None, name: str) -> str:
        return shorten(_text(row[name])) if row else NO_ROW

    columns = [name for name in (old or new or {}) if name not in grain]
    is_whole = old is None or new is None
    return [
        (name, cell(old, name), cell(new, name))
        for name in columns
        if is_whole or (old or {})[name] != (new or {})[name]
    ]


def _label(grain: tuple[str, ...], row: Row) -> str:
    return " ".join(f"{name.removesuffix('_id')} {_text(row[name]).replace(',', '')}" for name in grain)


def _without_repeats(lines: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Layer, table and row are written where they begin and left out below."""
    above: tuple[str, ...] = ()
    shown = []
    for line in lines:
        same = next((at for at in range(3) if above[at : at + 1] != line[at : at + 1]), 3)
        shown.append((*[""] * same, *line[same:]))
        above = line[:3]
    return shown


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return f"{in_utc(value):%Y-%m-%d %H:%M}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    if value is None:
        return "-"
    is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    return f"{value:,}" if is_number else str(value)
