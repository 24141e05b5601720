"""The process of one job: streams its log, keeps its last line, and leaves nothing behind when it is stopped."""

from __future__ import annotations

import json
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

from lakehouse_provider.launch.job_command import JobCommand
from lakehouse_provider.launch.launcher import STOPPED
from spark_jobs.contracts.shipped import CHECKOUT

LAUNCHER = Path(__file__).with_name("launcher.py")
STOP_SECONDS = 15
CLEAR = ("error: ", "try again: ")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobExit:
    """How a job's process ended: exit code, the last line of standard output, the last lines of all its output."""

    code: int
    last_line: str
    tail: tuple[str, ...]

    @property
    def reason(self) -> str:
        """The one clear line that an exit 1 or 2 leaves, else the last line."""
        lines = [line for line in self.tail if line.strip()] or ["it printed nothing"]
        return next((line for line in reversed(lines) if line.startswith(CLEAR)), lines[-1])


class JobProcess:
    """Runs a command through :mod:`lakehouse_provider.launch.launcher`, which ends with this process."""

    def __init__(self, command: JobCommand, *, log: Callable[[str], None]) -> None:
        self._command = command
        self._log = log
        self._process: subprocess.Popen[str] | None = None
        self._is_stopped = False

    def run(self) -> JobExit:
        """Start the command and wait for its end; its output goes to ``log`` as it comes.

        Standard error and, because spark-submit sends a driver's log there, every line of standard output but the last.
        After a stop nothing is started.
        """
        if self._is_stopped:
            return JobExit(code=STOPPED, last_line="", tail=("it was stopped before it began",))
        process = self._start()
        assert process.stdout is not None
        assert process.stderr is not None
        tail: deque[str] = deque(maxlen=50)
        pump = Thread(target=self._pump, args=(process.stderr, tail), daemon=True)
        pump.start()
        last_line = ""
        for line in process.stdout:
            if last_line:
                self._say(last_line, tail)
            last_line = line.rstrip("\n")
        code = process.wait()
        pump.join(timeout=STOP_SECONDS)
        if code:
            self._say(last_line, tail)
        return JobExit(code=code, last_line=last_line, tail=tuple(tail))

    def stop(self) -> None:
        """Stop the job with everything it started; returns when it is gone. One that has not begun never will."""
        self._is_stopped = True
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=STOP_SECONDS)

    def _start(self) -> subprocess.Popen[str]:
        afterwards = json.dumps(list(self._command.afterwards))
        process = self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), afterwards, *self._command.arguments],
            env=dict(self._command.environment),
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        if self._is_stopped:  # while it began, when there was no process yet to stop
            self.stop()
        return process

    def _pump(self, stream: IO[str], tail: deque[str]) -> None:
        for line in stream:
            self._say(line.rstrip("\n"), tail)

    def _say(self, line: str, tail: deque[str]) -> None:
        if line:
            tail.append(line)
            self._log(line)
