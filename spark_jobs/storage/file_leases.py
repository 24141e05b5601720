"""Leases as locks on files: for writers on one machine, or on file systems whose locks work between machines."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from spark_jobs.contracts.errors import SettingsError, TableBusyError

_PROCESSES = "/proc"


def lease_folder(base_path: str) -> Path:
    """Beside the tables, which are on local files: Settings refuse other storage than S3 without ZooKeeper."""
    return Path(base_path.removeprefix("file://")) / ".leases"


@contextmanager
def hold_file(path: Path, *, table: str, who: str, wait: int) -> Iterator[Callable[[], bool]]:
    """Hold the lease of one table while the block runs; gives what says whether it is still held.

    Raises:
        TableBusyError: another process still holds it after ``wait`` seconds.
        SettingsError: the file cannot be written.
    """
    with _take(path, table=table, wait=wait) as file:
        file.seek(0)
        file.truncate()
        file.write(who)
        file.flush()
        yield lambda: True  # the operating system takes it from no process that lives


def _take(path: Path, *, table: str, wait: int) -> IO[str]:
    begun = time.monotonic()
    while True:
        file = _open(path)
        holder = _holder(file, path)
        if not holder:
            return file
        file.close()
        if time.monotonic() - begun >= wait:
            raise TableBusyError(table=table, holder=holder, waited_seconds=wait)
        time.sleep(0.1)


def _open(path: Path) -> IO[str]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o664), "r+")
    except OSError as error:
        raise SettingsError(
            f"no permission to write {path} ({error.strerror}); give the user write access or set LAKEHOUSE_BASE_PATH"
        ) from error


def _holder(file: IO[str], path: Path) -> str:
    """Who holds the lease, or "" when from now on we do."""
    if not _try_lock(file.fileno()):
        return file.read(200).strip() or "unknown"
    opened = os.fstat(file.fileno())
    if not path.exists() or not os.path.samestat(opened, path.stat()):
        return "another process, whose lease file took the place of this one"
    return _holder_of_removed(path) if opened.st_size == 0 else ""


def _holder_of_removed(path: Path) -> str:
    """The process that still holds a file of this name that was removed by hand; "" when none is found.

    Called when the file is new: a lock on the new file does not keep that process out. Processes of other users are
    not found, and outside Linux none is found.
    """
    removed = f"{os.path.realpath(path)} (deleted)"
    for process in sorted(Path(_PROCESSES).glob("[0-9]*")):
        with suppress(OSError), os.scandir(process / "fd") as descriptors:  # it may end while it is looked at
            for descriptor in descriptors:
                with suppress(OSError):
                    if os.readlink(descriptor) == removed:
                        return f"process {process.name}, although its lease file was removed"
    return ""


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
