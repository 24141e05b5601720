"""Driver processes of their own: they work on a table on command, and can be paused, woken and killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import Interval, parse_clock
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.lake_spec.services import Service
from spark_jobs.storage.layouts import TableLayout
from tests.faults.storage import open_faulty_session
from tests.faults.verdicts import attempt
from tests.support.kafka_lakes import KafkaLake
from tests.support.lakes import Lake, SpecLake
from tests.support.numbered_tables import LAYOUTS, NumberedTable
from tests.support.processes import wait_until

SETTINGS = Settings(driver_memory="1g")
COMMAND: Sequence[str] = (sys.executable, "-m", "tests.faults.drivers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a driver is to do: one commit after the other, or a service, or jobs of the product.

    ``base`` is the table's base path, of ``jobs`` the folder of a lake; with ``days`` the jobs are of these alone, with
    ``servers`` the lake reads from a broker, with ``spec`` it has a spec file of its own. Before the operation
    ``pause_at`` it writes ``sign``.
    """

    base: str
    layout: str = ""
    writer: str = ""
    numbers: Sequence[int] = ()
    service: str = ""
    jobs: Sequence[tuple[str, Mapping[str, Any]]] = ()
    days: tuple[str, str] | None = None
    servers: str = ""
    spec: str = ""
    pause_at: str = ""
    sign: str = ""

    def table(self, spark: SparkSession) -> NumberedTable:
        """The table it works on."""
        layout: TableLayout = next(each for each in LAYOUTS if each.name == self.layout)
        settings = Settings(base_path=self.base, lease_wait_seconds=60)
        return NumberedTable(spark, layout, settings, self.writer)

    def do(self, spark: SparkSession) -> None:
        """Do it in this session."""
        if self.jobs:
            lake = self._lake(spark)
            for job, options in self.jobs:
                lake.run(job, interval=self._interval, **options)
            return
        table = self.table(spark)
        for number in self.numbers:
            table.put(number)
        if self.service:
            table.run(Service(self.service), is_forced=True)

    def _lake(self, spark: SparkSession) -> Lake:
        facts: dict[str, Any] = {"spark": spark, "folder": Path(self.base)}
        if self.servers:
            return KafkaLake(**facts, servers=self.servers)
        return SpecLake(**facts, spec=Path(self.spec)) if self.spec else Lake(**facts)

    @property
    def _interval(self) -> Interval | None:
        if self.days is None:
            return None
        start, end = map(parse_clock, self.days)
        return Interval(start=start, end=end)


class Driver:
    """A process with a session of its own. Python and the engine are a group: signals reach both."""

    def __init__(self, log: IO[bytes]) -> None:
        """Start it; what its engine says goes to ``log``."""
        self._log = log
        self._process = subprocess.Popen(
            COMMAND,
            cwd=PROJECT_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
        self._answers: SimpleQueue[str | None] = SimpleQueue()
        self._is_ready = False
        threading.Thread(target=self._listen, daemon=True).start()

    def wait_until_ready(self) -> None:
        """Wait for its session, once: it may be called before every task."""
        if not self._is_ready:
            assert self._answer() == "ready"
            self._is_ready = True

    def begin(self, task: Task) -> None:
        """Let it begin; :meth:`outcome` waits for the end."""
        self._in.write(json.dumps(asdict(task)) + "\n")
        self._in.flush()

    def outcome(self) -> str:
        """The error that the task ended with, or ""."""
        return self._answer()

    @property
    def is_at_work(self) -> bool:
        """False when the task has ended, see :meth:`outcome`."""
        return self._answers.empty()

    def comes_to(self, sign: Path) -> bool:
        """Wait for the sign; False when the task ended without it, see :meth:`outcome`."""
        wait_until(lambda: sign.exists() or not self.is_at_work, "the driver came to the operation, or to its end")
        return sign.exists()

    @contextmanager
    def paused(self, sign: Path) -> Iterator[None]:
        """Where it gave the sign: the whole process is stopped while the block runs, its heartbeats too."""
        os.killpg(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGCONT)
            sign.unlink()

    def kill(self) -> None:
        """End it at once, as a machine that goes down does."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._in.close()

    @property
    def _in(self) -> IO[str]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _out(self) -> IO[str]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _listen(self) -> None:
        for line in self._out:
            if line.startswith("{"):
                self._answers.put(str(json.loads(line)["answer"]))
        self._answers.put(None)

    def _answer(self) -> str:
        answer = self._answers.get()
        if answer is None:
            self._log.seek(0)
            raise AssertionError(f"the driver ended: {self._log.read()[-2000:].decode(errors='replace')}")
        return answer


@contextmanager
def open_driver(*, waits: bool = True) -> Iterator[Driver]:
    """A driver, killed at the end; without ``waits`` its session may not be there yet."""
    with tempfile.TemporaryFile() as log:
        driver = Driver(log)
        try:
            if waits:
                driver.wait_until_ready()
            yield driver
        finally:
            driver.kill()


def main() -> None:
    """Work on the tasks that come as lines, and answer each with a line."""
    spark, storage = open_faulty_session(SETTINGS)
    _say("ready")
    for line in sys.stdin:
        task = Task(**json.loads(line))
        with storage.pausing(Path(task.base), task.pause_at, Path(task.sign or os.devnull)):
            error = attempt(partial(task.do, spark))
        _say(error)


def _say(answer: str) -> None:
    print(json.dumps({"answer": answer}), flush=True)


if __name__ == "__main__":
    main()
