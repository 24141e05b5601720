"""Archive: old instants leave the active timeline, whose length every reader and writer pays for."""

from __future__ import annotations

from spark_jobs.lake_spec.services import Service
from spark_jobs.storage.procedures import call
from spark_jobs.storage.services.kind import Done, Facts, HeldKind, Need
from spark_jobs.storage.services.retention import newest_with_metadata
from spark_jobs.storage.services.served import ServedTable


class Archive(HeldKind):
    """By commits on the timeline; none that a consumer has yet to read, or that knows a checkpoint."""

    service = Service.ARCHIVE

    def need(self, facts: Facts) -> Need | None:
        """By the number of commits, and of those that have to stay."""
        writes, retention, targets = facts.state.timeline.writes, facts.retention, facts.targets
        is_long = len(writes) > targets.archive_commits
        known_from = newest_with_metadata(facts.state.timeline) if is_long else writes[-1].time
        needed = sum(1 for write in writes if write.time >= min(retention.earliest, known_from))
        keep = max(needed, targets.archive_commits // 2)
        return Need(
            table=facts.state.layout.name,
            service=self.service,
            is_due=is_long and keep < len(writes),
            why=f"{len(writes)} of {targets.archive_commits} commits on the timeline; {needed} have to stay",
            keep_commits=keep,
        )

    def work(self, table: ServedTable, need: Need) -> Done:
        """Archive all but those that are kept."""
        before, keep = len(table.timeline().writes), need.keep_commits
        kept = {"min_commits": keep, "max_commits": keep + 1, "retain_commits": max(keep - 1, 1)}
        call(table.spark, table.name, table.path, "archive_commits", {**kept, "enable_metadata": False})
        return Done(did=f"{before - len(table.timeline().writes)} of {before} commits archived")
