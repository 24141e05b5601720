"""A campaign in several processes: most of the time it waits for heartbeats to end, which others can use.

Each process keeps its session and takes one share after the other: a JVM needs 20 processor seconds until it is warm.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Thread
from typing import IO, Any

from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.faults.slices import Share
from tests.faults.verdicts import Point, Tried

_TAIL = 2000


def run_shares(shares: Sequence[Share], options: Sequence[str], workers: int) -> list[Tried]:
    """Every share, in so many processes; what each found, in their order.

    ``options`` say how much of each share is tried. A share whose process ends is a point that is stuck.
    """
    begun, found = time.monotonic(), dict[int, list[Tried]]()
    waiting: SimpleQueue[int] = SimpleQueue()
    for number in range(len(shares)):
        waiting.put(number)

    def work() -> None:
        with _opening_processes() as ask:
            while (number := _take(waiting)) is not None:
                found[number] = _try(shares[number], options, ask)
                _say(found[number], minutes=(time.monotonic() - begun) / 60, left=len(shares) - len(found))

    threads = [Thread(target=work) for _ in range(min(workers, len(shares)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [tried for number in range(len(shares)) for tried in found[number]]


def _take(waiting: SimpleQueue[int]) -> int | None:
    try:
        return waiting.get_nowait()
    except Empty:
        return None


def _say(found: Sequence[Tried], *, minutes: float, left: int) -> None:
    for tried in found:
        wrong = sum(bool(point.wrong) for point in tried.points)
        line = f"{minutes:5.1f} min  {tried.kind}: {len(tried.points)} points, {wrong} wrong; {left} to go"
        print(line, file=sys.stderr, flush=True)


Ask = Callable[[Sequence[str]], list[dict[str, Any]] | str]
"""Arguments of a share to what was found, or to the reason why nothing was."""


def _try(share: Share, options: Sequence[str], ask: Ask) -> list[Tried]:
    answer = ask([*options, *share.arguments])
    if not isinstance(answer, str):
        return [_read(fields) for fields in answer]
    failed = Point(kind=share.kind, operation=share.part, seconds=0.0, stuck=answer)
    return [Tried(kind=share.kind, operations=0, points=(failed,))]


@contextmanager
def _opening_processes() -> Iterator[Ask]:
    """A function that has a process try the arguments of a share: the same process as before, unless that has died."""
    process: subprocess.Popen[str] | None = None
    with tempfile.TemporaryFile() as log:

        def ask(arguments: Sequence[str]) -> list[dict[str, Any]] | str:
            nonlocal process
            process = process or _start(log)
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(list(arguments)) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                if line.startswith("["):  # the engine may print lines of its own
                    found: list[dict[str, Any]] = json.loads(line)
                    return found
            code, process = process.wait(), None
            log.seek(0)
            tail = " ".join(log.read().decode(errors="replace")[-_TAIL:].split())
            return f"the process ended with {code}: {tail}"

        try:
            yield ask
        finally:
            if process:
                process.communicate()  # closes its input, which ends it


def _start(log: IO[bytes]) -> subprocess.Popen[str]:
    line = [sys.executable, "-m", "tests.faults.share_process"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log}
    return subprocess.Popen(line, cwd=PROJECT_ROOT, text=True, **pipes)


def _read(fields: dict[str, Any]) -> Tried:
    return Tried(**{**fields, "points": tuple(Point(**point) for point in fields["points"])})
