"""Facts about processes from /proc."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

LIMIT_SECONDS = 120.0


def is_alive(pid: int) -> bool:
    """True for a process that runs; a zombie does not."""
    return read_stat(pid)[:1] not in ([], ["Z"], ["X"])


def descendants(pid: int) -> list[int]:
    """Children of a process, and theirs."""
    return find_descendants(pid, find_children(read_processes()))


def find_children(stats: Mapping[int, Sequence[str]]) -> dict[int, list[int]]:
    """The children of each process among those that were looked at (:func:`read_processes`)."""
    children: dict[int, list[int]] = {}
    for child, fields in stats.items():
        children.setdefault(int(fields[1]), []).append(child)
    return children


def find_descendants(pid: int, children: Mapping[int, Sequence[int]]) -> list[int]:
    """The ids of a process's children, their children and so on, from :func:`find_children`."""
    found = list(children.get(pid, ()))
    for parent in found:  # grows meanwhile: children of children come after them
        found += children.get(parent, ())
    return found


def read_processes() -> dict[int, list[str]]:
    """The fields of :func:`read_stat` of every process that there is, by its id.

    One look at each process: to read the children of all threads of a JVM takes a hundred times as long.
    """
    stats = {int(folder): read_stat(int(folder)) for folder in os.listdir("/proc") if folder.isdigit()}
    return {pid: fields for pid, fields in stats.items() if fields}


def _list(folder: str) -> list[Path]:
    try:
        return list(Path(folder).iterdir())
    except OSError:
        return []


def belong_to(folder: Path) -> list[int]:
    """The live processes of a stack's run folder: by their variables, whoever started them, whatever else they have."""
    mark = f"STACK_RUN_FOLDER={folder}".encode()
    return [pid for pid in read_processes() if pid != os.getpid() and is_alive(pid) and mark in _variables(pid)]


def _variables(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def command_line(pid: int) -> str:
    """The words of a process, or nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def has_running_thread(pid: int, name: str, *, over_seconds: float = 1.0) -> bool:
    """True when a thread whose name begins so runs, or waits for a processor, at any time within the next seconds.

    Other work of the machine makes no difference, as it would to the processor time that the thread gets.
    """
    deadline = time.monotonic() + over_seconds
    while time.monotonic() < deadline:
        if any(_stat(task)[:1] == ["R"] for task in _list(f"/proc/{pid}/task") if _thread_name(task).startswith(name)):
            return True
        time.sleep(0.05)
    return False


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
    return _stat(Path(f"/proc/{pid}"))


def _stat(process: Path) -> list[str]:
    try:
        return (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _thread_name(task: Path) -> str:
    try:
        return (task / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
