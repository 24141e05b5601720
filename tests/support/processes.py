"""Facts about processes from /proc."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

LIMIT_SECONDS = 120.0


def is_alive(pid: int) -> bool:
    """True for a process that runs; a zombie does not."""
    return read_stat(pid)[:1] not in ([], ["Z"], ["X"])


def descendants(pid: int) -> list[int]:
    """Children of a process, and theirs."""
    children = [child for task in _list(f"/proc/{pid}/task") for child in _children(task)]
    return children + [below for child in children for below in descendants(child)]


def _children(task: Path) -> list[int]:
    """Processes that a thread has started; none when it has ended meanwhile."""
    try:
        return [int(child) for child in (task / "children").read_text(encoding="ascii").split()]
    except OSError:
        return []


def _list(folder: str) -> list[Path]:
    try:
        return list(Path(folder).iterdir())
    except OSError:
        return []


def command_line(pid: int) -> str:
    """The words of a process, or nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def busy_processors(pid: int, *, over_seconds: float = 1.0) -> float:
    """How many processors a process keeps busy, measured over a moment."""
    before = _cpu_seconds(pid)
    time.sleep(over_seconds)
    return (_cpu_seconds(pid) - before) / over_seconds


def wait_until(is_true: Callable[[], bool], what: str, *, limit_seconds: float = LIMIT_SECONDS) -> None:
    """Wait for something; AssertionError when it does not come."""
    deadline = time.monotonic() + limit_seconds
    while not is_true():
        assert time.monotonic() < deadline, f"{what}: not in {limit_seconds:.0f} s"
        time.sleep(0.1)


def wait_until_gone(pids: list[int], *, limit_seconds: float = 30.0) -> None:
    """Wait until no process of ``pids`` runs; AssertionError names those that do."""
    deadline = time.monotonic() + limit_seconds
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [command_line(pid) for pid in pids if is_alive(pid)] == []


def read_stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat after the program's name, or nothing when the process is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _cpu_seconds(pid: int) -> float:
    fields = read_stat(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else 0.0
