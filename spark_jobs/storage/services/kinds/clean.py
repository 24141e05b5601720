"""Clean: files that no kept state of the table needs are removed."""

from __future__ import annotations

import logging

from spark_jobs.lake_spec.services import Service
from spark_jobs.storage.services.kind import Done, Facts, HeldKind, Need
from spark_jobs.storage.services.served import ServedTable

_MB = 1024 * 1024

log = logging.getLogger(__name__)


class Clean(HeldKind):
    """By files that can go; nothing that a consumer or a savepoint needs."""

    service = Service.CLEAN

    def need(self, facts: Facts) -> Need | None:
        """By the files that no state needs which has to stay."""
        state, retention, targets = facts.state, facts.retention, facts.targets
        files = list(state.superseded(retention.earliest))
        size = sum(file.size for file in files) / _MB
        cut_off = state.timeline.pending_cleans  # perhaps after the last file: then no file makes it due any more
        return Need(
            table=state.layout.name,
            service=self.service,
            is_due=len(files) >= targets.clean_files or bool(cut_off),
            why=(f"begun at {cut_off[0]} and not finished; " if cut_off else "")
            + f"{len(files)} of {targets.clean_files} files can go ({size:.1f} MB); "
            f"states since {retention.earliest} stay for {retention.held_by}",
            keep_commits=retention.commits,
        )

    def work(self, table: ServedTable, need: Need) -> Done:
        """Remove them, and see which are gone."""
        before = table.superseded()
        table.call("run_clean", {"clean_policy": "KEEP_LATEST_COMMITS", "retain_commits": need.keep_commits})
        left = table.superseded() & before
        if left:
            log.warning("%s: clean could not remove %s", table.name, ", ".join(sorted(left)[:20]))
        return Done(did=f"{len(before - left)} files removed" + (f", {len(left)} could not be" if left else ""))
