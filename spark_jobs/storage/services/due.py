"""Which services a table needs now, and why: from its own state and its targets, not from the clock alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_jobs.contracts.instants import format_instant
from spark_jobs.lake_spec.services import Service, ServiceTargets
from spark_jobs.storage.consumers import ConsumerState
from spark_jobs.storage.layouts import StorageForm
from spark_jobs.storage.services.retention import Retention, newest_with_metadata, plan_retention
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.writer import buckets_of

_MB = 1024 * 1024
_PLANNED_AS = {"compaction": Service.COMPACTION, "replacecommit": Service.CLUSTERING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What one service would find in a table.

    ``keep_commits`` is how many of the newest writes it has to leave, ``buckets`` in how many it writes the table.
    """

    table: str
    service: Service
    is_due: bool
    why: str
    keep_commits: int = 0
    buckets: int = 0


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
    needs = (
        *_rescale(state, targets),
        *_compaction(state, targets, clock),
        *_clustering(state, targets),
        _clean(state, retention, targets),
        _archive(state, retention, targets),
    )
    return TableNeeds(needs=needs, warnings=tuple(_warnings(state, retention, targets)))


def _rescale(state: TableState, targets: ServiceTargets) -> Iterator[Need]:
    """By doubling, so that a table that grows is seldom rewritten; never to fewer, unless a person asks for it."""
    if state.layout.form is not StorageForm.KEYED:
        return
    declared, made_with = state.layout.buckets, buckets_of(state.layout, state.timeline)
    largest = max(state.read_bytes().values(), default=0) / _MB
    wanted = declared
    while largest / wanted > targets.bucket_mb:
        wanted *= 2
    yield Need(
        table=state.layout.name,
        service=Service.RESCALE,
        is_due=wanted > made_with,
        why=f"{largest / made_with:.1f} of {targets.bucket_mb} MB in each of {made_with} buckets; "
        f"{declared} declared, {wanted} would do",
        buckets=wanted,
    )


def _compaction(state: TableState, targets: ServiceTargets, clock: datetime) -> Iterator[Need]:
    """By log files over a base file, or by how long base files lack a write: some engines see nothing else."""
    if not state.layout.is_merged:
        return
    most = max((len(group.slices[-1].logs) for group in state.live_groups), default=0)
    planned, late = _planned(state, Service.COMPACTION), _unmerged(state, targets, clock)
    yield Need(
        table=state.layout.name,
        service=Service.COMPACTION,
        is_due=most >= targets.compact_log_files or bool(planned or late),
        why=planned or f"{most} of {targets.compact_log_files} log files over a base file{late}",
    )


def _unmerged(state: TableState, targets: ServiceTargets, clock: datetime) -> str:
    """Says since when base files lack a write, or "" while that is not too long ago."""
    if targets.compact_minutes is None or not state.unmerged_since:
        return ""
    latest = format_instant(clock - timedelta(minutes=targets.compact_minutes))
    if state.unmerged_since > latest:
        return ""
    return f"; base files lack what was written since {state.unmerged_since}, over {targets.compact_minutes} minutes"


def _clustering(state: TableState, targets: ServiceTargets) -> Iterator[Need]:
    if state.layout.form is not StorageForm.APPENDED:
        return  # the files of other tables are the buckets of their keys: see rescale
    small = state.small_files(targets.small_file_mb * _MB)
    many = [partition for partition, count in small.items() if count >= targets.cluster_small_files]
    most = max(small.values(), default=0)
    found = f"{most} of {targets.cluster_small_files} small files in a partition"
    why = _planned(state, Service.CLUSTERING) or (f"{found}, in {len(many)} partitions" if len(many) > 1 else found)
    is_due = bool(many) or bool(_planned(state, Service.CLUSTERING))
    yield Need(table=state.layout.name, service=Service.CLUSTERING, is_due=is_due, why=why)


def _clean(state: TableState, retention: Retention, targets: ServiceTargets) -> Need:
    files = list(state.superseded(retention.earliest))
    size = sum(file.size for file in files) / _MB
    cut_off = state.timeline.pending_cleans  # perhaps after the last file: then no file asks for it any more
    return Need(
        table=state.layout.name,
        service=Service.CLEAN,
        is_due=len(files) >= targets.clean_files or bool(cut_off),
        why=(f"begun at {cut_off[0]} and not finished; " if cut_off else "")
        + f"{len(files)} of {targets.clean_files} files can go ({size:.1f} MB); "
        f"states since {retention.earliest} stay for {retention.held_by}",
        keep_commits=retention.commits,
    )


def _archive(state: TableState, retention: Retention, targets: ServiceTargets) -> Need:
    writes = state.timeline.writes
    known_from = newest_with_metadata(state.timeline) if len(writes) > targets.archive_commits else writes[-1].time
    needed = sum(1 for write in writes if write.time >= min(retention.earliest, known_from))
    keep = max(needed, targets.archive_commits // 2)
    return Need(
        table=state.layout.name,
        service=Service.ARCHIVE,
        is_due=len(writes) > targets.archive_commits and keep < len(writes),
        why=f"{len(writes)} of {targets.archive_commits} commits on the timeline; {needed} have to stay",
        keep_commits=keep,
    )


def _planned(state: TableState, service: Service) -> str:
    """Says that a plan of this service waits to be carried out, or ""."""
    waiting = [time for time, action in state.timeline.pending_plans.items() if _PLANNED_AS[action] is service]
    return f"planned at {waiting[0]} and not finished" if waiting else ""


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
