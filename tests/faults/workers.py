"""A campaign in several processes: most of the time it waits for heartbeats to end, which others can use.

Each process keeps its session and takes one share after the other: a JVM needs 20 processor seconds until it is warm.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing, contextmanager
from queue import SimpleQueue
from typing import IO, Any

from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.faults.slices import Share
from tests.faults.verdicts import Point, Tried

COMMAND = (sys.executable, "-m", "tests.faults.share_process")
_TAIL = 2000


class Processes:
    """So many processes, kept until :meth:`close`; each starts with the first share that it gets."""

    def __init__(self, count: int, environ: Mapping[str, str] = os.environ) -> None:
        self._opened = ExitStack()
        self._count = count
        self._free: SimpleQueue[_Process] = SimpleQueue()
        for _ in range(count):
            self._free.put(self._opened.enter_context(_opening_process(environ)))

    def run(self, shares: Sequence[Share], options: Sequence[str] = ()) -> list[Tried]:
        """What was found in every share, in their order.

        ``options`` say how much of each share is tried. A share whose process ends is a point that is stuck.
        """
        begun = time.monotonic()
        with ThreadPoolExecutor(self._count) as pool:
            trying = [pool.submit(self._try, share, options) for share in shares]
            for ended, done in enumerate(as_completed(trying), start=1):
                _say(done.result(), minutes=(time.monotonic() - begun) / 60, left=len(shares) - ended)
        return [tried for future in trying for tried in future.result()]

    def close(self) -> None:
        """End them, once each has tried what it was given."""
        self._opened.close()

    def _try(self, share: Share, options: Sequence[str]) -> list[Tried]:
        process = self._free.get()
        try:
            return _try(share, options, process)
        finally:
            self._free.put(process)


def _say(found: Sequence[Tried], *, minutes: float, left: int) -> None:
    for tried in found:
        wrong = sum(bool(point.wrong) for point in tried.points)
        line = f"{minutes:5.1f} min  {tried.kind}: {len(tried.points)} points, {wrong} wrong; {left} to go"
        print(line, file=sys.stderr, flush=True)


def _try(share: Share, options: Sequence[str], process: _Process) -> list[Tried]:
    answer = process.answer([*options, *share.arguments])
    if not isinstance(answer, str):
        return [_read(fields) for fields in answer]
    failed = Point(kind=share.kind, operation=share.part, seconds=0.0, stuck=answer)
    return [Tried(kind=share.kind, operations=0, points=(failed,))]


class _Process:
    """A process that tries shares; it is started for the first one, and again for the next one when it has died."""

    def __init__(self, log: IO[bytes], environ: Mapping[str, str]) -> None:
        self._log, self._environ = log, environ
        self._running: subprocess.Popen[str] | None = None

    def answer(self, arguments: Sequence[str]) -> list[dict[str, Any]] | str:
        """What was found with the arguments of a share, or the reason why nothing was."""
        process = self._running = self._running or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(list(arguments)) + "\n")
        process.stdin.flush()
        for line in process.stdout:
            if line.startswith("["):  # the engine may print lines of its own
                found: list[dict[str, Any]] = json.loads(line)
                return found
        code, self._running = process.wait(), None
        self._log.seek(0)
        tail = " ".join(self._log.read().decode(errors="replace")[-_TAIL:].split())
        return f"the process ended with {code}: {tail}"

    def close(self) -> None:
        """End it, once it has tried what it was given."""
        if self._running:
            self._running.communicate()  # closes its input

    def _start(self) -> subprocess.Popen[str]:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._log}
        return subprocess.Popen(COMMAND, cwd=PROJECT_ROOT, env=self._environ, text=True, **pipes)


@contextmanager
def _opening_process(environ: Mapping[str, str]) -> Iterator[_Process]:
    with tempfile.TemporaryFile() as log, closing(_Process(log, environ)) as process:
        yield process


def _read(fields: dict[str, Any]) -> Tried:
    return Tried(**{**fields, "points": tuple(Point(**point) for point in fields["points"])})
