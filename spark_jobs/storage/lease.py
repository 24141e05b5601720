"""One writer a table: a lease that a process holds while it writes, and that ends with the process.

On one machine it is a lock of the operating system on a file. For writers on several machines it is an ephemeral node
of ZooKeeper (``LAKEHOUSE_LOCK_SERVERS``) or, for a lake on S3, an object there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from spark_jobs.contracts.errors import LeaseLostError
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.stages import STAGES, Stage
from spark_jobs.storage.file_leases import hold_file, lease_folder
from spark_jobs.storage.s3 import is_s3

_HELD: dict[tuple[str, str], Callable[[], bool]] = {}
"""By lake and table: whether this process still holds the lease it took."""


@contextmanager
def hold_tables(tables: Iterable[str], *, job: str, settings: Settings) -> Iterator[None]:
    """Hold the leases of ``tables`` while the block runs; waits for other holders.

    A killed process leaves none behind, on one machine at once, elsewhere after a minute. A paused one keeps its file
    lock for as long as it lives: that does not expire, and removing the file does not end it.

    Raises:
        TableBusyError: another process still holds one after ``settings.lease_wait_seconds``.
        SettingsError: the lease folder cannot be written, or no ZooKeeper answers.
    """
    with ExitStack() as stack:
        hold = _holder(stack, _describe_holder(job), settings)
        for table in sorted(set(tables)):  # one order for everybody: no two jobs can wait for each other
            with STAGES.passed(Stage.LEASE, table):
                is_held = stack.enter_context(hold(table))
            _HELD[settings.base_path, table] = is_held
            stack.callback(_HELD.pop, (settings.base_path, table))
        yield


@contextmanager
def hold_whole(tables: Iterable[str], *, services_of: Iterable[str], job: str, settings: Settings) -> Iterator[None]:
    """Hold the leases of ``tables``, and those of the services of ``services_of``: nothing changes there meanwhile.

    In the order in which a service takes its two. Raises what :func:`hold_tables` does.
    """
    with (
        hold_tables(map(service_lease, services_of), job=job, settings=settings),
        hold_tables(tables, job=job, settings=settings),
    ):
        yield


def check_lease(table: str, settings: Settings) -> None:
    """Raise LeaseLostError when this process took the lease of the table and holds it no more."""
    is_held = _HELD.get((settings.base_path, table))
    if is_held and not is_held():
        raise LeaseLostError(table=table)


def service_lease(table: str) -> str:
    """The lease that keeps two services of a table apart; taken before the table's own."""
    return f"{table}.services"


def _describe_holder(job: str) -> str:
    """The holder, as others report it while they wait."""
    return json.dumps({"job": job, "pid": os.getpid(), "host": os.uname().nodename})


def _holder(
    stack: ExitStack, who: str, settings: Settings
) -> Callable[[str], AbstractContextManager[Callable[[], bool]]]:
    wait = settings.lease_wait_seconds
    if settings.lock_servers:
        from spark_jobs.storage.zookeeper_leases import hold_node, open_session

        client = stack.enter_context(open_session(settings.lock_servers))
        return lambda table: hold_node(client, settings.base_path, table=table, who=who, wait=wait)
    if is_s3(settings.base_path):
        from spark_jobs.storage.s3_leases import hold_object, open_client

        s3 = open_client()
        return lambda table: hold_object(s3, settings.base_path, table=table, who=who, wait=wait)
    folder = lease_folder(settings.base_path)
    return lambda table: hold_file(folder / f"{table}.lease", table=table, who=who, wait=wait)
