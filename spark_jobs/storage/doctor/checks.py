"""Looks at one table, without Spark: its timeline, its listing, its readers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from spark_jobs.contracts.checkpoints import needed_from
from spark_jobs.contracts.errors import TableVersionError
from spark_jobs.contracts.lake_errors import CommitTimesError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.consumers import ConsumerState, checkpoint_key
from spark_jobs.storage.doctor.findings import Ailment, Finding
from spark_jobs.storage.doctor.timelines import check_timeline, is_old
from spark_jobs.storage.erasures import Pending
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.recovery import MARKERS
from spark_jobs.storage.restores import FOLDER as RESTORES
from spark_jobs.storage.restores import PENDING, Restores, savepoint_of
from spark_jobs.storage.savepoints import SavepointRecords
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.timeline import TABLE_VERSION, Timeline
from spark_jobs.storage.undeclared_tables import find_undeclared_tables

_LOCK, _LOCKS = ".hoodie/lock", ".hoodie/.locks"
_METADATA = ".hoodie/metadata"


def check_version(timeline: Timeline) -> Iterator[Finding]:
    """Another table version, or commits without their times: nothing else is looked at then."""
    try:
        timeline.check_readable()
    except CommitTimesError as error:
        lost = "" if timeline.is_local else "; on this storage older states and savepoints of the table go with that"
        yield Finding(
            table=timeline.table,
            ailment=Ailment.TIMES,
            what=f"the files of {len(error.instants)} commits are younger than the commits: the lake was copied "
            f"without the times of its files, and Hudi would read and restore it wrong",
            then=f"lakehouse doctor repair sets them right{lost}; docs/moving.md says how a lake is moved",
        )
    except TableVersionError as error:
        yield Finding(
            table=timeline.table,
            ailment=Ailment.VERSION,
            what=f"is of version {error.found}: Athena and Trino cannot read it, and every job refuses to write it",
            then=f"find the writer that upgraded it; move the table away, or take it back to version {TABLE_VERSION}",
        )


def check_table(state: TableState, targets: ServiceTargets, clock: datetime) -> Iterator[Finding]:
    """Findings from a table's own folder."""
    yield from check_timeline(state.timeline, targets, clock)
    yield from check_listing(state, clock)


def check_listing(state: TableState, clock: datetime) -> Iterator[Finding]:
    """What a listing of all its files shows, and its timeline alone does not."""
    files = Filesystem(state.timeline.path)
    yield from _orphans(state, clock)
    yield from _markers(state.timeline, files, clock)
    yield from _locks(state.timeline, files, clock)
    if _METADATA.rsplit("/", 1)[-1] in files.folders(".hoodie"):
        yield Finding(
            table=state.layout.name,
            ailment=Ailment.METADATA_TABLE,
            what="has a metadata table that no writer here keeps up: who reads by it misses files",
            then="drop it: CALL delete_metadata_table(table => …)",
        )


def check_consumers(timelines: Mapping[str, Timeline], consumers: Mapping[str, ConsumerState]) -> Iterator[Finding]:
    """Readers whose place is not on the timeline of what they read."""
    for name, state in sorted(consumers.items()):
        for table, checkpoint in sorted(state.checkpoints.items()):
            timeline, place = timelines.get(table), needed_from(checkpoint)
            if timeline is None or not timeline.writes or timeline.holds(place):
                continue
            where = "ahead of" if place > timeline.writes[-1].time else "no longer on"
            yield Finding(
                table=table,
                ailment=Ailment.CONSUMER,
                what=f"consumer {name} is at {place}, {where} its timeline: it will read the whole table",
                then="nothing, if the table was restored or recreated; else find out who archived or rolled back",
            )


def check_checkpoints(timelines: Mapping[str, Timeline]) -> Iterator[Finding]:
    """Tables that say they hold more of a source than the source has: it went back, and they did not."""
    for table, timeline in sorted(timelines.items()):
        for source, read in sorted(timelines.items()):
            place = needed_from(timeline.newest_metadata(METADATA_PREFIX + checkpoint_key(source)) or "")
            if place and read.newest and place > read.newest:
                yield Finding(
                    table=table,
                    ailment=Ailment.CHECKPOINT,
                    what=f"holds {source} up to {place}, which {source} has no more (its newest is {read.newest})",
                    then=f"make the two agree: restore it too, or compute it again from {source}",
                )


def check_erasure(pending: Pending | None) -> Iterator[Finding]:
    """An erasure that was cut off."""
    if pending:
        yield Finding(
            table="",
            ailment=Ailment.ERASURE,
            what=f"that of one {pending.role} was cut off: older states may still name them, and ingest waits",
            then="run the same lakehouse lake erase once more with --yes; if it cannot end (its message says why), "
            "with --give-up",
        )


