"""Long-running processes of the stack: started in a group of their own, remembered in a file, stopped by that."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from local_stack.errors import SetupError
from local_stack.layout import PROJECT_ROOT
from local_stack.servers.guarding import guarding
from local_stack.servers.processes import birth, kill_rest, marked

LOOPBACK = "127.0.0.1"
STOP_SECONDS = 20.0
POLL_SECONDS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A process that was started: ``born`` is the kernel's start tick, so a pid that was given again is not ours."""

    name: str
    pid: int
    born: int
    port: int
    log: str

    @property
    def is_alive(self) -> bool:
        """True while the very process that was started runs."""
        return birth(self.pid) == self.born

    def stop(self, *, is_urgent: Callable[[], bool] = lambda: False) -> None:
        """Stop the process and its whole group; returns when it is gone. Safe to call again.

        It has time to end in order until ``is_urgent`` is true: then no one waits for that any more.
        """
        if not self.is_alive:
            return
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        while self.is_alive and time.monotonic() < deadline and not is_urgent():
            time.sleep(0.1)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def tail(self, lines: int = 5) -> str:
        """The end of its log, for a person."""
        with suppress(OSError):
            return "\n".join(Path(self.log).read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A server, ready to be started: in the background by a run folder, or in place of this process."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    cwd: Path
    port: int

    def start(self, folder: RunFolder) -> Service:
        """Start it in the background."""
        return folder.start(self.name, self.command, environment=self.environment, port=self.port, cwd=self.cwd)

    def become(self) -> NoReturn:
        """Put it in this process's place: signals reach it, and what it says is on the same terminal."""
        os.chdir(self.cwd)
        os.execvpe(self.command[0], list(self.command), dict(self.environment))


class RunFolder:
    """The folder that remembers one stack: ``<name>.json`` a service, ``logs/<name>.log`` its output.

    Two stacks have two folders and know nothing of each other.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            (path / "logs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SetupError(
                f"{path} cannot be made ({error.strerror}); set LAKEHOUSE_RUN_PATH to a writable folder"
            ) from error

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        port: int = 0,
        cwd: Path | None = None,
    ) -> Service:
        """Start ``command`` in a session of its own and write down how to stop it.

        Raises:
            SetupError: a service of this name runs in this folder; it could not be stopped any more.
        """
        if self.find(name):
            raise SetupError(f"{name} runs already in {self.path}; stop it first, or take another folder")
        log = self.log(name)
        with log.open("ab") as stream:
            process = subprocess.Popen(
                list(command),
                env=marked(environment, self.path),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        born = birth(process.pid)
        service = Service(name=name, pid=process.pid, born=born or 0, port=port, log=str(log))
        self._file(name).write_text(json.dumps(asdict(service)), encoding="utf-8")
        return service

    def log(self, name: str) -> Path:
        """The file that has the output of the service of this name."""
        return self.path / "logs" / f"{name}.log"

    def find(self, name: str) -> Service | None:
        """The service of this name when it still runs."""
        try:
            service = Service(**json.loads(self._file(name).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        return service if service.is_alive else None

    def running(self) -> list[Service]:
        """Every service that still runs, the last started first."""
        files = sorted(self.path.glob("*.json"), key=lambda file: file.stat().st_mtime, reverse=True)
        return [service for file in files if (service := self.find(file.stem))]

    def stop_all(self, *, is_urgent: Callable[[], bool] = lambda: False) -> list[str]:
        """Stop every service of this stack with all that they started, and forget them; gives the services' names.

        What is left after a service has ended is killed: children in sessions of their own, also of a service that is
        not remembered any more.
        """
        services = self.running()
        for service in services:
            with suppress(ProcessLookupError):
                os.killpg(service.pid, signal.SIGTERM)
        for service in services:
            service.stop(is_urgent=is_urgent)
        kill_rest(self.path)
        for file in self.path.glob("*.json"):
            file.unlink(missing_ok=True)
        return [service.name for service in services]

    @contextmanager
    def stopping(self, *, on_success: bool = True) -> Iterator[None]:
        """Stop everything at the end, however it comes: done, an error, Ctrl-C, SIGTERM, a closed terminal or SIGKILL.

        Stopping is not interrupted: whoever signals again meanwhile has it done at once instead of in order. A guard
        does it for a process that is killed. With ``on_success=False`` what was started stays when nothing went wrong.
        """
        is_stopping, again = False, list[int]()

        def interrupt(number: int, _frame: FrameType | None) -> None:
            if not is_stopping:
                raise KeyboardInterrupt
            again.append(number)

        numbers = [signal.SIGTERM, signal.SIGHUP]
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as below a shell's background job
            numbers.append(signal.SIGINT)
        before = {number: signal.signal(number, interrupt) for number in numbers}
        is_done = False
        try:
            with guarding(self.path):
                try:
                    yield
                    is_done = True
                finally:
                    is_stopping = True
                    if on_success or not is_done:
                        self.stop_all(is_urgent=lambda: bool(again))
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if again:
            raise KeyboardInterrupt

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.json"


def wait_for_server(server: Service, *, what: str, seconds: float) -> str:
    """Wait until a server listens on its port; gives its address, ``host:port``.

    Raises:
        SetupError: it ended, or hangs.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not server.is_alive:
            raise SetupError(f"{what} ended while starting; its log {server.log} says why: {server.tail(1)}")
        with suppress(OSError), socket.create_connection((LOOPBACK, server.port), timeout=POLL_SECONDS):
            return f"{LOOPBACK}:{server.port}"
        time.sleep(POLL_SECONDS)
    server.stop()
    raise SetupError(f"{what} did not answer in {seconds:.0f} s; look at {server.log}")


def run_path(environ: Mapping[str, str]) -> Path:
    """Where stacks keep what runs: ``LAKEHOUSE_RUN_PATH``, or ``.run/`` in the project."""
    return Path(environ.get("LAKEHOUSE_RUN_PATH") or PROJECT_ROOT / ".run").absolute()
