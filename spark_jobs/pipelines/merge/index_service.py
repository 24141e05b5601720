"""The service of the row index: its folders are merged, so that a lookup opens few files."""

from __future__ import annotations

from spark_jobs.context import AnyContext
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import Service
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.merge.tables import build_index
from spark_jobs.storage.lease import hold_tables
from spark_jobs.storage.services.kind import Need
from spark_jobs.storage.services.run import ServiceRun


def index_need(spec: LakeSpec, settings: Settings) -> Need | None:
    """What the service would find, without Spark; None in a lake without keyed tables, or without an index."""
    index = build_index(spec, (), settings)
    if not spec.tables or not index.is_there:
        return None
    is_due, why = index.merging_need()
    return Need(table=spec.log, service=Service.INDEX, is_due=is_due, why=why)


def merge_index(context: AnyContext, *, is_forced: bool) -> ServiceRun:
    """Merge folders when it is due, or all of them whether it is or not. Writers of the tables wait meanwhile.

    Raises:
        TableBusyError: a writer holds one of the tables for too long.
        DamagedIndexError: a file of the index is damaged.
    """
    spec, settings = context.spec, context.settings
    with hold_tables(spec.split_tables, job=context.job, settings=settings):
        count = build_index(spec, (), settings).merge_folders(context.spark, is_forced=is_forced)
    did = f"merged {count} folders of the row index" if count else "no folders of the row index to merge"
    return ServiceRun(table=spec.log, service=Service.INDEX, is_done=count > 0, did=did)
