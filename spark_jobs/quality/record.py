"""The table of results: what was seen of every commit, how far the lake's tables were checked, and their daily figures.

Each result has a key of its own, so that checking twice, or a run that died and is repeated, leaves one row. How far
each table was checked is in the commit that holds the results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from spark_jobs.context import AnyContext
from spark_jobs.contracts.arguments import parse_clock
from spark_jobs.contracts.instants import BEGINNING, Instant
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.frames import literal_frame
from spark_jobs.lake_spec.expectations import Expectation, Figure
from spark_jobs.lake_spec.quality import RESULT_SCHEMA
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.quality.results import WRITTEN, QualityResult, Stage
from spark_jobs.storage.layouts import quality_layout
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit, fit_layout

_DECIMALS = 6
AUDIT_KEY = "asked"
"""Under which a commit keeps how far each table was checked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditCheckpoint:
    """How far a table was checked: the newest instant, and the clock of the run that checked it."""

    instant: Instant = BEGINNING
    at: str = ""

    def is_older_than(self, minutes: int, clock: datetime) -> bool:
        """True when the run that checked it was so long before ``clock``, or there was none."""
        return not self.at or (clock - parse_clock(self.at)).total_seconds() >= 60 * minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class DayFigure:
    """A figure of a table on a day, and of how many rows it is."""

    value: float
    rows: int


class QualityRecord:
    """Reads and writes the table of results of one lake."""

    def __init__(self, spec: LakeSpec, settings: Settings) -> None:
        self._spec, self._settings = spec, settings
        self._path = settings.table_path(spec.quality.table)

    def checkpoints(self) -> dict[str, AuditCheckpoint]:
        """How far each table was checked; a table that never was is not there."""
        return _checkpoints(self._timeline())

    def write(
        self, context: AnyContext, results: Sequence[QualityResult], checkpoints: Mapping[str, AuditCheckpoint]
    ) -> TableOutcome:
        """Commit results, and how far the tables they are about were checked; no commit without results.

        Raises:
            TableBusyError: another run is writing results for too long.
        """
        layout = quality_layout(self._spec)
        if not results:
            return TableOutcome(table=layout.name, instant=self._timeline().last, rows=0, is_committed=False)
        rows_df = literal_frame(context.spark, [_row(each, context) for each in results], RESULT_SCHEMA)
        with hold_tables((layout.name,), job=context.job, settings=self._settings):
            timeline = settled_timeline(context.spark, layout.name, self._settings)
            known = {name: asdict(each) for name, each in (_checkpoints(timeline) | dict(checkpoints)).items()}
            done = commit(
                rows_df,
                fit_layout(layout, timeline),
                metadata={AUDIT_KEY: json.dumps(known, separators=(",", ":"), sort_keys=True)},
                settings=self._settings,
                is_first=timeline.last is None,
            )
        return TableOutcome(table=layout.name, instant=done.instant, rows=done.rows, is_committed=True)

    def daily_figures(
        self, spark: SparkSession, expectations: Sequence[Expectation], *, first: date, last: date
    ) -> dict[str, dict[date, DayFigure]]:
        """Of each expectation about what is usual, by its id, the figure of each day that has rows."""
        found: dict[str, dict[date, DayFigure]] = {each.id: {} for each in expectations}
        if not expectations or not self._timeline().writes:
            return found
        names = {each.id: WRITTEN if each.usual is Figure.ROWS else each.name for each in expectations}
        sums = self._sums(spark, sorted(set(names.values())), first, last)
        for each in expectations:
            for row in sums:
                if (row["table_name"], row["expectation"]) == (each.table, names[each.id]) and row["checked"]:
                    figure = DayFigure(value=_figure(each, row), rows=int(row["checked"]))
                    found[each.id][date.fromisoformat(row["day"])] = figure
        return found

    def _sums(self, spark: SparkSession, names: Sequence[str], first: date, last: date) -> list[Row]:
        """What the commits of each day say of expectations of these names, added up."""
        gate_df: DataFrame = read_snapshot(spark, self._path).where(
            (F.col("stage") == Stage.GATE.value)
            & F.col("day").between(first.isoformat(), last.isoformat())
            & F.col("expectation").isin(names)
        )
        weighted = F.col("figure").cast("double") * F.col("rows_asked")
        sums_df = gate_df.groupBy("table_name", "expectation", "day").agg(
            F.sum("rows_asked").alias("checked"),
            F.sum("rows_broken").alias("broken"),
            (F.sum(weighted) / F.sum("rows_asked")).alias("mean"),
        )
        return sums_df.collect()

    def _timeline(self) -> Timeline:
        timeline = Timeline(table=self._spec.quality.table, path=self._path)
        timeline.check_readable()
        return timeline


def _checkpoints(timeline: Timeline) -> dict[str, AuditCheckpoint]:
    known = json.loads(timeline.newest_metadata(METADATA_PREFIX + AUDIT_KEY) or "{}")
    return {name: AuditCheckpoint(**each) for name, each in known.items()}


def _figure(each: Expectation, row: Row) -> float:
    if each.usual is Figure.ROWS:
        return float(row["checked"])
    return float(row["mean"]) if each.usual is Figure.MEAN else float(row["broken"]) / float(row["checked"])


def _row(result: QualityResult, context: AnyContext) -> tuple[object, ...]:
    """In the order of ``RESULT_SCHEMA``."""
    place = result.place
    return (
        result.key,
        context.clock,
        context.job,
        place.table,
        place.instant,
        result.stage.value,
        result.expectation,
        result.expected,
        result.action,
        result.observed,
        result.checked,
        result.broken,
        None if result.figure is None else round(result.figure, _DECIMALS),
        result.outcome.value,
        place.day,
    )
