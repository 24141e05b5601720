"""Rescale: a keyed table is rewritten in more buckets, when it has outgrown those it was made with."""

from __future__ import annotations

from dataclasses import replace

from spark_jobs.lake_spec.services import Service
from spark_jobs.storage.layouts import StorageForm
from spark_jobs.storage.options import METADATA_PREFIX, Operation
from spark_jobs.storage.reader import read_stored
from spark_jobs.storage.services.kind import Done, Facts, HeldKind, Need
from spark_jobs.storage.services.purge import finish_plans
from spark_jobs.storage.services.served import ServedTable
from spark_jobs.storage.timeline import SERVICE_KEY
from spark_jobs.storage.writer import buckets_of, commit, fit_layout

_MB = 1024 * 1024


class Rescale(HeldKind):
    """By doubling, so that a table that grows is seldom rewritten; never to fewer, unless a person requests it."""

    service = Service.RESCALE

    def need(self, facts: Facts) -> Need | None:
        """By the bytes in each bucket."""
        state, targets = facts.state, facts.targets
        if state.layout.form is not StorageForm.KEYED:
            return None
        declared, made_with = state.layout.buckets, buckets_of(state.layout, state.timeline)
        largest = max(state.read_bytes().values(), default=0) / _MB
        wanted = declared
        while largest / wanted > targets.bucket_mb:
            wanted *= 2
        return Need(
            table=state.layout.name,
            service=self.service,
            is_due=wanted > made_with,
            why=f"{largest / made_with:.1f} of {targets.bucket_mb} MB in each of {made_with} buckets; "
            f"{declared} declared, {wanted} would do",
            buckets=wanted,
        )

    def work(self, table: ServedTable, need: Need) -> Done:
        """Rewrite the table. Writers wait: what they would add meanwhile would be in the old buckets."""
        finish_plans(table.spark, table.layout, table.settings)
        fitting = fit_layout(table.layout, table.timeline())
        if fitting.buckets == need.buckets:
            return Done(did=need.why, is_done=False)
        done = commit(
            read_stored(table.spark, table.path),
            replace(fitting, buckets=need.buckets),
            metadata={SERVICE_KEY.removeprefix(METADATA_PREFIX): need.service.value},
            settings=table.settings,
            operation=Operation.INSERT_OVERWRITE,
        )
        return Done(did=f"{fitting.buckets} to {need.buckets} buckets, {done.rows} rows at {done.instant}")
