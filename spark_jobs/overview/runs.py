"""One run that wrote a table: what it read, what it wrote, and what went to the same places beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import Instant, format_instant, moment_of
from spark_jobs.contracts.names import show
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.cache import CACHE, LakeCache
from spark_jobs.overview.commits import THREADS, commits_of
from spark_jobs.overview.kinds import kinds_of
from spark_jobs.overview.models import CommitKind, CommitOverview, ReadWindow, RunOverview, TableKind
from spark_jobs.quality.holds import Holds
from spark_jobs.storage.consumers import checkpoint_key
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import RUN_KEY

_OF_LOG = (TableKind.TABLE, TableKind.HISTORY, TableKind.DELETED)
_BESIDE = timedelta(hours=6)
"""So far from a commit others are looked for that its run, or a repetition of it, wrote."""
_INSTANT, _RUN = re.compile(r"\d{17}"), re.compile(r"[0-9a-f]{32}")


def run_overview(
    spec: LakeSpec, settings: Settings, run: str, *, table: str = "", cache: LakeCache = CACHE
) -> RunOverview:
    """What the run did whose commit has this key, or this instant.

    A commit names the write that made it, and not the job: what one run, or a run and its repetition, wrote in several
    tables is found by the places up to which the commits have read.

    Args:
        spec: of the lake.
        settings: where it is.
        run: the key of a write as commits keep it, 32 hexadecimal digits, or an instant.
        table: where it is looked for; in all tables without.
        cache: what was read before.

    Raises:
        ContractError: no commit has it, or several have.
    """
    if not _INSTANT.fullmatch(run) and not _RUN.fullmatch(run):
        raise ContractError(f"{show(run)} is neither the key of a write (32 digits 0-9a-f) nor an instant (17 digits)")
    if table:
        spec.check_has(table)
    names = [table] if table else spec.table_names
    with ThreadPoolExecutor(THREADS) as threads:
        listed = threads.map(lambda name: cache.timeline(name, settings.table_path(name)), spec.table_names)
        timelines = dict(zip(spec.table_names, listed, strict=True))
        found = [each for part in threads.map(lambda n: _find(timelines[n], run), names) for each in part]
    if len(found) != 1:
        where = ", ".join(name for name, _ in found)
        raise ContractError(
            f"commits of {where} have {run}; name the table" if found else f"no commit on a timeline has {run}"
        )
    name, instant = found[0]
    commit = _commit_at(spec, timelines[name], instant)
    return RunOverview(
        commit=commit,
        read=tuple(_windows(timelines[name], commit)),
        beside=tuple(_beside(spec, timelines, commit)),
        held=tuple(hold for hold in Holds(settings).held() if _is_beside(spec, name, hold.table)),
        before=next((write.time for write in reversed(timelines[name].writes) if write.time < instant), None),
    )


def newest_run(spec: LakeSpec, settings: Settings, table: str, *, cache: LakeCache = CACHE) -> Instant:
    """The instant of the newest write of a table, services left out; ContractError when nothing was written yet."""
    spec.check_has(table)
    timeline = cache.timeline(table, settings.table_path(table))
    timeline.check_readable()
    found = next((write.time for write in reversed(timeline.writes) if not timeline.is_service(write)), None)
    if found is None:
        raise ContractError(f"nothing was written to {table} yet; run the job that makes it")
    return found


def _find(timeline: Timeline, run: str) -> list[tuple[str, Instant]]:
    if _INSTANT.fullmatch(run):
        return [(timeline.table, Instant(run))] if timeline.holds(Instant(run)) else []
    found = (write for write in reversed(timeline.writes) if timeline.metadata(write).get(RUN_KEY) == run)
    return [(timeline.table, write.time) for write in found]


def _commit_at(spec: LakeSpec, timeline: Timeline, instant: Instant) -> CommitOverview:
    just_before = Instant(f"{int(instant) - 1:017d}")
    return next(
        each
        for each in commits_of(spec, timeline, after=just_before)
        if each.instant == instant and each.kind is not CommitKind.SAVEPOINT
    )


def _windows(timeline: Timeline, commit: CommitOverview) -> Iterator[ReadWindow]:
    earlier = [write.time for write in timeline.writes if write.time < commit.instant]
    for source, up_to in sorted(commit.read.items()):
        key = METADATA_PREFIX + checkpoint_key(source)
        before = timeline.newest_metadata(key, up_to=earlier[-1]) if earlier else None
        yield ReadWindow(source=source, after=before or "", up_to=up_to)


def _beside(spec: LakeSpec, timelines: Mapping[str, Timeline], commit: CommitOverview) -> Iterator[CommitOverview]:
    """Writes of other tables of its kind, not long before or after, that had read up to the same places."""
    if not commit.read:
        return
    moment = moment_of(commit.instant)
    first, last = format_instant(moment - _BESIDE), format_instant(moment + _BESIDE)
    for name, timeline in timelines.items():
        if not _is_beside(spec, commit.table, name):
            continue
        near = [each for each in commits_of(spec, timeline, after=first) if each.instant <= last]
        yield from (each for each in near if each.kind is CommitKind.WRITE and _same_run(commit, each))


def _same_run(commit: CommitOverview, other: CommitOverview) -> bool:
    """Marts of one run have its clock; tables that are made of the log have one place on it."""
    return commit.clock == other.clock if commit.clock else commit.read == other.read


def _is_beside(spec: LakeSpec, table: str, other: str) -> bool:
    """Whether one run may write both: tables that are made of the log, or marts of a layer."""
    kinds, layers = kinds_of(spec), {mart.name: mart.layer for mart in spec.marts}
    is_of_log = kinds[table] in _OF_LOG and kinds[other] in _OF_LOG
    return other != table and (is_of_log or (table in layers and layers.get(other) == layers[table]))
