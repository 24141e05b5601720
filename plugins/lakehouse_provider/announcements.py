"""Which assets a finished job announces, and with what: the instants that travel to the next layer.

An asset is announced when its table's instant differs from the one its last event carried, whoever committed it. So a
try that committed and died before it announced that is made good by the next try or run, and a run that changed nothing
announces nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from airflow.sdk import Asset
from airflow.sdk.execution_time.context import InletEventsAccessors

from lakehouse_provider.assets import BACKLOG, FIRST_SPLIT, table_of
from spark_jobs.contracts.arguments import parse_clock
from spark_jobs.contracts.instants import BEGINNING, Instant
from spark_jobs.contracts.results import DONE, JobResult

Facts = Mapping[str, Any]
_PAUSE, _LONGEST_PAUSE = timedelta(minutes=10), timedelta(hours=1)
"""Between two announcements of one instant that its reader does not take up: twice as long each time."""
_JITTER = timedelta(minutes=1)
_SIGNALS = (f"/{BACKLOG}", f"/{FIRST_SPLIT}")


def read_last_facts(assets: Sequence[Asset]) -> dict[str, Facts]:
    """What the last event of each asset carried, by asset name; {} where there is none. One query per asset."""
    accessors = InletEventsAccessors(list(assets))
    last: dict[str, Facts] = {}
    for asset in assets:
        events = accessors[asset].ascending(False).limit(1)
        last[asset.name] = (events[0].extra or {}) if len(events) else {}
    return last


def to_look_up(result: JobResult, assets: Sequence[Asset]) -> list[Asset]:
    """Those of which it matters what was announced: a commit of this very run was not, and signals are no state."""
    committed = {outcome.table for outcome in result.tables if outcome.is_committed}
    named = [(asset, table_of(asset)) for asset in assets]
    return [asset for asset, table in named if table not in committed and not table.endswith(_SIGNALS)]


def plan_announcements(
    result: JobResult, assets: Sequence[Asset], last: Mapping[str, Facts], *, run_id: str, is_interval: bool
) -> dict[str, Facts]:
    """Facts for the events of the assets that have something to say, by asset name.

    A table's event carries ``instant`` and ``rows``. The job's own asset (``<log>/<job>``) says up to which instant of
    the log (``source.up_to``) every table is; a run over an interval reads other events and cannot say that. The asset
    ``<log>/backlog`` says that a run that got further had to leave something, ``<log>/first_split`` that the job's own
    asset is announced for the first time.
    """
    outcomes = {outcome.table: outcome for outcome in result.tables}
    source = result.source
    common = {
        "job": result.job,
        "clock": result.clock,
        "run_id": run_id,
        "source": {"table": source.table, "after": source.after, "up_to": source.up_to} if source else None,
    }
    planned: dict[str, Facts] = {}
    for asset in assets:
        table, announced = table_of(asset), last.get(asset.name, {})
        if outcome := outcomes.get(table):
            if outcome.instant and outcome.instant != announced.get("instant"):
                planned[asset.name] = {"instant": outcome.instant, "rows": outcome.rows, **common}
        elif table.endswith(f"/{BACKLOG}"):
            if result.counters.get("has_more") and result.status == DONE:
                planned[asset.name] = {"has_more": 1, **common}
        elif source and not is_interval and table == f"{source.table}/{result.job}" and _moved(source.up_to, announced):
            planned[asset.name] = {"instants": {o.table: o.instant for o in result.tables}, **common}
    return planned | dict.fromkeys(_first_of(assets, result.job, planned, last), common)


def _first_of(
    assets: Sequence[Asset], job: str, planned: Mapping[str, Facts], last: Mapping[str, Facts]
) -> Iterator[str]:
    """The name of ``<log>/first_split`` when the job's own asset is about to have its first event."""
    for name in (asset.name for asset in assets if table_of(asset).endswith(f"/{FIRST_SPLIT}")):
        own = name.removesuffix(FIRST_SPLIT) + job
        if own in planned and not last.get(own):
            yield name


def plan_reminder(result: JobResult, log: Asset, announced: Facts, split: Facts, *, run_id: str) -> Facts | None:
    """Facts to announce the log once more, although it did not move: its split is behind, and nothing else starts it.

    So a split that failed for good, or whose DAG was paused, is started by a later run of ingest, without new data.

    Args:
        result: of a run of ingest.
        log: the asset of the log.
        announced: what its last event carried.
        split: what the last event of the split log carried: up to where the tables are.
        run_id: of the run.
    """
    instant = next((each.instant for each in result.tables if each.table == table_of(log)), None)
    if not instant or instant != announced.get("instant") or "clock" not in announced:
        return None  # it is announced because it moved, or never was
    if str((split.get("source") or {}).get("up_to", "")) >= instant:
        return None
    again = int(announced.get("again", 0))
    if parse_clock(result.clock) - parse_clock(announced["clock"]) < min(_PAUSE * 2**again, _LONGEST_PAUSE) - _JITTER:
        return None
    return {**announced, "again": min(again + 1, 10), "clock": result.clock, "run_id": run_id, "job": result.job}


def _moved(up_to: Instant, announced: Facts) -> bool:
    """True when ``up_to`` is a real instant and not the one already announced."""
    return up_to != BEGINNING and up_to != (announced.get("source") or {}).get("up_to")
