"""Memory and processor time of this process and those it started, as the system counts them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_TIMES = slice(11, 15)
"""User and system time of a process and of its ended children, among the fields of ``stat`` after its name."""


def memory_mb() -> float:
    """Resident memory."""
    pages = sum(int(text.split()[1]) for text in _read_all("statm"))
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024**2


@contextmanager
def processor_seconds() -> Iterator[Mapping[str, float]]:
    """The mapping has the processor time of the block in ``seconds`` afterwards."""
    taken: dict[str, float] = {}
    before = _processor_seconds()
    yield taken
    taken["seconds"] = _processor_seconds() - before


def _processor_seconds() -> float:
    return sum(sum(map(int, text.rpartition(")")[2].split()[_TIMES])) for text in _read_all("stat")) / _TICKS


def _read_all(file: str) -> Iterator[str]:
    for pid in _family(os.getpid()):
        with suppress(OSError):  # one that has just ended
            yield Path(f"/proc/{pid}/{file}").read_text(encoding="utf-8")


def _family(pid: int) -> list[int]:
    """``pid``, those it started, those they started, and so on."""
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
            parents[int(fields["Pid"])] = int(fields["PPid"])
    return [each for each in parents if pid in _ancestors(each, parents)]


def _ancestors(pid: int, parents: Mapping[int, int]) -> Iterator[int]:
    while pid:
        yield pid
        pid = parents.get(pid, 0)
