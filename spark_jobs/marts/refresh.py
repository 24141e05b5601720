"""One refresh of one mart: what it knows of itself, and how its rows are brought to a new state."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from math import ceil

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.context import AnyContext
from spark_jobs.contracts.arguments import format_clock, parse_clock
from spark_jobs.contracts.clocks import is_ahead, machine_now
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.lake_spec.definitions import mart_parts
from spark_jobs.lake_spec.marts import CELL_ID, MartSpec
from spark_jobs.marts.definitions import CLOCK, DECLARED, DEFINITION, FULL_SECONDS, definition_changes
from spark_jobs.marts.sources import Source
from spark_jobs.marts.views import Views
from spark_jobs.quality.gate import Gate
from spark_jobs.quality.holds import let_pass
from spark_jobs.quality.verdicts import QUALITY_KEY, Verdict, to_metadata
from spark_jobs.sql_analysis.mart_sql import MartQuery
from spark_jobs.storage.change_feed import write_changes
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState, checkpoint_key, table_checkpoint
from spark_jobs.storage.layouts import StorageForm, TableLayout, mart_layout
from spark_jobs.storage.options import METADATA_PREFIX, Operation
from spark_jobs.storage.serving.places import ServedPlaces
from spark_jobs.storage.snapshots import read_table
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit, fit_layout
from spark_jobs.transforms.cells import AFTER, changed_rows, difference, is_reshaped, rows_after, visible_changes
from spark_jobs.transforms.row_counts import IS_THERE, WAS_THERE, count_rows, row_counts, rows_of_difference

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
BYTES_A_TASK = 32 * 1024 * 1024
"""Of what a full refresh reads, as files have it, for each task of a shuffle: some 400,000 events of the log."""
_ROWS = "__rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRequest:
    """What a job requests of the refreshes of its run, where what is new is not enough."""

    is_full: bool = False
    """All rows are computed again."""
    moves_cut: bool = False
    """The cuts of stitch marts move to the newest instant."""
    rules: str = ""
    """A rule version to count ``months`` by; "": each month's own."""
    months: tuple[str, str] = ("", "")
    """The first and the last, yyyy-MM."""


