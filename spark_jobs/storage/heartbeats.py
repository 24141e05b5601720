"""Heartbeats: by them Hudi tells live writers and dead ones apart."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from contextlib import suppress

from spark_jobs.contracts.instants import Instant
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.options import heartbeat_seconds

FOLDER = ".hoodie/.heartbeat"
_FENCE_AFTER = 2
"""So many times the age at which a heartbeat counts as ended: one that still beats then is of no living writer."""
_POLL_SECONDS = 0.5

log = logging.getLogger(__name__)


class Heartbeats:
    """The heartbeats of one table. The caller holds the lease, so no process waits for the writer of one.

    Usually a dead writer's heartbeat ends with its process. A write that failed inside a living engine can leave one
    that never stops: as long as it beats, Hudi takes the writer for alive, and nothing can be done with its instant.
    """

    def __init__(self, table: str, path: str) -> None:
        self._table, self._files, self._begun = table, Filesystem(path), time.monotonic()

    def fence_late(self, instants: Iterable[Instant]) -> None:
        """Let no more heartbeats come for these instants, once they were waited for long enough.

        Where the file of the heartbeat was, a folder keeps it from being written again. Hudi's timer ends with the
        error, and the writer, which looks at its heartbeat before it commits, fails instead.
        """
        if time.monotonic() - self._begun < _FENCE_AFTER * heartbeat_seconds():
            return
        fenced = self._files.folders(FOLDER)
        for instant in instants:
            if instant not in fenced:
                log.warning("%s: ending the heartbeat of %s, whose process is gone", self._table, instant)
                self._files.delete(f"{FOLDER}/{instant}")
                with suppress(FileExistsError):  # it beat in between; the next call will be quicker
                    self._files.make_folder(f"{FOLDER}/{instant}")

    def names(self) -> list[Instant]:
        """Instants that have the file of a heartbeat, whether it still beats or not."""
        files = (entry.path.rsplit("/", 1)[-1] for entry in self._files.list_files(FOLDER))
        return [Instant(name) for name in files if name.isdigit()]

    def wait_for_end(self, instants: Iterable[Instant]) -> None:
        """Wait until none of them beats; those that would not end are fenced."""
        while beating := [instant for instant in instants if self.age(instant) <= heartbeat_seconds()]:
            self.fence_late(beating)
            time.sleep(_POLL_SECONDS)

    def age(self, instant: Instant) -> float:
        """Seconds since its last beat; infinite when there was none."""
        changed = self._files.changed_ns(f"{FOLDER}/{instant}")
        return float("inf") if changed is None else time.time() - changed / 1e9
