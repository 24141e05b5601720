"""One load on its way into its table: files decoded, every row given its fate, judged, then committed.

Every row that was read is accounted for: it is written, or in the quarantine, or it changes nothing, because a later
row has its key, the table has it already, or its content is in the quarantine already.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.context import AnyContext
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.lake_spec.loads import LoadOperation, LoadSpec
from spark_jobs.pipelines.account import check_balance
from spark_jobs.pipelines.ingestion.intake import commit_rejections
from spark_jobs.quality.gate import Gate, judge_rows
from spark_jobs.quality.holds import let_pass
from spark_jobs.quality.verdicts import QUALITY_KEY, Verdict, to_metadata
from spark_jobs.sources.load_files import LoadFiles
from spark_jobs.sources.load_values import decode_files
from spark_jobs.storage.change_feed import write_changes
from spark_jobs.storage.layouts import load_layout
from spark_jobs.storage.options import METADATA_PREFIX, Operation
from spark_jobs.storage.partitions import OPERATION_KEY
from spark_jobs.storage.pinned import pinned
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.recovery import check_still
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import commit, fit_layout
from spark_jobs.transforms.loads import (
    Fate,
    has_fate,
    is_set_aside,
    is_usable,
    select_rejections,
    select_rows,
    set_aside,
    to_changes,
    with_fates,
    with_keys,
)

_LOADS_KEY = "loads"
"""Under which a commit keeps the fingerprints of the newest loads, its own the last."""
_MOST_KNOWN = 256
_MOST_PARTITIONS = 1000
"""Named one by one in a read."""
_WRITTEN_AS = {
    LoadOperation.INSERT_OVERWRITE: Operation.INSERT_OVERWRITE,
    LoadOperation.INSERT_OVERWRITE_TABLE: Operation.INSERT_OVERWRITE_TABLE,
    LoadOperation.DELETE: Operation.DELETE,
}
"""All others are the upsert that the table's form has: what they leave out was found out before."""


def known_loads(timeline: Timeline) -> list[str]:
    """Fingerprints of the newest loads that the table holds, oldest first."""
    known: list[str] = json.loads(timeline.newest_metadata(METADATA_PREFIX + _LOADS_KEY) or "[]")
    return known


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadFacts:
    """What was found of the rows of a load before any of them is written."""

    read: int
    fates: Mapping[Fate, int]
    """How many rows have each."""
    checked: Mapping[str, Any]
    """What the gate's aggregates gave, by their names."""


