"""Compaction: log files of a merge-on-read table are merged into base files, in the file groups that need it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from spark_jobs.contracts.instants import format_instant
from spark_jobs.lake_spec.services import Service, ServiceTargets
from spark_jobs.storage.services.compaction_plans import EVERY_GROUP, plan_options
from spark_jobs.storage.services.kind import Facts, Need, PlannedKind
from spark_jobs.storage.services.served import ServedTable
from spark_jobs.storage.services.state import TableState, UnmergedGroup


class Compaction(PlannedKind):
    """By the log files over a base file, or by how long it lacks a write: some engines see nothing else."""

    service = Service.COMPACTION
    action, procedure, operation = "compaction", "run_compaction", "run"

    def need(self, facts: Facts) -> Need | None:
        """By the file groups that are due."""
        state, targets = facts.state, facts.targets
        if not state.layout.is_merged:
            return None
        due, planned = list(_due(state, targets, facts.clock)), self.waiting(state)
        late = min((group.since for group in due if _is_late(group, targets, facts.clock)), default="")
        return Need(
            table=state.layout.name,
            service=self.service,
            is_due=bool(due or planned),
            why=planned
            or _most(state, targets)
            + (f"; a base file lacks what was written since {late}, for too long for its size" * bool(late))
            + (f"; {len(due)} of {sum(1 for _ in state.live_groups)} file groups" * bool(due)),
        )

    def plan(self, table: ServedTable, state: TableState, *, is_forced: bool) -> None:
        """The file groups that are due; when it is forced, all that have a log file.

        What Hudi leaves out though it is due is planned with all others: it is never left for good.
        """
        due = list(_due(state, table.targets, table.clock))
        options = EVERY_GROUP if is_forced else plan_options(state.unmerged_groups, due)
        table.call(self.procedure, {"op": "schedule"}, options)
        if not is_forced and not table.timeline().pending_plans:
            table.call(self.procedure, {"op": "schedule"}, EVERY_GROUP)


def _due(state: TableState, targets: ServiceTargets, clock: datetime) -> Iterator[UnmergedGroup]:
    """Those that reached a target, each by itself."""
    for group in state.unmerged_groups:
        if group.open_logs.is_due(targets) or _is_late(group, targets, clock):
            yield group


def _most(state: TableState, targets: ServiceTargets) -> str:
    """How far the file groups are that have most log files, and most bytes of them."""
    files = max((len(group.logs) for group in state.unmerged_groups), default=0)
    percent = max((group.open_logs.percent for group in state.unmerged_groups), default=0)
    return (
        f"{files} of {targets.compact_log_files} log files over a base file, "
        f"{percent:.0f} of {targets.compact_log_percent} % of its bytes"
    )


def _is_late(group: UnmergedGroup, targets: ServiceTargets, clock: datetime) -> bool:
    """Whether its base file has lacked a write for too long."""
    minutes = targets.minutes_for(group.base)
    if minutes is None or not group.since:
        return False
    return group.since <= format_instant(clock - timedelta(minutes=minutes))
