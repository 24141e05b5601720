"""Repairs what can be repaired without a person's decision, under the leases of the table."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from spark_jobs.contracts.instants import END, NO_INSTANT
from spark_jobs.lake_spec.services import Service
from spark_jobs.storage.commit_times import MOVED
from spark_jobs.storage.doctor.ahead import WayBack, take_off
from spark_jobs.storage.doctor.checks import check_table
from spark_jobs.storage.doctor.findings import Ailment, Finding
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.lease import hold_whole
from spark_jobs.storage.procedures import call
from spark_jobs.storage.recovery import settled_timeline, with_times
from spark_jobs.storage.restore import TableReturn, restore_table
from spark_jobs.storage.restores import REMOVAL, drop_plans, read_plan, remove_table, savepoint_of
from spark_jobs.storage.savepoints import SavepointRecords
from spark_jobs.storage.services.run import TableServices
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.unfinished import may_repair

_JOB = "doctor"

log = logging.getLogger(__name__)


def repair_table(services: TableServices, deep: Iterable[Finding], way: WayBack) -> None:
    """Repair one table.

    Looks again under the leases, so that nothing is removed that a writer has meanwhile taken up. ``deep`` are findings
    of :func:`check_deep`, which looks at what no writer touches; ``way`` is what is done with commits from the future.

    Raises:
        ContractError: such commits are there, and a person has to decide.
    """
    table, settings = services.layout.name, services.settings
    path = settings.table_path(table)
    with hold_whole([table], services_of=[table], job=_JOB, settings=settings):
        mend_times(services)  # first: without them nothing else can be looked at
        end_lost_restore(services)
    if not any(finding.ailment is Ailment.AHEAD for finding in _look(services)):
        _carry_out_plans(services)
    with hold_whole([table], services_of=[table], job=_JOB, settings=settings):
        settled_timeline(services.spark, table, settings, may_be_ahead=True)
        if may_repair(settings, table):
            take_off(services.spark, services.layout, way, settings)
        else:
            log.info("%s: commits that are later than now stay until the restore has ended", table)
        for finding in (*_look(services), *deep):
            if finding.paths:
                log.info("%s: %s: removing %d of them", table, finding.ailment.value, len(finding.paths))
                remove(path, finding.paths)


def mend_times(services: TableServices) -> None:
    """Give the files of commits the times by which Hudi reads the table; the caller holds its leases.

    Where times cannot be set, as in an object store, the files that they would matter for go: those of older states,
    and with them the savepoints of these. From then on only what comes later has to have its times.
    """
    table, settings = services.layout.name, services.settings
    timeline = with_times(Timeline(table=table, path=settings.table_path(table)))
    if not timeline.misdated:
        return
    records = SavepointRecords(settings)
    for record in records.all():
        if table in record.tables:
            log.warning("%s: savepoint %s: deleted, its states cannot be read any more", table, record.id)
            records.release(services.spark, record)
    state = TableState.look(services.layout, timeline.path)
    older = [file.path for file in state.superseded(END)]
    log.info("%s: removing %d files of older states", table, len(older))
    remove(timeline.path, older)
    Filesystem(timeline.path).write(f".hoodie/{MOVED}{timeline.newest}", b"")


def end_lost_restore(services: TableServices) -> None:
    """End a restore of the table that was cut off and whose savepoint is gone; the caller holds its leases.

    It goes to where it was going: Hudi wants a savepoint there, which is kept for that long.
    """
    table, settings, spark = services.layout.name, services.settings, services.spark
    path = settings.table_path(table)
    timeline = Timeline(table=table, path=path)
    if not timeline.pending_restores or savepoint_of(timeline, settings):
        return
    plan = read_plan(timeline)
    if REMOVAL in timeline.pending_restores:
        remove_table(path)
    elif plan and timeline.holds(plan.back_to):
        if plan.back_to not in timeline.savepoints:
            call(spark, table, path, "create_savepoint", {"commit_time": plan.back_to})
        way = TableReturn(table=table, newest=timeline.newest or NO_INSTANT, back_to=plan.back_to, commits=1)
        restore_table(spark, way, settings)
        call(spark, table, path, "delete_savepoint", {"instant_time": plan.back_to})
    else:
        drop_plans(timeline)


def remove(root: str, paths: Iterable[str]) -> None:
    """Remove files and folders below a root."""
    files = Filesystem(root)
    for path in paths:
        relative = path.removeprefix(files.root).strip("/")
        parent, _, name = relative.rpartition("/")
        if name in files.folders(parent):
            files.delete_tree(relative)
        else:
            files.delete(relative)


def _look(services: TableServices) -> list[Finding]:
    state = TableState.look(services.layout, services.settings.table_path(services.layout.name))
    return list(check_table(state, services.targets, services.clock))


def _carry_out_plans(services: TableServices) -> None:
    if any(finding.ailment is Ailment.PENDING_PLAN for finding in _look(services)):
        for service in (Service.COMPACTION, Service.CLUSTERING):
            services.run(service)
