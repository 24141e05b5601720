"""Looks at what grows when nothing holds it back: a consumer's lag, small files, a full disk, a catalog left behind."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta

from spark_jobs.contracts.instants import format_instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.storage.catalog.synced import SyncedTables
from spark_jobs.storage.catalog.tables import names_of
from spark_jobs.storage.consumer_places import ConsumerPlace, PlaceState
from spark_jobs.storage.doctor.findings import Ailment, Finding
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.timeline import Timeline

CATALOG_LATE = timedelta(hours=2)
"""The DAG `catalog_sync` runs at each commit, and every half hour."""
LEAST_FREE = 512 * 1024 * 1024
"""Bytes that a disk has to have free, however small the tables are."""
_OVERDUE = 4
"""A service is overdue when a table has so many times what makes the service due."""
_MB = 1024 * 1024


def check_lag(places: Iterable[ConsumerPlace], targets: Mapping[str, ServiceTargets]) -> Iterator[Finding]:
    """Consumers that lack half of the commits at which archiving is due: from there on they hold it back."""
    for place in places:
        most = targets[place.table].archive_commits // 2 if place.table in targets else 0
        if place.state is PlaceState.ON_TIMELINE and most and place.behind > most:
            moved = f"; it last moved at {place.moved_at}" if place.moved_at else ""
            yield Finding(
                table=place.table,
                ailment=Ailment.CONSUMER_BEHIND,
                what=f"consumer {place.consumer} is {place.behind} commits behind{moved}: nothing newer than its place "
                f"is cleaned or archived",
                then=f"run it; one that never comes again: lakehouse consumer forget {place.consumer}",
            )


def check_small_files(
    layout: TableLayout, files: Iterable[tuple[Iterable[int], Iterable[int]]], targets: ServiceTargets
) -> Iterator[Finding]:
    """Partitions, each the sizes of its base and log files, to which no service came for long."""
    most, what = 0, ""
    for base_sizes, log_sizes in files:
        base, logs = list(base_sizes), list(log_sizes)
        if layout.form is StorageForm.APPENDED:
            small = sum(1 for size in base if size < targets.small_file_mb * _MB)
            if small >= _OVERDUE * targets.cluster_small_files and small > most:
                most, what = small, f"{small} files below {targets.small_file_mb} MB in one partition"
        elif layout.is_merged:
            each = len(logs) // max(1, len(base), layout.buckets)
            if each >= _OVERDUE * targets.compact_log_files and each > most:
                most, what = each, f"{each} log files over each base file of a partition"
    if most:
        yield Finding(
            table=layout.name,
            ailment=Ailment.SMALL_FILES,
            what=f"{what}: every reader opens them, and table services did not come for long",
            then=f"lakehouse service run --table {layout.name}; then find out why table_services does not run",
        )


def check_disk(base_path: str, sizes: Mapping[str, int]) -> Iterator[Finding]:
    """The disk of a local lake: it has to have room to write the largest table (bytes by name) once more."""
    files = Filesystem(base_path)
    if not files.is_local or not files.has_folder():
        return
    free = shutil.disk_usage(files.root).free
    largest = max(sizes, key=lambda name: sizes[name], default="")
    needed = max(LEAST_FREE, sizes.get(largest, 0))
    if free < needed:
        why = f", and {largest} has {sizes[largest] / _MB:,.0f}" if largest and sizes[largest] >= LEAST_FREE else ""
        yield Finding(
            table="",
            ailment=Ailment.DISK,
            what=f"{free / _MB:,.0f} MB are free where the lake is{why}: writes and services fail when it is full",
            then="make room; lakehouse service run --service clean removes files that no state needs",
        )


def check_catalog(
    layouts: Mapping[str, TableLayout], timelines: Mapping[str, Timeline], settings: Settings, clock: datetime
) -> Iterator[Finding]:
    """Tables whose commits the catalog lacks for long; nothing where no catalog is set."""
    if not settings.catalog:
        return
    synced, limit = SyncedTables(settings).read(), format_instant(clock - CATALOG_LATE)
    last = f"the last sync ended at {synced.at}" if synced.at else "no sync has ended yet"
    for name, timeline in timelines.items():
        place = min(synced.instants.get(each, "") for each in names_of(layouts[name]))
        lacking = [write.time for write in timeline.writes if write.time > place]
        if lacking and lacking[0] < limit and timeline.newest_metadata("schema"):  # without one it is in no catalog
            yield Finding(
                table=name,
                ailment=Ailment.CATALOG,
                what=f"the catalog lacks {len(lacking)} commits, the oldest of {lacking[0]}; {last}",
                then="lakehouse catalog apply; then find out why catalog_sync does not run",
            )
