"""One writer a table: a lease that the operating system ends with the process that holds it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from spark_jobs.contracts.errors import SettingsError, TableBusyError
from spark_jobs.contracts.settings import Settings


@contextmanager
def hold_tables(tables: Iterable[str], *, job: str, settings: Settings) -> Iterator[None]:
    """Hold the leases of ``tables`` while the block runs; waits for other holders.

    A lease is an advisory lock on a file, so a killed process leaves none behind and a paused one keeps its own.

    Raises:
        TableBusyError: another process still holds one after ``settings.lease_wait_seconds``.
        SettingsError: the lease folder cannot be written.
    """
    folder = lease_folder(settings.base_path)
    with ExitStack() as stack:
        for table in sorted(set(tables)):  # one order for everybody: no two jobs can wait for each other
            stack.enter_context(
                _hold(folder / f"{table}.lease", table=table, job=job, wait=settings.lease_wait_seconds)
            )
        yield


def lease_folder(base_path: str) -> Path:
    """Beside the tables when they are local, else in the machine's temporary folder."""
    if "://" not in base_path:
        return Path(base_path) / ".leases"
    return Path(tempfile.gettempdir()) / f"lakehouse-leases-{hashlib.sha256(base_path.encode()).hexdigest()[:16]}"


@contextmanager
def _hold(path: Path, *, table: str, job: str, wait: int) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o664)
    except OSError as error:
        raise SettingsError(
            f"no permission to write {path} ({error.strerror}); give the user write access or set LAKEHOUSE_BASE_PATH"
        ) from error
    with os.fdopen(descriptor, "r+") as file:
        begun = time.monotonic()
        while not _try_lock(file.fileno()):
            if time.monotonic() - begun >= wait:
                file.seek(0)
                raise TableBusyError(table=table, holder=file.read(200).strip() or "unknown", waited_seconds=wait)
            time.sleep(0.1)
        file.seek(0)
        file.truncate()
        file.write(json.dumps({"job": job, "pid": os.getpid(), "host": os.uname().nodename}))
        file.flush()
        yield


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
