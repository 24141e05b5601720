"""The session of a Spark Connect server that a task's next run goes on with, when its last one ended well.

A new session costs the server about a second of a processor, and for each one that runs Python on the executors Spark
3.5 starts a process that stays until the server ends: 36 MB for each micro-batch.

The id is in a file of its task, in a folder of this user on this machine. Who takes it takes the file away, and puts it
back when the job has ended well. So two runs never share a session, and one that failed or was killed leaves none.
"""

from __future__ import annotations

import os
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from uuid import UUID, uuid4

import spark_jobs
from lakehouse_provider.launch.job_command import ConnectionFacts

FORGOTTEN_SECONDS = 3600.0
"""After which without use the server has no session of that id any more (Spark 3.5)."""
OLDEST_SECONDS = 24 * 3600.0
"""A session is not gone on with for longer, so nothing can pile up in it."""


class KeptSession:
    """The session of one task on the server that a connection names.

    Args:
        connection: of type ``spark_connect``.
        task: a name that only runs of this task have.
        folder: where ids are kept; made when it is not there.
        now: seconds since 1970.
    """

    def __init__(
        self,
        connection: ConnectionFacts,
        task: str,
        *,
        folder: Path | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder or Path(tempfile.gettempdir()) / f"lakehouse-sessions-{os.getuid()}"
        # With the code's age: processes of Python on the executors keep the modules that they have imported.
        facts = (connection.host, connection.port, connection.login, task, code_stamp())
        self._file = self._folder / sha256(repr(facts).encode()).hexdigest()[:32]
        self._now = now
        self._id, self._begun = "", 0.0

    def take(self) -> str:
        """The id of the session that was kept, which now nobody else is given, or a new one."""
        self._id, self._begun = str(uuid4()), self._now()
        if not self._is_private():
            return self._id
        try:
            words = self._file.read_text(encoding="ascii").split()
            self._file.unlink()  # of two that have read it one succeeds
            found, begun = str(UUID(words[0])), float(words[1])
        except (OSError, ValueError, IndexError):
            return self._id
        if 0 <= self._now() - begun < OLDEST_SECONDS:
            self._id, self._begun = found, begun
        return self._id

    def keep(self) -> None:
        """Leave the session to the next run; only after a job that has ended well."""
        with suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            if not self._is_private():
                return
            self._remove_forgotten()
            written = self._file.with_suffix(f".{os.getpid()}")
            written.write_text(f"{self._id} {self._begun}", encoding="ascii")
            written.replace(self._file)

    def _is_private(self) -> bool:
        """True for a folder that is this user's alone: in a folder for all, another's session would be gone on with."""
        try:
            found = self._folder.lstat()
        except OSError:
            return False
        return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077

    def _remove_forgotten(self) -> None:
        for entry in self._folder.iterdir():
            with suppress(OSError):
                if self._now() - entry.stat().st_mtime > FORGOTTEN_SECONDS:
                    entry.unlink()


@cache
def code_stamp() -> int:
    """When a module of the library was last changed, in nanoseconds."""
    return max(path.stat().st_mtime_ns for path in Path(spark_jobs.__file__).parent.rglob("*.py"))
