"""Compaction: log files of a merge-on-read table are merged into base files."""

from __future__ import annotations

from datetime import timedelta

from spark_jobs.contracts.instants import format_instant
from spark_jobs.lake_spec.services import Service
from spark_jobs.storage.options import Hudi
from spark_jobs.storage.services.kind import Facts, Need, PlannedKind
from spark_jobs.storage.services.served import ServedTable
from spark_jobs.storage.services.state import TableState


class Compaction(PlannedKind):
    """By log files over a base file, or by how long base files lack a write: some engines see nothing else."""

    service = Service.COMPACTION
    action, procedure, operation = "compaction", "run_compaction", "run"

    def need(self, facts: Facts) -> Need | None:
        """By the most log files of a file group, and the age of what base files lack."""
        state, targets = facts.state, facts.targets
        if not state.layout.is_merged:
            return None
        most = max((len(group.slices[-1].logs) for group in state.live_groups), default=0)
        planned, late = self.waiting(state), _unmerged(facts)
        return Need(
            table=state.layout.name,
            service=self.service,
            is_due=most >= targets.compact_log_files or bool(planned or late),
            why=planned or f"{most} of {targets.compact_log_files} log files over a base file{late}",
        )

    def plan(self, table: ServedTable, state: TableState, *, is_forced: bool) -> None:
        """All file groups that have a log file."""
        table.call(self.procedure, {"op": "schedule"}, {Hudi.COMPACT_AFTER: "1"})


def _unmerged(facts: Facts) -> str:
    """Says since when base files lack a write, or "" while that is not too long ago."""
    minutes, since = facts.targets.compact_minutes, facts.state.unmerged_since
    if minutes is None or not since:
        return ""
    if since > format_instant(facts.clock - timedelta(minutes=minutes)):
        return ""
    return f"; base files lack what was written since {since}, over {minutes} minutes"
