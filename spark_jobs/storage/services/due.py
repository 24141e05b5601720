"""Which services a table needs now, and why: from its own state and its targets, not from the clock alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.storage.consumers import ConsumerState
from spark_jobs.storage.services.kind import Facts, Need
from spark_jobs.storage.services.registry import KINDS
from spark_jobs.storage.services.retention import Retention, plan_retention
from spark_jobs.storage.services.state import TableState


@dataclass(frozen=True, slots=True, kw_only=True)
class TableNeeds:
    """The needs of a table, in the order of the services; ``warnings`` are about those who read it."""

    needs: tuple[Need, ...] = ()
    warnings: tuple[str, ...] = ()


def find_needs(
    state: TableState, consumers: Mapping[str, ConsumerState], targets: ServiceTargets, clock: datetime
) -> TableNeeds:
    """Look at one table; a table without a commit needs nothing."""
    retention = plan_retention(state.timeline, consumers, targets, clock)
    if retention is None:
        return TableNeeds()
    facts = Facts(state=state, retention=retention, targets=targets, clock=clock)
    needs = (kind.need(facts) for kind in KINDS.values())
    return TableNeeds(needs=tuple(filter(None, needs)), warnings=tuple(_warnings(state, retention, targets)))


def _warnings(state: TableState, retention: Retention, targets: ServiceTargets) -> Iterator[str]:
    table = state.layout.name
    for consumer in retention.lost:
        yield f"{table}: consumer {consumer} has lost its place on the timeline and will read the whole table"
    is_behind = retention.held_by.startswith("consumer ") and retention.commits > targets.archive_commits // 2
    if is_behind:
        yield (
            f"{table}: {retention.held_by} is {retention.commits} commits behind, and nothing newer than its place can "
            f"be cleaned or archived; run it, or forget it with: consumers forget"
        )
