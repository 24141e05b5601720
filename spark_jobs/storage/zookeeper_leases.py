"""Leases as ephemeral nodes of ZooKeeper, for writers on several machines.

A node goes with the session of its process. A session ends when nothing was heard of the process for
``SESSION_SECONDS``: of a killed one, and also of one that was paused for so long. That one finds out before its next
commit, and before it reports one (:func:`spark_jobs.storage.lease.check_lease`).
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from spark_jobs.contracts.errors import SettingsError, TableBusyError, TransientError

if TYPE_CHECKING:
    from kazoo.client import KazooClient
    from kazoo.recipe.lock import Lock

SESSION_SECONDS = 60.0
"""Longer than heartbeats count: who takes over finds what the other began, and rolls it back."""
_CONNECT_SECONDS = 15.0
_ROOT = "/lakehouse/leases"


@contextmanager
def open_session(servers: str) -> Iterator[KazooClient]:
    """A session with ZooKeeper at ``host:port,host:port``, ended with the block, and with it all its leases.

    Raises:
        SettingsError: none of the servers answers.
    """
    from kazoo.client import KazooClient
    from kazoo.handlers.threading import KazooTimeoutError

    logging.getLogger("kazoo").setLevel(logging.ERROR)
    client = KazooClient(hosts=servers, timeout=SESSION_SECONDS)
    try:
        client.start(timeout=_CONNECT_SECONDS)
    except (KazooTimeoutError, ValueError) as error:
        raise SettingsError(
            f"no ZooKeeper answers at LAKEHOUSE_LOCK_SERVERS={servers} ({error}); start it, or correct the address"
        ) from error
    try:
        yield client
    finally:
        client.stop()
        client.close()


@contextmanager
def hold_node(client: KazooClient, base_path: str, *, table: str, who: str, wait: int) -> Iterator[Callable[[], bool]]:
    """Hold the lease of one table while the block runs; gives a function that checks whether it still is.

    Raises:
        TableBusyError: another process still holds it after ``wait`` seconds.
        TransientError: the session was lost while waiting.
    """
    from kazoo.exceptions import KazooException, LockTimeout

    lake = hashlib.sha256(base_path.rstrip("/").encode()).hexdigest()[:16]
    lock = client.Lock(f"{_ROOT}/{lake}/{table}", who)
    try:
        is_held = lock.acquire(timeout=wait) if wait else lock.acquire(blocking=False)
    except LockTimeout:
        is_held = False
    except KazooException as error:
        raise TransientError(f"{table}: ZooKeeper was lost while waiting for the lease ({error}); run again") from error
    if not is_held:
        holder = next(iter(lock.contenders()), "unknown")
        raise TableBusyError(table=table, holder=holder, waited_seconds=wait)
    try:
        yield lambda: _is_ours(lock)
    finally:
        _release(lock)


def _is_ours(lock: Lock) -> bool:
    """Checked with the servers: the client may not know yet that its session has ended."""
    from kazoo.exceptions import KazooException

    try:
        client = lock.client
        return bool(lock.is_acquired and client.connected and client.exists(f"{lock.path}/{lock.node}"))
    except KazooException:
        return False


def _release(lock: Lock) -> None:
    """Let it go; without a session there is nothing left to let go."""
    from kazoo.exceptions import KazooException

    with suppress(KazooException):
        lock.release()