def check_restores(timelines: Mapping[str, Timeline], settings: Settings) -> Iterator[Finding]:
    """Restores that were cut off, of the lake or within a table, with the command that ends each."""
    pending = Restores(settings).pending()
    if pending and SavepointRecords(settings).find(pending.savepoint) is None:
        yield Finding(
            table="",
            ailment=Ailment.LOST_RESTORE,
            what=f"the restore to {pending.savepoint} that began at {pending.begun} did not end, and that savepoint is "
            f"gone",
            then="lakehouse doctor repair forgets it, and ends it for each table in which it was cut off",
            paths=(f"{Filesystem(settings.base_path).root}/{RESTORES}/{PENDING}",),
        )
    elif pending:
        yield Finding(
            table="",
            ailment=Ailment.PENDING_RESTORE,
            what=f"the restore to {pending.savepoint} that began at {pending.begun} did not end: some tables are as "
            f"they were then and some are not; erasures, savepoints and other restores wait for it",
            then=f"lakehouse restore {pending.savepoint} --yes",
        )
    for table, timeline in timelines.items():
        for instant in timeline.pending_restores:
            savepoint = savepoint_of(timeline, settings)
            yield Finding(
                table=table,
                ailment=Ailment.PENDING_RESTORE if savepoint else Ailment.LOST_RESTORE,
                what=f"a restore that began at {instant} did not end: no job can write the table"
                + ("" if savepoint else ", and no savepoint is left that leads there"),
                then=f"lakehouse restore {savepoint} --yes"
                if savepoint
                else "lakehouse doctor repair ends it for this table alone; the next jobs bring it up to date",
            )


def check_undeclared_tables(spec: LakeSpec, settings: Settings) -> Iterator[Finding]:
    """Tables that no entry of the spec declares: no job writes, serves, restores or searches them."""
    for name in find_undeclared_tables(spec, settings):
        yield Finding(
            table=name,
            ailment=Ailment.UNDECLARED_TABLE,
            what="no entry of the lake spec declares it: no service, restore or erasure reaches it, and erase refuses",
            then="declare it again, or move or delete the folder when it is not needed",
        )


def check_temporary(base_path: str, clock: datetime) -> Iterator[Finding]:
    """Files that a process was replacing when it died, beside the tables."""
    files = Filesystem(base_path)
    folders = [name for name in files.folders() if name.startswith(".")]
    found = [entry for folder in folders for entry in files.list_files(folder, recursive=True)]
    old = [entry.path for entry in found if entry.path.endswith(".tmp") and is_old(entry.modified_ns, clock)]
    if old:
        yield Finding(
            table="",
            ailment=Ailment.TEMPORARY,
            what=f"{len(old)} files that a process was writing when it died",
            then="lakehouse doctor repair removes them",
            paths=tuple(old),
        )


def _orphans(state: TableState, clock: datetime) -> Iterator[Finding]:
    timeline = state.timeline
    begun = {*timeline.unfinished, *timeline.pending_plans}
    orphans = [
        file
        for group in state.groups
        for slice_ in group.slices
        if slice_.instant not in begun and not timeline.is_finished(slice_.instant)
        for file in slice_.files
        if is_old(file.modified_ns, clock)
    ]
    if orphans:
        yield Finding(
            table=state.layout.name,
            ailment=Ailment.ORPHAN,
            what=f"{len(orphans)} files of no commit ({sum(file.size for file in orphans):,} bytes): of a writer that "
            f"was rolled back while it slept. Readers that list files would count their rows twice once it is archived",
            then="lakehouse doctor repair removes them",
            paths=tuple(file.path for file in orphans),
        )


def _markers(timeline: Timeline, files: Filesystem, clock: datetime) -> Iterator[Finding]:
    at_work = {*timeline.unfinished, *timeline.pending_plans}
    left = [f"{MARKERS}/{instant}" for instant in files.folders(MARKERS) if instant not in at_work]
    old = [folder for folder in left if is_old(files.changed_ns(folder) or 0, clock)]
    if old:
        yield Finding(
            table=timeline.table,
            ailment=Ailment.MARKERS,
            what=f"markers of {len(old)} writes that ended",
            then="lakehouse doctor repair removes them",
            paths=tuple(f"{files.root}/{folder}" for folder in old),
        )


def _locks(timeline: Timeline, files: Filesystem, clock: datetime) -> Iterator[Finding]:
    found = [entry for entry in files.list_files(".hoodie") if entry.path == f"{files.root}/{_LOCK}"]
    found += files.list_files(_LOCKS)
    old = [entry.path for entry in found if is_old(entry.modified_ns, clock)]
    if old and not timeline.unfinished:
        yield Finding(
            table=timeline.table,
            ailment=Ailment.LOCK,
            what="a lock file of another kind of writer, and nothing is being written: who uses it waits for ever",
            then="lakehouse doctor repair removes it",
            paths=tuple(old),
        )
