"""Runs a command so that nothing of it outlives the process that started it: ``launcher.py PID AFTERWARDS COMMAND…``.

Standard library only; started by :mod:`lakehouse_provider.launch.job_process`. The command gets a session of its own.
When the launcher is stopped (SIGTERM), or when its parent dies in any way, SIGKILL included, the whole session of the
command gets SIGTERM and, after a short grace, SIGKILL; then whatever it left behind in other process groups (the
workers of PySpark make their own) is killed too. When the launcher itself is killed, the kernel kills the command.

``AFTERWARDS`` is a JSON list: a command to run when the first one was stopped or killed, for what it began elsewhere;
an empty list for none.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from types import FrameType

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 3.0
AFTERWARDS_SECONDS = 300.0
"""Ending a driver on YARN is two Java programs one after the other, which a busy machine takes minutes for."""
STOPPED = 143
"""Exit code after a stop, as a shell gives it for SIGTERM."""


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl failed")


def _die_with_launcher() -> None:
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _children() -> list[int]:
    pid = os.getpid()
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def _signal_group(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, number)


def _kill_rest() -> None:
    """Kill and reap every remaining descendant; orphans come to the launcher because it is their subreaper."""
    deadline = time.monotonic() + GRACE_SECONDS
    while (children := _children()) and time.monotonic() < deadline:
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(child, 0)


def _stop(process: subprocess.Popen[bytes]) -> None:
    _signal_group(process.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=GRACE_SECONDS)
    _signal_group(process.pid, signal.SIGKILL)
    process.wait()


def main(arguments: list[str]) -> int:
    """Run the command to its end and give its exit code; 143 when it was stopped."""
    parent, afterwards, command = int(arguments[0]), json.loads(arguments[1]), arguments[2:]
    stopped: list[int] = []

    def remember(number: int, _frame: FrameType | None) -> None:
        stopped.append(number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, remember)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    process = subprocess.Popen(command, start_new_session=True, preexec_fn=_die_with_launcher)
    while process.poll() is None and not stopped and os.getppid() == parent:
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.2)
    is_stopped = process.returncode is None
    if is_stopped:
        _stop(process)
    _kill_rest()
    if process.returncode < 0 and afterwards:
        with suppress(subprocess.TimeoutExpired, OSError):
            quiet = subprocess.DEVNULL
            subprocess.run(afterwards, timeout=AFTERWARDS_SECONDS, check=False, stdout=quiet, stderr=quiet)
    if is_stopped:
        return STOPPED
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
