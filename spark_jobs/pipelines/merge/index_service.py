"""The service of a lake's indexes, of rows and of days: folders are merged, so that a lookup opens few files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from spark_jobs.context import AnyContext
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import Service
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.marts.day_index import day_index, day_index_lease, indexed_columns
from spark_jobs.pipelines.merge.tables import build_index
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.segment_index import SegmentIndex
from spark_jobs.storage.services.kind import Need
from spark_jobs.storage.services.run import ServiceRun


def index_need(spec: LakeSpec, settings: Settings) -> Need | None:
    """What the service would find, without Spark; None in a lake without an index."""
    opened = [open_index() for _, open_index in _indexes(spec, settings)]
    found = [index.merging_need() for index in opened if index.is_there]
    if not found:
        return None
    due = [why for is_due, why in found if is_due]
    return Need(
        table=spec.log, service=Service.INDEX, is_due=bool(due), why="; ".join(due or (why for _, why in found))
    )


def merge_indexes(context: AnyContext, *, is_forced: bool) -> ServiceRun:
    """Merge folders where it is due, or all of them whether it is or not; of one index after another.

    Whoever uses an index waits while its own folders are merged: writers of the tables for that of their rows, a mart
    for that of its days. Neither waits for the other.

    Raises:
        TableBusyError: a writer holds one of the tables for too long, or a mart reads an index.
        DamagedIndexError: a file of an index is damaged.
    """
    spec, settings, merged = context.spec, context.settings, 0
    for leases, open_index in _indexes(spec, settings):
        with hold_tables(leases, job=context.job, settings=settings):
            index = open_index()
            if index.is_there:
                merged += index.merge_folders(context.spark, is_forced=is_forced)
    did = f"merged {merged} folders of indexes" if merged else "no folders of indexes to merge"
    return ServiceRun(table=spec.log, service=Service.INDEX, is_done=bool(merged), did=did)


def _indexes(spec: LakeSpec, settings: Settings) -> Iterator[tuple[Sequence[str], Callable[[], SegmentIndex]]]:
    """Those that the lake can have: the leases under which each is changed, and what opens it as it is then."""
    yield spec.split_tables, lambda: build_index(spec, (), settings)
    for column in sorted(indexed_columns(spec)):
        yield (day_index_lease(column, spec),), partial(day_index, column, spec, settings)
