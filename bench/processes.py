"""Memory and processor time of this process and those it started, as the system counts them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SAME = 0.01
"""Address spaces that differ by less are the same one: a look at two takes a moment, in which one may grow."""
_LOOK_SECONDS = 0.5
_TIMES = slice(11, 15)
"""User and system time of a process and of its ended children, among the fields of ``stat`` after its name."""


def memory_mb() -> float:
    """Resident memory.

    A process that is about to begin a program has its parent's memory until then, not as much again: it is left out.
    """
    parents = _parents()
    sizes = {pid: [int(number) for number in text.split()[:2]] for pid, text in _read_all("statm", parents)}
    spaces = {pid: space for pid, (space, _) in sizes.items()}
    is_own = {pid: abs(space - spaces.get(parents[pid], 0)) > _SAME * space for pid, space in spaces.items()}
    return sum(resident for pid, (_, resident) in sizes.items() if is_own[pid]) * _PAGE / 1024**2


@contextmanager
def peak_memory_mb() -> Iterator[Mapping[str, float]]:
    """The mapping has the most resident memory of the block in ``megabytes`` afterwards, looked at twice a second."""
    taken, is_over = {"megabytes": memory_mb()}, threading.Event()

    def look() -> None:
        while not is_over.wait(_LOOK_SECONDS):
            taken["megabytes"] = max(taken["megabytes"], memory_mb())

    with ThreadPoolExecutor(1) as thread:
        looking = thread.submit(look)
        try:
            yield taken
        finally:
            is_over.set()
            looking.result()


@contextmanager
def processor_seconds() -> Iterator[Mapping[str, float]]:
    """The mapping has the processor time of the block in ``seconds`` afterwards."""
    taken: dict[str, float] = {}
    before = _processor_seconds()
    yield taken
    taken["seconds"] = _processor_seconds() - before


@contextmanager
def other_work() -> Iterator[Mapping[str, float]]:
    """The mapping has in ``share`` afterwards what part of all processors' time others took: processes and machines.

    A process that this one started is another's once the one between them has ended.
    """
    taken: dict[str, float] = {}
    began, busy, own = time.monotonic(), _busy_seconds(), _processor_seconds()
    yield taken
    others = _busy_seconds() - busy - (_processor_seconds() - own)
    taken["share"] = max(0.0, others) / ((time.monotonic() - began) * (os.cpu_count() or 1))


def read_mb() -> float:
    """What the processes that there are have read so far, from files, sockets and pipes."""
    texts = [text for _, text in _read_all("io", _parents())]
    return sum(int(line.split()[1]) for text in texts for line in text.splitlines() if line.startswith("rchar")) / 1e6


def _processor_seconds() -> float:
    texts = [text for _, text in _read_all("stat", _parents())]
    return sum(sum(map(int, text.rpartition(")")[2].split()[_TIMES])) for text in texts) / _TICKS


def _busy_seconds() -> float:
    """Of all processors, by ``/proc/stat``, what another machine on the same host took from this one included."""
    times = [int(each) for each in Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _waiting, irq, softirq, stolen = times[:8]
    return (user + nice + system + irq + softirq + stolen) / _TICKS


def _read_all(file: str, parents: Mapping[int, int]) -> Iterator[tuple[int, str]]:
    """The file of this process, of those it started, of those they started, and so on."""
    for pid in [each for each in parents if os.getpid() in _ancestors(each, parents)]:
        with suppress(OSError):  # one that has just ended
            yield pid, Path(f"/proc/{pid}/{file}").read_text(encoding="utf-8")


def _parents() -> dict[int, int]:
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            parents[int(fields["Pid"])] = int(fields["PPid"])
    return parents


def _ancestors(pid: int, parents: Mapping[int, int]) -> Iterator[int]:
    while pid:
        yield pid
        pid = parents.get(pid, 0)
