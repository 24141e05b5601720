"""Another machine, as a process of its own: it takes the lease of ``units``, reports it, and looks at it on request."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from spark_jobs.contracts.settings import PROJECT_ROOT, Settings

_HOLDER = """
import sys
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage import s3_leases, zookeeper_leases
from spark_jobs.storage.lease import check_lease, hold_tables
zookeeper_leases.SESSION_SECONDS = s3_leases.EXPIRES_SECONDS = 2.0
s3_leases.RENEW_SECONDS = 0.5
settings = Settings(base_path=sys.argv[1], lock_servers=sys.argv[2], lease_wait_seconds=30)
with hold_tables(["units"], job="split", settings=settings):
    print("held", flush=True)
    for line in sys.stdin:
        try:
            check_lease("units", settings)
            print("still held", flush=True)
        except Exception as error:
            print(f"{type(error).__name__}: {error}", flush=True)
"""


class Other:
    """That process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def look(self) -> str:
        """What it says of its lease."""
        assert self.process.stdin is not None
        self.process.stdin.write("look\n")
        self.process.stdin.flush()
        return self.hear()

    def hear(self) -> str:
        """Its next line."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def another_machine(settings: Settings) -> Iterator[Other]:
    """Start it and wait until it holds the lease; killed at the end of the block."""
    command = [sys.executable, "-c", _HOLDER, settings.base_path, settings.lock_servers]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT_ROOT
    ) as process:
        other = Other(process)
        assert other.hear() == "held"
        yield other
        process.kill()
