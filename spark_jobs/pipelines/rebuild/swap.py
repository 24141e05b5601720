"""A table's rows replaced by those that the log gives by another definition, and taken back.

A history goes before its table. While the table is of the old definition nothing else writes to either, so a run that
dies between the two is run again. What is done says so in its commit, by the plan.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.context import AnyContext
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import BEGINNING
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.lake_spec.definitions import Parts
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import Deletes, TableSpec
from spark_jobs.marts.definitions import DECLARED
from spark_jobs.marts.undo import metadata_at
from spark_jobs.pipelines.column_forms import column_forms
from spark_jobs.pipelines.definitions import declared_form, stored_form
from spark_jobs.pipelines.merge.gates import Gates
from spark_jobs.pipelines.merge.tables import targets_of
from spark_jobs.pipelines.rebuild.rows import LogRows, log_timeline
from spark_jobs.storage.consumers import SPLIT, ConsumerState, checkpoint_key
from spark_jobs.storage.forms import REBUILT, TableForm, name_record_key
from spark_jobs.storage.layouts import TableLayout, history_layout, table_layout, tombstones_layout
from spark_jobs.storage.options import METADATA_PREFIX, Operation
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import plan_pull, read_snapshot, read_stored
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.replacing import replace_rows
from spark_jobs.storage.savepoints import Record
from spark_jobs.storage.services.purge import finish_plans
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit, fit_layout
from spark_jobs.transforms.histories import to_history
from spark_jobs.transforms.row_orders import to_tombstones
from spark_jobs.transforms.stored_rows import to_stored

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """The rebuild of tables by one plan.

    The caller holds the leases of all that ``split`` writes, and those of the services of the tables and their
    histories; and has kept the states that a way back needs.
    """

    context: AnyContext
    plan: str

    def run(self, name: str) -> list[TableOutcome]:
        """Put the rows that the log gives now in the place of a table's, and of its history's; what is done stays.

        Raises:
            GateStoppedError: the rows break what is expected of the table; it stays as it is.
        """
        table = self.context.spec.table(name)
        timelines = {target: self._settled(target) for target in targets_of([table])}
        if self._is_done(timelines[name]):
            return [_unchanged(timeline) for timeline in timelines.values()]
        pull = plan_pull(log_timeline(self.context.spec, self.context.settings), after=BEGINNING)
        rows = LogRows.of(self.context, name=name, pull=pull)
        metadata = {checkpoint_key(self.context.spec.log): pull.checkpoint, **declared_form(table, self.context.spec)}
        metadata |= column_forms(rows.table) if table.is_mirror else {}
        log.info("%s: making it again of %s up to %s", name, self.context.spec.log, pull.checkpoint)
        with rows.keyed() as keyed_df:
            quality = self._check(keyed_df, rows)
            outcomes = [self._history(rows, timelines[table.history_name], metadata)] if table.history else []
            self._keep_tombstones(keyed_df, table, stored_form(timelines[name]) or {})
            rows_df = to_stored(keyed_df, rows.table)
            return [*outcomes, self._replace(rows_df, table_layout(table), timelines[name], {**metadata, **quality})]

    def take_back(self, name: str, record: Record) -> list[TableOutcome]:
        """Put the rows that a table and its history had before the plan in their place once more, as one commit each.

        With them come back their definition, their form and how far they had read the log: what came since is read
        again once the files say the same. A table that the plan did not come to keeps its rows.
        """
        targets = targets_of([self.context.spec.table(name)])
        return [self._take_back(target, record) for target in targets if target in record.tables]

    def _take_back(self, target: str, record: Record) -> TableOutcome:
        timeline, instant = self._settled(target), record.tables[target]
        form, key, what_for = TableForm.stored(timeline), record.keys[target], f"undo {self.plan}"
        if form is None or not timeline.holds(instant):
            raise ContractError(f"{target}: its state of {instant} is not on the timeline any more")
        newest = timeline.newest_metadata(METADATA_PREFIX + REBUILT)
        if newest != self.plan:  # nothing was committed, or all was taken back by a run that died later
            if newest != what_for and form.record_key != key:
                name_record_key(timeline.path, key)
            return _unchanged(timeline)
        then = metadata_at(timeline, instant)
        read_to = checkpoint_key(self.context.spec.log)
        metadata = {DECLARED: "", **then, read_to: _place(target, record, then.get(read_to, BEGINNING))}
        then_df = read_stored(self.context.spark, timeline.path, as_of=instant)
        layout = fit_layout(replace(form, record_key=key).layout(target), timeline)
        done = replace_rows(
            then_df, layout, timeline, what_for=what_for, metadata=metadata, settings=self.context.settings
        )
        return TableOutcome(table=target, instant=done.instant, rows=done.rows, is_committed=True)

    def _settled(self, target: str) -> Timeline:
        """The timeline of a table on which nothing is unfinished, the plans of services neither."""
        timeline = settled_timeline(self.context.spark, target, self.context.settings)
        form = TableForm.stored(timeline)
        if timeline.pending_plans and form:
            finish_plans(self.context.spark, form.layout(target), self.context.settings)
            return settled_timeline(self.context.spark, target, self.context.settings)
        return timeline

    def _is_done(self, timeline: Timeline) -> bool:
        return timeline.newest_metadata(METADATA_PREFIX + REBUILT) == self.plan

    def _check(self, keyed_df: DataFrame, rows: LogRows) -> Mapping[str, str]:
        """Check the rows before anything is written; gives what the commit records of it."""
        gates = Gates(context=self.context, tables=rows.every)
        passed = gates.check(keyed_df, [rows.table])
        for error in (passed.blocked, *passed.failed.values()):
            if error is not None:
                raise error
        return passed.metadata.get(rows.table.name, {})

    def _history(self, rows: LogRows, timeline: Timeline, metadata: Mapping[str, str]) -> TableOutcome:
        """Put what the events say in the place of the history; one of which nothing was written is begun by split."""
        if timeline.last is None or self._is_done(timeline):
            return _unchanged(timeline)
        with rows.history() as versions_df:
            rows_df = to_history(versions_df, rows.table)
            return self._replace(rows_df, history_layout(rows.table.spec), timeline, metadata)

    def _replace(
        self, rows_df: DataFrame, layout: TableLayout, timeline: Timeline, metadata: Mapping[str, str]
    ) -> TableOutcome:
        layout = fit_layout(layout, timeline)
        done = replace_rows(
            rows_df, layout, timeline, what_for=self.plan, metadata=metadata, settings=self.context.settings
        )
        return TableOutcome(table=layout.name, instant=done.instant, rows=done.rows, is_committed=True)

    def _keep_tombstones(self, keyed_df: DataFrame, table: TableSpec, stored: Parts) -> None:
        """What was deleted, kept apart before the rows are without it.

        What is there of the table when it kept none was of an earlier definition, perhaps by another key: it goes.
        """
        for name in self.context.spec.tombstones if table.deletes is Deletes.REMOVE else ():
            timeline = settled_timeline(self.context.spark, name, self.context.settings)
            if timeline.last and stored.get("deletes") != Deletes.REMOVE.value:
                old_df = read_snapshot(self.context.spark, timeline.path).where(F.col("mirror") == table.name)
                self._commit_tombstones(old_df, name, Operation.DELETE)
            self._commit_tombstones(to_tombstones(keyed_df, [table.name]), name)

    def _commit_tombstones(self, rows_df: DataFrame, name: str, operation: Operation | None = None) -> None:
        with pinned(self.context.spark, rows_df, "tombstones") as pinned_df:
            if not pinned_df.isEmpty():
                commit(
                    pinned_df, tombstones_layout(name), metadata={}, settings=self.context.settings, operation=operation
                )


def targets_of_tables(spec: LakeSpec, names: Sequence[str]) -> list[str]:
    """These tables and their histories: what the rebuild of them writes."""
    return targets_of([spec.table(name) for name in names])


def _unchanged(timeline: Timeline) -> TableOutcome:
    return TableOutcome(table=timeline.table, instant=timeline.last, rows=0, is_committed=False)


def _place(target: str, record: Record, own: str) -> str:
    """How far a table had read the log, when its consumer's file knew better than its commit.

    Runs that changed no row make no commit. The file is of the table as it was kept when it names its newest change.
    """
    then = ConsumerState.from_content(record.consumers.get(SPLIT, {}))
    known = then.tables.get(target)
    return then.places.get(target, own) if known and known <= record.tables[target] else own
