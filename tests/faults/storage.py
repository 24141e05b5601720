"""Storage that stops: the local file system of Hadoop with a switch (FaultyFileSystem.scala), and a session on it.

What Python writes stops at the same switch (python_writes.py). One task runs at a time, so that the operations of a
write come in the same order every time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs import session
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage import options
from spark_jobs.storage.options import Hudi
from tests.faults.python_writes import stop_python_writes
from tests.faults.stores import SESSION_OPTIONS, let_leases_end_soon
from tests.run.engines import INTERPRETED, build_file_system, build_local_disk
from tests.support.processes import wait_until

SOURCE = Path(__file__).with_name("FaultyFileSystem.scala")
_CLASS = "lakehouse.faults.FaultyFileSystem"


@dataclass(frozen=True)
class Storage:
    """The switch. Only what is below the armed folder is recorded and fails; operations are known by name."""

    faults: Any
    scheduler: Any
    """Of Spark's tasks."""

    @contextmanager
    def recording(self, folder: Path) -> Iterator[None]:
        """Record the operations of the block."""
        self.faults.arm(str(folder), "", False)
        yield from self._disarmed()

    @contextmanager
    def stopping(self, folder: Path, operation: str, *, is_done: bool) -> Iterator[None]:
        """Stop at this operation; ``is_done``: it is carried out and its answer lost."""
        self.faults.arm(str(folder), operation, is_done)
        yield from self._disarmed(wait=self.wait_for_tasks)

    @contextmanager
    def stopping_before(self, folder: Path, pattern: str) -> Iterator[None]:
        """Stop before the first operation on a path that matches the regular expression as a whole."""
        self.faults.armPath(str(folder), pattern)
        yield from self._disarmed(wait=self.wait_for_tasks)

    @contextmanager
    def pausing(self, folder: Path, operation: str, sign: Path) -> Iterator[None]:
        """Before this operation ("": none) write ``sign``, and go on once it is gone."""
        self.faults.armPause(str(folder), operation, str(sign))
        yield from self._disarmed()

    def _disarmed(self, wait: Callable[[], None] = lambda: None) -> Iterator[None]:
        try:
            yield
            wait()
        finally:
            self.faults.disarm()

    def wait_for_tasks(self) -> None:
        """As of a process that died, no task writes once the storage works again.

        When one fails, Spark may have begun the next one before it gives the job up.
        """

        def none_runs() -> bool:
            return not any(_iterate(self.scheduler.runningTasksByExecutors().valuesIterator()))

        wait_until(none_runs, "the end of the tasks of the job that failed")

    @property
    def operations(self) -> list[str]:
        """What was recorded last: kind, path and number of each operation."""
        text: str = self.faults.listing()
        return text.splitlines()

    @property
    def is_reached(self) -> bool:
        """True when the storage came to the operation at which it was to stop last."""
        return bool(self.faults.isReached())


def open_faulty_session(settings: Settings) -> tuple[SparkSession, Storage]:
    """A session of the product's settings on storage that can stop; a dead writer is known after four seconds."""
    quick: dict[str, str] = {Hudi.HEARTBEAT_INTERVAL: "1000", Hudi.HEARTBEAT_MISSES: "4"}
    options._SAFETY = {**options._SAFETY, **quick}
    disk = build_local_disk()
    jar = build_file_system(SOURCE, disk)
    # On the class path from the start, since a file system is looked up before the session's own jars are; and at its
    # end, or the archive of classes would not fit.
    before = os.environ.get("SPARK_DIST_CLASSPATH")
    os.environ["SPARK_DIST_CLASSPATH"] = ":".join([*([before] if before else []), str(disk), str(jar)])
    build = session.build_session_options

    def build_session_options(settings: Settings, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
        return {**build(settings, environ), **INTERPRETED, **SESSION_OPTIONS, "spark.hadoop.fs.file.impl": _CLASS}

    session.build_session_options = build_session_options
    spark = session.open_session(replace(settings, spark_master="local[1]"), app_name="faults")
    jvm: Any = spark._jvm
    faults = jvm.lakehouse.faults.Faults
    stop_python_writes(faults)
    let_leases_end_soon()
    return spark, Storage(faults, spark._jsc.sc().taskScheduler())


def _iterate(scala: Any) -> Iterator[Any]:
    while scala.hasNext():
        yield scala.next()
