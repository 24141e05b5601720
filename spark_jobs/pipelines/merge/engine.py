"""What is new in the log merged into the tables: one read, one plan for all, then a commit for each that changed.

Every table has a checkpoint of its own. Those that are equally far are merged together; one that failed, or is new, is
behind and is merged by itself, so that it keeps no other waiting. A history is one more of them, written after its
table and never further than it: what no gate let pass is not in it. Tables of the wide log that are equally far are
written all or none when an expectation stops one of them; a table at the source that fails stops no other.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.context import AnyContext
from spark_jobs.contracts.checkpoints import Checkpoint, furthest_behind
from spark_jobs.contracts.instants import BEGINNING, NO_INSTANT, Instant
from spark_jobs.contracts.job_errors import DefinitionChangedError
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.frames import shuffled_into
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.lake_spec.tables import ColumnSpec
from spark_jobs.pipelines.column_forms import column_forms, write_again
from spark_jobs.pipelines.definitions import blocking_changes, declared_form
from spark_jobs.pipelines.merge.gates import Gates
from spark_jobs.pipelines.merge.histories import Histories
from spark_jobs.pipelines.merge.merged import MergeOutcome
from spark_jobs.pipelines.merge.reading import LogReading
from spark_jobs.pipelines.merge.tables import (
    build_index,
    drop_old_index,
    keep_tombstones,
    merged_tables,
    rows_an_event,
    targets_of,
    tasks_for,
)
from spark_jobs.storage.change_feed import write_changes
from spark_jobs.storage.consumers import (
    OLD_MIRRORS,
    SPLIT,
    ConsumerRegistry,
    ConsumerState,
    checkpoint_key,
    table_checkpoint,
)
from spark_jobs.storage.lake_specs import read_book
from spark_jobs.storage.layouts import table_layout
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import Pull, plan_pull
from spark_jobs.storage.recovery import settled_timelines
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit, fit_layout
from spark_jobs.transforms.changes import to_changes
from spark_jobs.transforms.folding import fold_events
from spark_jobs.transforms.keyed_rows import STORED, TABLE, WAS_LIVE, MergedTable, merge_rows, slot_names, width_of
from spark_jobs.transforms.packed import key_hash, pack_rows, unpack_rows
from spark_jobs.transforms.stored_rows import to_stored

_MB = 1024 * 1024

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Merge:
    """One run over the tables of a lake, whose leases the caller holds; ``chosen`` are those that it merges into.

    A table is settled once, and again after this run wrote to it, or tried to: no other process does meanwhile.
    """

    context: AnyContext
    chosen: Sequence[TableSpec]
    merged: MergeOutcome = field(default_factory=MergeOutcome)
    _timelines: dict[str, Timeline] = field(default_factory=dict, init=False)
    _touched: set[str] = field(default_factory=set, init=False)
    _blocked: set[str] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self._touched.update(self.context.spec.split_tables)

    def run(self) -> MergeOutcome:
        """Merge what is new. A table that fails is reported and left where it is; the others go on."""
        source = Timeline(table=self.context.spec.log, path=self.context.settings.table_path(self.context.spec.log))
        source.check_readable()
        timelines = self.settled()
        state = ConsumerRegistry(self.context.settings.base_path).read(SPLIT)
        every = targets_of(self.context.spec.tables)
        places = {name: table_checkpoint(state, timelines[name], self.context.spec.log) for name in every}
        groups = defaultdict[str, list[str]](list)
        for name in self.open_targets():
            groups[BEGINNING if self.context.interval else places[name]].append(name)
        for after in sorted(groups, key=Checkpoint.parse, reverse=True):
            self._merge_from(groups[after], after, source, places)
        for name in targets_of(self.chosen):
            unchanged = TableOutcome(table=name, instant=self._timelines[name].last, rows=0, is_committed=False)
            self.merged.outcomes.setdefault(name, unchanged)
        return self.merged

    def open_targets(self) -> list[str]:
        """What to merge into, histories too; tables that the files define otherwise than their rows are failed ones."""
        timelines, names, chosen = self.settled(), list[str](), {table.name for table in self.chosen}
        for table in self.context.spec.tables:
            of_table = targets_of([table])
            if parts := blocking_changes(table, self.context.spec, [timelines[name] for name in of_table]):
                self._blocked.add(table.name)
            if table.name in chosen and parts:
                self.merged.failed[table.name] = DefinitionChangedError(changed={table.name: parts})
            elif table.name in chosen:
                names += of_table
        return names

    def settled(self, only: Collection[str] = ()) -> Mapping[str, Timeline]:
        """The timelines of all that it writes, of these or all of them with nothing on them that is unfinished."""
        names = sorted(self._touched.intersection(only) if only else self._touched)
        self._timelines.update(
            zip(names, settled_timelines(self.context.spark, names, self.context.settings), strict=True)
        )
        self._touched.difference_update(names)
        return self._timelines

    def _merge_from(self, names: Sequence[str], after: str, source: Timeline, places: dict[str, str]) -> None:
        """Merge into tables and histories that are equally far, part by part; those that failed wait for the next run.

        So does a history of which the table failed, or has read less.
        """
        is_interval = self.context.interval is not None
        most = None if is_interval else int(self.context.settings.max_pull_mb * _MB)
        while True:
            names = [name for name in names if is_interval or not self._is_ahead(name, after, places)]
            if not names:
                return
            pull = plan_pull(source, after=after, most_bytes=most)
            if not source.writes or (pull.window.is_empty and not is_interval):
                return
            self.merged.resyncs += [pull.resync_reason] if pull.resync_reason else []
            self.merge_part(names, source, pull=None if is_interval else pull)
            self.merged.add_window(pull.window)
            if is_interval:
                return
            names = [name for name in names if not self._has_failed(name)]
            places |= dict.fromkeys(names, pull.checkpoint)
            self._remember(places)
            if not pull.has_more:
                return
            after = pull.checkpoint
            log.info("merged up to %s; there is more", after)

    def _has_failed(self, name: str) -> bool:
        """True for a table that failed or was blocked, and for its history with it."""
        table = self.context.spec.history_of(name) or self.context.spec.table(name)
        is_blocked = self.merged.blocked is not None and not table.is_mirror
        return is_blocked or not self.merged.failed.keys().isdisjoint({name, table.name})

    def _is_ahead(self, name: str, after: str, places: Mapping[str, str]) -> bool:
        """True for a history that would get further than its table."""
        if (table := self.context.spec.history_of(name)) is None:
            return False
        return self._has_failed(name) or Checkpoint.parse(places[table.name]) < Checkpoint.parse(after)

    def merge_part(
        self, names: Sequence[str], source: Timeline, *, pull: Pull | None = None, columns: Sequence[ColumnSpec] = ()
    ) -> None:
        """Merge a pull's events; without one those of the run's interval, or those with values of ``columns``."""
        # The newest one, also of events that are older: columns only ever come, and the row index knows them already.
        every = merged_tables(self.context.spec, read_book(source))
        chosen = [table for table in every if table.name in names]
        kept = [table for table in every if table.spec.history and table.spec.history_name in names]
        read = [table for table in every if not {*targets_of([table.spec])}.isdisjoint(names)]
        reading = LogReading(context=self.context, timeline=source, tables=read, has_times=bool(kept))
        events_df = reading.events(pull=pull, interval=self.context.interval, columns=columns)
        with pinned(self.context.spark, events_df, "events") as pinned_df:
            count, checkpoint = int(pinned_df.count()), pull.checkpoint if pull else ""
            self.merged.events += count
            if count and chosen:
                self.merge_events(pinned_df, chosen, every, checkpoint=checkpoint, count=count)
            kept = [table for table in kept if not self._has_failed(table.spec.history_name)]
            if count and kept:
                self._keep_histories(pinned_df, kept, checkpoint)

    def merge_events(
        self,
        events_df: DataFrame,
        tables: Sequence[MergedTable],
        every: Sequence[MergedTable],
        *,
        checkpoint: str,
        count: int,
    ) -> None:
        """Merge events with what is stored, and commit to each table that changed, side by side.

        Args:
            events_df: what :func:`spark_jobs.transforms.folding.select_events` gives, pinned and read.
            tables: the tables to merge into.
            every: all tables of the lake.
            checkpoint: goes into each commit unless it is empty.
            count: of the events.
        """
        width, timelines = width_of(every), self.settled()
        indexed = [table for table in every if table.name not in self._blocked]  # rows of those are of another form
        index = build_index(self.context.spec, indexed, self.context.settings)
        index.catch_up(self.context.spark, {table.name: timelines[table.name] for table in indexed})
        fed = {t.name for t in tables if t.name in self.context.spec.fed_tables and timelines[t.name].last}
        kept = sorted(fed | {table.name for table in tables if table.spec.removes_rows})
        cut = shuffled_into(self.context.spark, tasks_for(count, tables))
        with cut, pinned(self.context.spark, fold_events(events_df, tables, width), "folded") as folded_df:
            packed_df = index.find(folded_df.select(key_hash()))
            stored_df = None if packed_df is None else unpack_rows(packed_df, slot_names(width))
            merged_df = merge_rows(folded_df, stored_df, keep_stored=kept)
            # Every table's commit looks for its rows: in their order, it opens the few blocks that have some.
            with pinned(self.context.spark, merged_df.sortWithinPartitions(TABLE), "changed") as changed_df:
                with index.trusted():
                    passed = Gates(context=self.context, tables=every).check(changed_df, tables)
                self.merged.failed |= passed.failed
                self.merged.blocked = self.merged.blocked or passed.blocked
                self.merged.messages += passed.messages
                written = [table for table in tables if table.name in passed.metadata]
                if not written:
                    return
                is_all = not passed.failed and passed.blocked is None
                passed_df = changed_df if is_all else changed_df.where(F.col(TABLE).isin(*passed.metadata))
                self._touched.update(
                    keep_tombstones(self.context.spark, passed_df, written, self.context.spec, self.context.settings)
                )
                read_to = {checkpoint_key(self.context.spec.log): checkpoint} if checkpoint else {}
                metadata = {name: {**read_to, **of_table} for name, of_table in passed.metadata.items()}

                def write(table: MergedTable) -> TableOutcome | None:
                    return self._write(passed_df, table, timelines[table.name], metadata[table.name], table.name in fed)

                # What takes longest is begun first: at the end it would be at work alone.
                longest = sorted(written, key=lambda table: passed.rows[table.name].total, reverse=True)
                with ThreadPoolExecutor(self.context.settings.write_threads) as threads:
                    first = threads.map(write, [table for table in longest if table.name in fed])
                    rows_df = pack_rows(passed_df.drop(STORED, WAS_LIVE))
                    layer = threads.submit(index.write_layer, rows_df, most=count * rows_an_event(tables))
                    outcomes = [*threads.map(write, [table for table in longest if table.name not in fed]), *first]
                done = {each.table: each.instant or NO_INSTANT for each in outcomes if each}
                if len(done) == len(written):
                    index.accept(layer.result(), done)
                elif done:  # the layer has rows of a table that it has not
                    done_df = changed_df.where(F.col(TABLE).isin(*done)).drop(STORED, WAS_LIVE)
                    index.accept(index.write_layer(pack_rows(done_df)), done)

    def _write(
        self, changed_df: DataFrame, table: MergedTable, timeline: Timeline, metadata: Mapping[str, str], is_fed: bool
    ) -> TableOutcome | None:
        """Commit the changed rows of a table; None when it failed, which stops no other.

        Its first commit has no change feed: its readers begin with a snapshot.
        """
        layout = fit_layout(table_layout(table.spec), timeline)
        self._touched.add(table.name)
        try:
            metadata = {**metadata, **declared_form(table.spec, self.context.spec)}
            metadata |= column_forms(table) if table.spec.is_mirror else {}
            if is_fed:
                metadata |= write_changes(to_changes(changed_df, table), table.name, self.context.settings)
            rows_df = to_stored(changed_df, table)
            if table.spec.is_mirror:
                write_again(self.context.spark, table, timeline, layout, self.context.settings)
            # A first write is no upsert, and would keep rows that are to be taken out.
            is_first = timeline.last is None and not table.spec.removes_rows
            done = commit(rows_df, layout, metadata=metadata, settings=self.context.settings, is_first=is_first)
        except Exception as error:
            log.exception("%s: was not written", table.name)
            self.merged.failed[table.name] = error
            return None
        outcome = TableOutcome(table=table.name, instant=done.instant, rows=done.rows, is_committed=True)
        self.merged.add(outcome)
        return outcome

    def _keep_histories(self, events_df: DataFrame, tables: Sequence[MergedTable], checkpoint: str) -> None:
        """Write the histories after the tables that were made of these events: nothing is in a history alone."""
        names = {table.spec.history_name for table in tables}
        timelines = self.settled(names)
        self._touched.update(names)
        histories = Histories(context=self.context, timelines=timelines, merged=self.merged)
        histories.write(events_df, tables, {checkpoint_key(self.context.spec.log): checkpoint} if checkpoint else {})

    def _last(self, name: str) -> Instant | None:
        if name not in self._touched:
            return self._timelines[name].last
        return Timeline(table=name, path=self.context.settings.table_path(name)).last

    def _remember(self, places: Mapping[str, str]) -> None:
        """Keep how far every table is, also of those in which nothing changed."""
        registry = ConsumerRegistry(self.context.settings.base_path)
        last = {name: self._last(name) for name in targets_of(self.context.spec.tables)}
        slowest = {self.context.spec.log: furthest_behind(places.values())}
        state = ConsumerState(checkpoints=slowest, tables=last, places=dict(places))
        registry.write(SPLIT, state, self.context.clock)
        if self.context.spec.mirrors:
            registry.forget(OLD_MIRRORS)
            drop_old_index(self.context.spec, self.context.settings)
