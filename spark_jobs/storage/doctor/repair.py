"""Puts right what can be put right without asking, under the leases of the table."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from spark_jobs.contracts.services import Service
from spark_jobs.storage.doctor.ahead import WayBack, take_off
from spark_jobs.storage.doctor.checks import check_table
from spark_jobs.storage.doctor.findings import Ailment, Finding
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.lease import hold_whole
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.services.run import TableServices
from spark_jobs.storage.services.state import TableState

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
    if not any(finding.ailment is Ailment.AHEAD for finding in _look(services)):
        _carry_out_plans(services)
    with hold_whole([table], services_of=[table], job=_JOB, settings=settings):
        settled_timeline(services.spark, table, settings, may_be_ahead=True)
        take_off(services.spark, services.layout, way, settings)
        for finding in (*_look(services), *deep):
            if finding.paths:
                log.info("%s: %s: removing %d of them", table, finding.ailment.value, len(finding.paths))
                remove(path, finding.paths)


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
