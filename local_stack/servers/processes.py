"""Processes of a stack, by the kernel's own facts: when one was born, and whose it is.

What a stack starts has its run folder in a variable, and so has all that is started from there, in whatever session or
group: nothing of it can be lost from sight.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

VARIABLE = "STACK_RUN_FOLDER"
"""The run folders that a process belongs to: of a stack within a stack there are two."""
_PROC = Path("/proc")
_KILL_SECONDS = 10.0


def birth(pid: int) -> int | None:
    """The kernel's start tick of a live process; None when there is none (a zombie is none)."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def marked(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The variables of a process that belongs to ``folder``, beside what this process belongs to."""
    own = str(folder.absolute())
    outer = [each for each in os.environ.get(VARIABLE, "").split(os.pathsep) if each not in ("", own)]
    return {**environment, VARIABLE: os.pathsep.join([*outer, own])}


def belonging_to(folder: Path) -> list[int]:
    """The ids of the live processes of a run folder, but this one."""
    own = str(folder.absolute())
    found = [int(each.name) for each in _PROC.iterdir() if each.name.isdigit()] if _PROC.is_dir() else []
    return [pid for pid in found if pid != os.getpid() and own in _folders(pid) and birth(pid) is not None]


def kill_rest(folder: Path) -> list[int]:
    """Kill what a run folder still has, and what that started meanwhile; gives the ids. Returns when all are gone."""
    killed: list[int] = []
    deadline = time.monotonic() + _KILL_SECONDS
    while (rest := belonging_to(folder)) and time.monotonic() < deadline:
        for pid in rest:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        killed += [pid for pid in rest if pid not in killed]
        time.sleep(0.05)
    return killed


def _folders(pid: int) -> list[str]:
    """The run folders in the variables that a process was started with; none of one that may not be looked at."""
    try:
        variables = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return []
    prefix = f"{VARIABLE}=".encode()
    value = next((each[len(prefix) :] for each in variables if each.startswith(prefix)), b"")
    return os.fsdecode(value).split(os.pathsep)
