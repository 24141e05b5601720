"""The process of one job: streams its log, keeps its last line, and leaves nothing behind when it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO

from lakehouse_provider import PROJECT_ROOT
from lakehouse_provider.engines import JobCommand

LAUNCHER = Path(__file__).with_name("launcher.py")
STOP_SECONDS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExit:
    """How a job's process ended: exit code, its lines of standard output, the last of what it logged."""

    code: int
    output: tuple[str, ...]
    log_tail: tuple[str, ...]

    @property
    def reason(self) -> str:
        """The last line it logged: an exit 1 or 2 leaves its one clear line there."""
        return next((line for line in reversed(self.log_tail) if line.strip()), "it logged nothing")


class JobProcess:
    """Runs a command through :mod:`lakehouse_provider.launcher`, which dies with this process and takes all with it."""

    def __init__(self, command: JobCommand, *, log: Callable[[str], None]) -> None:
        self._command = command
        self._log = log
        self._process: subprocess.Popen[str] | None = None

    def run(self) -> JobExit:
        """Start the command and wait for its end; every line of standard error goes to ``log`` as it comes."""
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), *self._command.arguments],
            env=dict(self._command.environment),
            cwd=PROJECT_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        tail: deque[str] = deque(maxlen=50)
        pump = Thread(target=self._pump, args=(self._process.stderr, tail), daemon=True)
        pump.start()
        output = deque((line.rstrip("\n") for line in self._process.stdout), maxlen=20)
        code = self._process.wait()
        pump.join(timeout=STOP_SECONDS)
        return JobExit(code=code, output=tuple(output), log_tail=tuple(tail))

    def stop(self) -> None:
        """Stop the job with everything it started; returns when it is gone."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=STOP_SECONDS)

    def _pump(self, stream: IO[str], tail: deque[str]) -> None:
        for line in stream:
            tail.append(line.rstrip("\n"))
            self._log(tail[-1])
