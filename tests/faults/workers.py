"""A campaign in several processes: most of the time it waits for heartbeats to end, which others can use.

Each process keeps its session and takes one share after the other: a JVM needs 20 processor seconds until it is warm.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing
from queue import SimpleQueue
from typing import IO, Any

from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.faults.slices import Share
from tests.faults.verdicts import Point, Tried

COMMAND = (sys.executable, "-m", "tests.faults.share_process")
_TAIL = 2000


def run_shares(shares: Sequence[Share], options: Sequence[str], workers: int) -> list[Tried]:
    """Every share, in so many processes; what each found, in their order.

    ``options`` say how much of each share is tried. A share whose process ends is a point that is stuck.
    """
    begun = time.monotonic()
    free: SimpleQueue[_Process] = SimpleQueue()

    def work(share: Share) -> list[Tried]:
        process = free.get()
        try:
            return _try(share, options, process)
        finally:
            free.put(process)

    with ExitStack() as opened, ThreadPoolExecutor(workers) as pool:
        for _ in range(workers):
            log = opened.enter_context(tempfile.TemporaryFile())
            free.put(opened.enter_context(closing(_Process(log))))
        trying = [pool.submit(work, share) for share in shares]
        for ended, done in enumerate(as_completed(trying), start=1):
            _say(done.result(), minutes=(time.monotonic() - begun) / 60, left=len(shares) - ended)
    return [tried for future in trying for tried in future.result()]


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

    def __init__(self, log: IO[bytes]) -> None:
        self._log = log
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
        return subprocess.Popen(COMMAND, cwd=PROJECT_ROOT, text=True, **pipes)


def _read(fields: dict[str, Any]) -> Tried:
    return Tried(**{**fields, "points": tuple(Point(**point) for point in fields["points"])})
