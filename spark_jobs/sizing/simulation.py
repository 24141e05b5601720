"""Days and years of micro-batches: how many files of which size the log and the tables have in the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.sizing.files import MB, History, KeyedFiles, LogFiles
from spark_jobs.sizing.hashing import even_number, unevenness
from spark_jobs.sizing.load import DAY_MINUTES, GB, Load, TableLoad
from spark_jobs.sizing.weights import TableWeight

SERVICES_MINUTES = 30
"""Between two looks of the DAG `table_services`."""
LATE, LATE_DAYS = 0.02, 3
"""Share of events that are late, and over how many days before they spread."""
BUCKET_MB = 1024
"""As large as a bucket gets on advice before it is rescaled."""
MOST_WRITING = 10
"""Times what landed that the compactions of all tables write a day, on advice."""
GROWING = 0.01
"""New rows an event from which on a table is looked at; the others stay as small as they are."""
_HOUR_MINUTES = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What is set otherwise than shipped: larger buckets, of an even number from the start, and seldom compactions."""

    is_followed: bool = False

    def targets(self, load: Load, spec: LakeSpec, name: str, *, day: int) -> ServiceTargets:
        """For the table as it is on the last day."""
        shipped = spec.targets(name)
        if not self.is_followed:
            return shipped
        minutes = max(shipped.compact_most_minutes, compact_after(load, spec, day=day))
        return replace(
            shipped,
            bucket_mb=max(shipped.bucket_mb, BUCKET_MB),
            compact_most_minutes=minutes,
            compact_log_files=max(shipped.compact_log_files, ceil(minutes / load.batch_minutes)),
        )

    def buckets(self, declared: int, targets: ServiceTargets, table: TableLoad) -> int:
        """Enough of half the size at which rescale is due, and a number that spreads evenly."""
        return buckets_for(table, targets) if self.is_followed else declared


def growing_tables(load: Load, spec: LakeSpec) -> list[TableSpec]:
    """Those that get new rows all the time; ContractError for a lake whose tables were not weighed."""
    if unknown := [table.name for table in spec.tables if table.name not in load.weights.tables]:
        raise ContractError(f"lake {spec.lake}: tables {unknown} were not weighed; sizing knows those of `bench sizes`")
    return [table for table in spec.tables if load.weights.tables[table.name].new_rows >= GROWING]


def buckets_for(table: TableLoad, targets: ServiceTargets) -> int:
    """As many as are half as large as rescale allows."""
    return even_number(ceil(table.bytes / (targets.bucket_mb * MB / 2)))


def compact_after(load: Load, spec: LakeSpec, *, day: int) -> int:
    """Minutes between two compactions of all tables that write ``MOST_WRITING`` times what landed on that day."""
    whole = sum(load.table(load.weights.tables[table.name], day=day).bytes for table in growing_tables(load, spec))
    return ceil(DAY_MINUTES * whole / (MOST_WRITING * load.gb_per_day * GB))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A table at the end of a day; ``written`` is in bytes of that day, services included."""

    table: str
    day: int
    bytes: float
    groups: int
    largest_group: float
    """Bytes of the largest file group with its log files, at most that day; of the log, those of its target files."""
    files_a_commit: float
    live_files: float
    """That a reader of all of it opens, at most that day; the services look when it is most."""
    log_files: float
    """Over a base file, at most that day; the event log has none."""
    most_files: float
    """In a listing, on any day so far."""
    merges_a_day: float
    """Compactions or clusterings."""
    written: float
    written_so_far: float
    """Of all days up to this one."""
    commits: int
    """On the timeline."""


def simulate(load: Load, spec: LakeSpec, *, days: Sequence[int], advice: Advice) -> Iterator[Outcome]:
    """The log and every table that was weighed and grows with the events, at the end of each of ``days``."""
    yield from _log(load, spec.log, spec.targets(spec.log), days)
    for table in growing_tables(load, spec):
        weight = load.weights.tables[table.name]
        last = load.table(weight, day=max(days))
        targets = advice.targets(load, spec, table.name, day=max(days))
        yield from _keyed(load, table.name, weight, targets, advice.buckets(table.buckets, targets, last), days)


def _keyed(
    load: Load, name: str, weight: TableWeight, targets: ServiceTargets, buckets: int, days: Sequence[int]
) -> Iterator[Outcome]:
    files = KeyedFiles(history=history_of(load, targets), buckets=buckets)
    for day, looks in days_of(load, max(days)):
        table = load.table(weight, day=day)
        new, logs, changed = table.new_bytes, table.log_bytes, table.changed_rows
        before, merges = files.history.written, files.compactions
        live_files = log_files = largest = 0.0
        for commits in looks:
            touched = table.touched(files.buckets)
            files.write(commits, touched=min(touched, changed), new=new, logs=logs)
            live_files, log_files = max(live_files, files.live_files), max(log_files, files.log_files)
            largest = max(largest, (files.base + files.logs) / files.buckets * unevenness(files.buckets))
            files.serve()
        if day in days:
            yield Outcome(
                table=name,
                day=day,
                bytes=files.base + files.logs,
                groups=files.buckets,
                largest_group=largest,
                files_a_commit=table.touched(files.buckets),
                live_files=live_files,
                log_files=log_files,
                most_files=files.history.most_files,
                merges_a_day=files.compactions - merges,
                written=files.history.written - before,
                written_so_far=files.history.written,
                commits=files.history.active,
            )


def _log(load: Load, name: str, targets: ServiceTargets, days: Sequence[int]) -> Iterator[Outcome]:
    files, size = LogFiles(history=history_of(load, targets)), load.batch_events * load.weights.log
    for day, looks in days_of(load, max(days)):
        sizes: Mapping[int, float] = {day: size * (1 - LATE)}
        sizes = {**sizes, **{day - back: size * LATE / LATE_DAYS for back in range(1, LATE_DAYS + 1)}}
        before, merges = files.history.written, files.clusterings
        for commits in looks:
            files.write(commits, dict(sizes))
            files.serve()
        if day in days:
            yield Outcome(
                table=name,
                day=day,
                bytes=files.bytes,
                groups=files.live_files,
                largest_group=targets.target_file_mb * MB,
                files_a_commit=sum(-(-each // (targets.target_file_mb * MB)) for each in sizes.values()),
                live_files=files.live_files,
                log_files=0,
                most_files=files.history.most_files,
                merges_a_day=files.clusterings - merges,
                written=files.history.written - before,
                written_so_far=files.history.written,
                commits=files.history.active,
            )


def history_of(load: Load, targets: ServiceTargets) -> History:
    """The timeline of a table before its first commit."""
    kept = -(-targets.keep_hours * _HOUR_MINUTES // load.batch_minutes)
    return History(targets=targets, kept_commits=kept, batch_minutes=load.batch_minutes)


def days_of(load: Load, last: int) -> Iterator[tuple[int, list[int]]]:
    """Each day and how many commits come before each look of the services in it."""
    batches, looks = int(load.batches_a_day), DAY_MINUTES // max(SERVICES_MINUTES, load.batch_minutes)
    counts = [batches * (look + 1) // looks - batches * look // looks for look in range(looks)]
    for day in range(1, last + 1):
        yield day, counts
