"""What is new in the log brought into mirrors: one read, one plan for all, then a commit for each that changed.

Every mirror has a checkpoint of its own. Those that are equally far are brought on together; one that failed, or is
new, is behind and is brought on by itself, so that it keeps no other waiting.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import JobArguments
from spark_jobs.contracts.errors import LakehouseError
from spark_jobs.contracts.instants import BEGINNING, InstantRange
from spark_jobs.contracts.mirrors import ROW_KEY, Deletes, MirrorSpec
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.contracts.schemas import TableSchema
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.jobs.columns import read_book
from spark_jobs.jobs.mirror_forms import column_forms, write_anew
from spark_jobs.jobs.mirror_gate import MirrorGates
from spark_jobs.storage.consumers import MIRRORS, ConsumerRegistry, ConsumerState, checkpoint_key, mirror_checkpoint
from spark_jobs.storage.layouts import mirror_layout, tombstones_layout
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import Pull, plan_pull, read_interval, read_pull, read_snapshot
from spark_jobs.storage.recovery import settled_timelines
from spark_jobs.storage.row_index import RowIndex
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit, fit_layout
from spark_jobs.transforms.mirrors import (
    MIRROR_EVENTS,
    MirrorTable,
    fold_mirrors,
    from_mirror,
    from_tombstones,
    slot_names,
    to_mirror,
    to_tombstones,
)
from spark_jobs.transforms.newest import KEY, STORED, TABLE, merge_rows, newest_rows
from spark_jobs.transforms.packed import key_hash, pack_rows, unpack_rows

_MB = 1024 * 1024

log = logging.getLogger(__name__)


@dataclass(kw_only=True)
class Brought:
    """What became of the mirrors: of each its outcome, or why it failed; what was read, and why from the start.

    ``told`` has a line for each expectation that rows broke, or that waits for a column.
    """

    outcomes: dict[str, TableOutcome] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)
    events: int = 0
    window: InstantRange | None = None
    resyncs: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def note(self, outcome: TableOutcome) -> None:
        """Add what one part came to for a table."""
        known = self.outcomes.get(outcome.table)
        rows, is_committed = (known.rows, known.is_committed) if known else (0, False)
        self.outcomes[outcome.table] = TableOutcome(
            table=outcome.table,
            instant=outcome.instant,
            rows=rows + outcome.rows,
            is_committed=is_committed or outcome.is_committed,
        )


@dataclass(frozen=True, kw_only=True)
class Mirroring:
    """One run over the mirrors of a lake, whose leases the caller holds; ``chosen`` are those that it brings on.

    A table is settled once, and again after this run wrote to it, or tried to: nobody else does meanwhile.
    """

    spark: SparkSession
    spec: LakeSpec
    arguments: JobArguments
    settings: Settings
    chosen: Sequence[MirrorSpec]
    brought: Brought = field(default_factory=Brought)
    _timelines: dict[str, Timeline] = field(default_factory=dict, init=False)
    _touched: set[str] = field(default_factory=set, init=False)

    def run(self) -> Brought:
        """Bring them on. A mirror that fails is told and left where it is; the others go on."""
        if not self.chosen:
            return self.brought
        source = Timeline(table=self.spec.log, path=self.settings.table_path(self.spec.log))
        source.check_version()
        self._touched.update((*(mirror.name for mirror in self.spec.mirrors), *self.spec.tombstones))
        timelines = self._settled()
        for mirror in self.spec.mirrors:
            timelines[mirror.name].check_type(mirror.type)
        state = ConsumerRegistry(self.settings.base_path).read(MIRRORS)
        places = {m.name: mirror_checkpoint(state, timelines[m.name], self.spec.log) for m in self.spec.mirrors}
        groups: dict[str, list[MirrorSpec]] = defaultdict(list)
        for mirror in self.chosen:
            groups[BEGINNING if self.arguments.interval else places[mirror.name]].append(mirror)
        for after in sorted(groups, reverse=True):
            self._bring_on(groups[after], after, source, places)
        for mirror in self.chosen:
            last = self._timelines[mirror.name].last
            self.brought.outcomes.setdefault(
                mirror.name, TableOutcome(table=mirror.name, instant=last, rows=0, is_committed=False)
            )
        return self.brought

    def _settled(self) -> Mapping[str, Timeline]:
        """The timelines of all mirrors and of what was deleted in them, with nothing on them that is unfinished."""
        names = sorted(self._touched)
        self._timelines.update(zip(names, settled_timelines(self.spark, names, self.settings), strict=True))
        self._touched.clear()
        return self._timelines

    def _bring_on(self, mirrors: Sequence[MirrorSpec], after: str, source: Timeline, places: dict[str, str]) -> None:
        """Bring on mirrors that are equally far, part by part; those that failed wait for the next run."""
        while True:
            is_interval = self.arguments.interval is not None
            most = None if is_interval else int(self.settings.max_pull_mb * _MB)
            pull = plan_pull(source, after=after, most_bytes=most)
            if not source.writes or (pull.window.is_empty and not is_interval):
                return
            self.brought.resyncs += [pull.resync_reason] if pull.resync_reason else []
            self._bring_on_part(mirrors, pull, source, is_interval=is_interval)
            window, known = pull.window, self.brought.window
            self.brought.window = (
                InstantRange(after=min(window.after, known.after), up_to=known.up_to) if known else window
            )
            if is_interval:
                return
            mirrors = [mirror for mirror in mirrors if mirror.name not in self.brought.failed]
            places |= dict.fromkeys((mirror.name for mirror in mirrors), pull.window.up_to)
            self._remember(places)
            if not pull.has_more or not mirrors:
                return
            after = pull.window.up_to

    def _bring_on_part(self, mirrors: Sequence[MirrorSpec], pull: Pull, source: Timeline, *, is_interval: bool) -> None:
        path, origins = self.settings.table_path(self.spec.log), [mirror.origin for mirror in mirrors]
        interval = self.arguments.interval
        read_df = read_interval(self.spark, path, interval) if interval else read_pull(self.spark, path, pull)
        if not {*MIRROR_EVENTS} <= {*read_df.columns}:  # a log of before the lake had mirrors
            return
        # The newest one, also of events that are older: columns only ever come, and the row index knows them already.
        book = read_book(source)
        tables = [MirrorTable(spec=m, columns=book.get(m.origin, TableSchema()).columns) for m in mirrors]
        events_df = read_df.where(F.col("source_table").isin(origins)).select(*MIRROR_EVENTS)
        with pinned(self.spark, events_df, "events") as pinned_df:
            count = int(pinned_df.count())
            self.brought.events += count
            if count:
                self._fold(pinned_df, tables, book, "" if is_interval else pull.window.up_to, count)

    def _fold(
        self,
        events_df: DataFrame,
        tables: Sequence[MirrorTable],
        book: Mapping[str, TableSchema],
        checkpoint: str,
        count: int,
    ) -> None:
        """Merge the events with what is stored, and commit to each mirror that changed, side by side."""
        every = [MirrorTable(spec=m, columns=book.get(m.origin, TableSchema()).columns) for m in self.spec.mirrors]
        width = max(len(table.columns) for table in every)
        timelines = self._settled()
        index = self._index(every, width)
        index.catch_up(self.spark, timelines)
        with pinned(self.spark, fold_mirrors(events_df, tables, width), "folded") as folded_df:
            packed_df = index.find(self.spark, folded_df.select(key_hash()), most=count)
            stored_df = None if packed_df is None else unpack_rows(packed_df, slot_names(width))
            kept = [mirror.name for mirror in self.spec.mirrors if mirror.removes_rows]
            merged_df = merge_rows(folded_df, stored_df, keep_stored=kept)
            # Every mirror's commit looks for its rows: in their order, it opens the few blocks that have some.
            with pinned(self.spark, merged_df.sortWithinPartitions(TABLE), "changed") as changed_df:
                gates = MirrorGates(spec=self.spec, tables=every, run=self.arguments, settings=self.settings)
                passed = gates.ask(changed_df, tables)
                self.brought.failed |= passed.failed
                self.brought.told += passed.told
                written = [table for table in tables if table.name in passed.said]
                if not written:
                    return
                passed_df = changed_df.where(F.col(TABLE).isin(*passed.said)) if passed.failed else changed_df
                self._keep_tombstones(passed_df, written)
                read_to = {checkpoint_key(self.spec.log): checkpoint} if checkpoint else {}
                said = {name: {**read_to, **of_table} for name, of_table in passed.said.items()}
                with ThreadPoolExecutor(self.settings.write_threads) as threads:
                    layer = threads.submit(index.write_layer, pack_rows(passed_df.drop(STORED)))
                    tried = list(
                        threads.map(lambda t: self._write(passed_df, t, timelines[t.name], said[t.name]), written)
                    )
                done = {each.table: each.instant or "" for each in tried if each}
                if len(done) == len(written):
                    index.accept(layer.result(), done)
                elif done:  # the layer has rows of a table that it has not
                    done_df = changed_df.where(F.col(TABLE).isin(*done)).drop(STORED)
                    index.accept(index.write_layer(pack_rows(done_df)), done)

    def _write(
        self, changed_df: DataFrame, table: MirrorTable, timeline: Timeline, said: Mapping[str, str]
    ) -> TableOutcome | None:
        """Commit the changed rows of a mirror, and what is said of them; None when it failed, which stops no other."""
        layout = fit_layout(mirror_layout(table.spec), timeline)
        self._touched.add(table.name)
        try:
            rows_df = to_mirror(changed_df, table)
            write_anew(self.spark, table, timeline, self.settings)
            # A first write is no upsert, and would keep rows that are to be taken out.
            is_first = timeline.last is None and not table.spec.removes_rows
            done = commit(
                rows_df, layout, metadata={**column_forms(table), **said}, settings=self.settings, is_first=is_first
            )
        except Exception as error:
            log.exception("%s: was not brought on", table.name)
            self.brought.failed[table.name] = error
            return None
        outcome = TableOutcome(table=table.name, instant=done.instant, rows=done.rows, is_committed=True)
        self.brought.note(outcome)
        return outcome

    def _keep_tombstones(self, changed_df: DataFrame, tables: Sequence[MirrorTable]) -> None:
        """What is about to be taken out of tables is kept first: that it was deleted must not be forgotten."""
        hard = [table.name for table in tables if table.spec.deletes is Deletes.HARD]
        for name in self.spec.tombstones if hard else ():
            with pinned(self.spark, to_tombstones(changed_df, hard), "tombstones") as tombstones_df:
                if tombstones_df.count():
                    self._touched.add(name)
                    commit(tombstones_df, tombstones_layout(name), metadata={}, settings=self.settings)

    def _index(self, tables: Sequence[MirrorTable], width: int) -> RowIndex:
        by_name = {table.name: table for table in tables}

        def pack(table: str, rows_df: DataFrame) -> DataFrame:
            keyed_df = from_mirror(rows_df, by_name[table], width)
            for name in self.spec.tombstones if by_name[table].spec.deletes is Deletes.HARD else ():
                path = self.settings.table_path(name)
                if Timeline(table=name, path=path).last:
                    deleted_df = from_tombstones(read_snapshot(self.spark, path), table, width)
                    # A run that died may have kept a delete that it did not carry out: the row is there as it was.
                    there_df = read_snapshot(self.spark, self.settings.table_path(table)).select(
                        F.col(ROW_KEY).alias(KEY)
                    )
                    keyed_df = keyed_df.unionByName(deleted_df.join(there_df, KEY, "left_anti"))
            return pack_rows(keyed_df)

        def merge(packed_df: DataFrame) -> DataFrame:
            return pack_rows(newest_rows(unpack_rows(packed_df, slot_names(width))))

        columns = {table.name: [ROW_KEY, *(column.source for column in table.columns)] for table in tables}
        return RowIndex(f"{self.spec.lake}.mirrors", columns, self.settings, pack=pack, merge=merge)

    def _last(self, name: str) -> str | None:
        if name not in self._touched:
            return self._timelines[name].last
        return Timeline(table=name, path=self.settings.table_path(name)).last

    def _remember(self, places: Mapping[str, str]) -> None:
        """Keep how far every mirror is, also of those in which nothing changed."""
        last = {mirror.name: self._last(mirror.name) for mirror in self.spec.mirrors}
        state = ConsumerState(checkpoints={self.spec.log: min(places.values())}, tables=last, notes=places)
        ConsumerRegistry(self.settings.base_path).write(MIRRORS, state, self.arguments.clock)


def exit_code_of(failed: Mapping[str, Exception]) -> int:
    """1 when trying again may help any of them."""
    return min((error.exit_code if isinstance(error, LakehouseError) else 1) for error in failed.values())
