"""The service of a lake's indexes, of rows and of days: folders are merged, so that a lookup opens few files."""

from __future__ import annotations

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
    found = [index.merging_need() for index in _indexes(spec, settings)]
    if not found:
        return None
    due = [why for is_due, why in found if is_due]
    return Need(
        table=spec.log, service=Service.INDEX, is_due=bool(due), why="; ".join(due or (why for _, why in found))
    )


def merge_indexes(context: AnyContext, *, is_forced: bool) -> ServiceRun:
    """Merge folders where it is due, or all of them whether it is or not. Writers of the tables wait meanwhile.

    Raises:
        TableBusyError: a writer holds one of the tables for too long, or a mart reads an index.
        DamagedIndexError: a file of an index is damaged.
    """
    spec, settings = context.spec, context.settings
    leases = (day_index_lease(column, spec) for column in indexed_columns(spec))
    with hold_tables([*spec.split_tables, *leases], job=context.job, settings=settings):
        merged = [index.merge_folders(context.spark, is_forced=is_forced) for index in _indexes(spec, settings)]
    did = f"merged {sum(merged)} folders of indexes" if any(merged) else "no folders of indexes to merge"
    return ServiceRun(table=spec.log, service=Service.INDEX, is_done=any(merged), did=did)


def _indexes(spec: LakeSpec, settings: Settings) -> list[SegmentIndex]:
    """Those that have something."""
    of_days = [day_index(column, spec, settings) for column in sorted(indexed_columns(spec))]
    return [index for index in (build_index(spec, (), settings), *of_days) if index.is_there]