@dataclass(kw_only=True)
class Loading:
    """One load, for a table and a quarantine whose leases the caller holds; ``rows`` counts what was written."""

    context: AnyContext
    load: LoadSpec
    files: LoadFiles
    operation: LoadOperation
    timeline: Timeline
    quarantine_timeline: Timeline
    rows: dict[str, int] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    rejected: int = 0
    """Rows that could not be used, also those that the quarantine had already."""

    def commit(self) -> list[TableOutcome]:
        """Commit what cannot be used to the quarantine, then the others; gives the table's outcome first.

        Raises:
            ContractError: a bulk insert of a key that is there; nothing was written.
            GateStoppedError: an expectation stops the load; nothing was written.
            UnbalancedError: what was written is not what was read.
            TransientError: another writer was at work, or a file changed.
        """
        gate = Gate.of(self.context.spec, self.load.name)
        keeps_raw = bool(gate.sets_aside) and self._is_judged
        decoded_df = decode_files(self.context.spark, self.load, self.files, self.operation, keeps_raw=keeps_raw)
        decoded_df = with_keys(decoded_df, self.load)
        if keeps_raw:
            decoded_df = set_aside(decoded_df, gate.broken_rules(decoded_df.schema))
        with pinned(self.context.spark, decoded_df, "decoded") as decoded_df:
            fated_df = with_fates(decoded_df, self.load, self.operation, self._stored(decoded_df))
            with pinned(self.context.spark, fated_df, "fated") as fated_df:
                facts = self._measure(fated_df, gate)
                self.rejected = facts.fates[Fate.REJECTED]
                self.files.check_still()
                self._judge(gate, facts)
                quarantine = self._commit_rejected(fated_df, facts)
                return [self._commit_rows(fated_df, facts), quarantine]

    @property
    def _is_judged(self) -> bool:
        """False where rows are named by their keys alone."""
        return self.operation is not LoadOperation.DELETE

    def _stored(self, decoded_df: DataFrame) -> DataFrame | None:
        """The record keys of the table, of the partitions that the rows name."""
        if not self.timeline.last or not self.operation.looks_up:
            return None
        stored_df, partition = read_snapshot(self.context.spark, self.timeline.path), self.load.partition_column
        if partition:
            named_df = decoded_df.where(is_usable()).select(partition).distinct().limit(_MOST_PARTITIONS + 1)
            named = [row[0] for row in named_df.collect()]
            if len(named) <= _MOST_PARTITIONS:
                stored_df = stored_df.where(F.col(partition).isin(named))
        return stored_df.select(self.load.record_key)

    def _measure(self, fated_df: DataFrame, gate: Gate) -> LoadFacts:
        checked = has_fate(Fate.WRITTEN) | is_set_aside()
        row = fated_df.agg(
            F.count("*").alias("read"),
            *(F.count_if(has_fate(fate)).alias(fate.value) for fate in Fate),
            *(gate.aggregates(fated_df.schema, of=checked) if self._is_judged else ()),
        ).first()
        found: dict[str, Any] = row.asDict() if row else {}
        return LoadFacts(read=found["read"], fates={fate: found[fate.value] for fate in Fate}, checked=found)

    def _judge(self, gate: Gate, facts: LoadFacts) -> None:
        if self.operation is LoadOperation.BULK_INSERT and facts.fates[Fate.NEEDLESS]:
            raise ContractError(
                f"{self.load.name}: {facts.fates[Fate.NEEDLESS]:,} keys of the bulk_insert are there already, so "
                f"nothing was written; use insert to add the others, or upsert"
            )
        verdicts = list(gate.judge(facts.checked)) if self._is_judged else []
        if limit := self.context.spec.quarantine_limit.expectation(self.load.name):
            verdicts.append(judge_rows(limit, checked=facts.read, broken=facts.fates[Fate.REJECTED]))
        run = self.context
        passed = let_pass({self.load.name: verdicts}, job=run.job, clock=run.clock, settings=self.context.settings)
        self.verdicts.extend(passed[self.load.name])

    def _commit_rejected(self, fated_df: DataFrame, facts: LoadFacts) -> TableOutcome:
        table, timeline = self.context.spec.quarantine, self.quarantine_timeline
        rejected, contents = facts.fates[Fate.REJECTED], 0
        outcome = TableOutcome(table=table, instant=timeline.last, rows=0, is_committed=False)
        if rejected:
            rejections_df = select_rejections(fated_df, self.load, self.context.clock)
            outcome, contents = commit_rejections(self.context, rejections_df, timeline)
        self.rows["read"], self.rows["quarantined"] = facts.read, outcome.rows
        self.rows["duplicates"] = facts.fates[Fate.REPEATED] + facts.fates[Fate.NEEDLESS] + rejected - contents
        return outcome

    def _commit_rows(self, fated_df: DataFrame, facts: LoadFacts) -> TableOutcome:
        table, timeline = self.load.name, self.timeline
        self.rows["written"] = facts.fates[Fate.WRITTEN]
        check_balance(table, self.rows)
        if not facts.fates[Fate.WRITTEN]:
            return TableOutcome(table=table, instant=timeline.last, rows=0, is_committed=False)
        known = [each for each in known_loads(timeline) if each != self.files.fingerprint]
        metadata = {
            _LOADS_KEY: json.dumps([*known, self.files.fingerprint][-_MOST_KNOWN:], separators=(",", ":")),
            OPERATION_KEY: self.operation.value,
            QUALITY_KEY: to_metadata(self.rows, self.verdicts),
        }
        check_still(timeline)
        is_first, rows_df = timeline.last is None, select_rows(fated_df, self.load)
        metadata |= self._write_feed(rows_df)
        done = commit(
            rows_df,
            fit_layout(load_layout(self.load), timeline),
            metadata=metadata,
            settings=self.context.settings,
            is_first=is_first,
            operation=None if is_first else _WRITTEN_AS.get(self.operation),
        )
        check_balance(table, {**self.rows, "written": done.rows})
        return TableOutcome(table=table, instant=done.instant, rows=done.rows, is_committed=True)

    def _write_feed(self, rows_df: DataFrame) -> dict[str, str]:
        """Write the change feed of the commit, when some mart reads the table by its changes.

        Readers begin with a snapshot of the first commit, and of one that replaced rows.
        """
        name, is_fed = self.load.name, self.load.name in self.context.spec.fed_tables
        if not is_fed or self.timeline.last is None or self.operation.replaces:
            return {}
        stored_df = read_snapshot(self.context.spark, self.timeline.path)
        is_delete = self.operation is LoadOperation.DELETE
        changes_df = to_changes(rows_df, stored_df, self.load, is_delete=is_delete)
        return write_changes(changes_df, name, self.context.settings)