@dataclass(kw_only=True)
class Refresh:
    """One refresh of ``mart``, under its lease.

    ``state`` is what its consumer file remembers; ``also`` are checkpoints on tables it reads through another mart.
    When it ``is_held``, the sources are read as they were at the mart's own checkpoints; one that ``is_undo`` brings
    rows of another definition back. What ``notes`` are given, the
    consumer file remembers until others take their place; ``verdicts`` are the gate's on the rows it committed.
    """

    views: Views
    context: AnyContext
    request: RefreshRequest
    mart: MartSpec
    query: MartQuery
    timeline: Timeline
    state: ConsumerState
    also: Mapping[str, str] = field(default_factory=dict)
    is_held: bool = False
    is_undo: bool = False
    notes: dict[str, str] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic, repr=False)

    @cached_property
    def is_state_current(self) -> bool:
        """True when the consumer file was written for the mart as it is now."""
        return bool(self.state.tables) and self.state.tables.get(self.mart.name) == self.timeline.last

    def note(self, name: str) -> str | None:
        """What the mart was last brought to: its clock, the fingerprint of its definition."""
        noted = self.state.notes.get(name) if self.is_state_current else None
        return noted or self.timeline.newest_metadata(METADATA_PREFIX + name)

    @cached_property
    def previous_clock(self) -> datetime | None:
        """The clock the mart was last brought to."""
        text = self.note(CLOCK)
        return parse_clock(text) if text else None

    @property
    def clock(self) -> datetime:
        """The run's clock, or the mart's own when that is later: a mart's clock never goes back.

        But from one that has not come yet.
        """
        return self.context.clock if self.is_ahead else max(self.context.clock, self.previous_clock or _LONG_AGO)

    @cached_property
    def is_ahead(self) -> bool:
        """True when the mart was refreshed for a time that has not come yet, by the run's clock and the machine's."""
        before = self.previous_clock
        return before is not None and is_ahead(before, max(self.context.clock, machine_now()))

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """The tables it reads, with what is new in each."""
        return tuple(
            Source.plan(
                read,
                table_checkpoint(self.state, self.timeline, self.context.spec.stored_name(read.table)),
                spec=self.context.spec,
                settings=self.context.settings,
                inputs=self.query.inputs_of(read.table),
                is_held=self.is_held,
            )
            for read in self.mart.reads
        )

    def source(self, table: str) -> Source:
        """The source of this name."""
        return next(source for source in self.sources if source.table == table)

    @property
    def checkpoints(self) -> Mapping[str, str]:
        """How far the mart is when this refresh is done."""
        return {**self.also, **{source.stored: source.up_to for source in self.sources if not source.is_absent}}

    @property
    def is_up_to_date(self) -> bool:
        """True when nothing it reads has moved since the last refresh, and its definition neither."""
        known = self.state.checkpoints if self.is_state_current else {}
        return dict(known) == dict(self.checkpoints) and self.note(DEFINITION) == self.mart.definition

    @property
    def why_full(self) -> str:
        """Why the whole mart has to be recomputed, or "" when what is new is enough."""
        if self.request.is_full:
            return "--full was given"
        known = self.note(DEFINITION)
        if self.definition_changes:
            return "its definition changed"
        for source in self.sources:
            if source.pull.resync_reason:
                return source.pull.resync_reason
        if any(source.is_new for source in self.sources):
            return "it was never computed" if known is None else "its checkpoint of a source was lost"
        return ""

    @cached_property
    def definition_changes(self) -> tuple[str, ...]:
        """What the files define otherwise than the rows that are stored; they are computed again by ``apply`` alone."""
        return definition_changes(self.mart, self.context.spec, self.timeline, self.state)

    @property
    def parts_of_all(self) -> int:
        """Into how many parts work over all rows that it reads is to be cut, by the bytes of their files."""
        return ceil(sum(source.bytes for source in self.sources) / BYTES_A_TASK)

    def stored(self, folders: Collection[str] | None = None) -> DataFrame | None:
        """The mart's own rows with their technical columns; of ``folders`` at least. None before its first commit."""
        newest = self.timeline.newest
        return read_table(self.views.spark, self.timeline, newest, folders) if self.timeline.last and newest else None

    def select(self, tables: Mapping[str, DataFrame], months: Mapping[str, str] | None = None) -> DataFrame:
        """The mart's SQL over these tables; of a mart with rules by the version of each month."""
        names = {table: self.views.name(rows_df, table) for table, rows_df in tables.items()}
        return self.views.spark.sql(self.query.sql(names, time_zone=self.context.spec.time_zone, months=months))

    def select_partial(self, rows_df: DataFrame) -> DataFrame:
        """The state of the cells of an aggregate mart over these rows of its source."""
        table = self.mart.reads[0].table
        names = {table: self.views.name(rows_df, table)}
        return self.views.spark.sql(self.query.partial_sql(names, time_zone=self.context.spec.time_zone))

    def difference(self, result_df: DataFrame, stored_df: DataFrame | None) -> DataFrame:
        """What has to change, computed once (see :func:`spark_jobs.transforms.cells.difference`)."""
        columns = [name for name in result_df.columns if name != CELL_ID]
        changes_df = difference(result_df, stored_df, columns, self.mart.partition)
        return self.views.pin(changes_df, "difference")

    def unchanged(self) -> TableOutcome:
        """Remember that the mart is right up to the checkpoints and was not written."""
        self._remember(self.timeline.last)
        return TableOutcome(table=self.mart.name, instant=self.timeline.last, rows=0, is_committed=False)

    def write(self, difference_df: DataFrame, notes: Mapping[str, str] | None = None) -> TableOutcome:
        """Commit what has to change, unless that is nothing; ``notes`` are kept with the commit.

        Raises:
            GateStoppedError: the rows break what is expected of the mart; nothing was written.
        """
        quality = self._audit(rows_of_difference(difference_df))
        if quality is None and not (self.definition_changes and is_reshaped(difference_df, self.stored())):
            return self.unchanged()
        outcome = self.commit_difference(difference_df, {**self.metadata, **(quality or {}), **(notes or {})})
        self._remember(outcome.instant)
        return outcome

    def _audit(self, rows_df: DataFrame) -> dict[str, str] | None:
        """Run the gate on rows that are about to be committed; metadata for the commit, or None without rows."""
        gate = Gate.of(self.context.spec, self.mart.name)
        counts = [F.count("*").alias(_ROWS), *count_rows(F.col(WAS_THERE), F.col(IS_THERE))]
        row = rows_df.agg(*counts, *gate.aggregates(rows_df.schema, of=F.col(IS_THERE))).first()
        facts = row.asDict() if row else {_ROWS: 0}
        if not facts[_ROWS]:
            return None
        run, name = self.context, self.mart.name
        passed = let_pass({name: gate.judge(facts)}, job=run.job, clock=run.clock, settings=self.context.settings)
        self.verdicts.extend(passed[name])
        quality = {QUALITY_KEY: to_metadata({"written": facts[_ROWS]}, passed[name])}
        return {**quality, **row_counts(facts).to_metadata()}

    def commit_difference(self, difference_df: DataFrame, metadata: Mapping[str, str]) -> TableOutcome:
        """Commit a difference, with the changes it makes for those who read the mart.

        A column that went, or has another type now, is in no row that is stored: all of them are written again.
        """
        metadata = dict(metadata)
        if self.is_fed:
            there = set(difference_df.select(f"{AFTER}.*").columns)
            shown = [name for name in self.query.columns if name in there and name != CELL_ID]
            feed_df = visible_changes(difference_df, [CELL_ID, *shown])
            metadata |= write_changes(feed_df, self.mart.name, self.context.settings)
        stored_df = self.stored() if self.may_reshape else None
        if stored_df is not None and is_reshaped(difference_df, stored_df):
            rows_df = rows_after(difference_df, stored_df, self.mart.partition)
            return self._commit(rows_df, mart_layout(self.mart), metadata, operation=Operation.INSERT_OVERWRITE_TABLE)
        return self._commit(changed_rows(difference_df), mart_layout(self.mart), metadata)

    @property
    def is_fed(self) -> bool:
        """True when its commits keep what they change: for marts that read it, or for the serving store."""
        is_read = self.mart.name in self.context.spec.fed_tables
        return bool(self.timeline.last) and (is_read or ServedPlaces(self.context.settings).is_on(self.timeline))

    @property
    def may_reshape(self) -> bool:
        """True for a refresh that may change the mart's columns: its rows are of another definition."""
        return self.is_undo or bool(self.definition_changes)

    def append(self, rows_df: DataFrame, *, is_full: bool) -> TableOutcome:
        """Commit rows of a mart of mode append: more of them, or all of them in place of what there is.

        Without rows nothing is committed, unless there were some. Raises as :meth:`write` does.
        """
        quality = self._audit(rows_df.withColumns({WAS_THERE: F.lit(False), IS_THERE: F.lit(True)}))
        if quality is None and not is_full:
            return self.unchanged()
        form = StorageForm.REPLACED if is_full else StorageForm.APPENDED
        outcome = self._commit(rows_df, mart_layout(self.mart, form=form), {**self.metadata, **(quality or {})})
        self._remember(outcome.instant)
        return outcome

    def replace_rows(self, rows_df: DataFrame, metadata: Mapping[str, str]) -> TableOutcome:
        """Commit rows of a mart of mode append in place of all that there are."""
        return self._commit(rows_df, mart_layout(self.mart, form=StorageForm.REPLACED), metadata)

    def _commit(
        self, rows_df: DataFrame, layout: TableLayout, metadata: Mapping[str, str], operation: Operation | None = None
    ) -> TableOutcome:
        layout, is_first = fit_layout(layout, self.timeline), self.timeline.last is None
        if not self.is_undo and (self.mart.mode.traits.is_whole or self.why_full):
            metadata = {**metadata, FULL_SECONDS: f"{time.monotonic() - self.begun:.1f}"}
        done = commit(
            rows_df,
            layout,
            metadata=metadata,
            settings=self.context.settings,
            is_first=is_first,
            operation=operation,
            may_drop_columns=self.may_reshape and (operation is not None or layout.form is StorageForm.REPLACED),
        )
        return TableOutcome(table=self.mart.name, instant=done.instant, rows=done.rows, is_committed=True)

    @property
    def metadata(self) -> dict[str, str]:
        """What every commit of the mart says of itself."""
        metadata = {checkpoint_key(table): instant for table, instant in self.checkpoints.items()}
        return {**metadata, **self._self}

    @property
    def _self(self) -> dict[str, str]:
        parts = json.dumps(mart_parts(self.mart, self.context.spec), sort_keys=True)
        return {CLOCK: format_clock(self.clock), DEFINITION: self.mart.definition, DECLARED: parts}

    def _remember(self, instant: Instant | None) -> None:
        notes = {**self.state.notes, **self.notes, **self._self}
        state = ConsumerState(checkpoints=self.checkpoints, tables={self.mart.name: instant}, notes=notes)
        ConsumerRegistry(self.context.settings.base_path).write(self.mart.name, state, self.context.clock)
