"""The launcher and the processes below it, with real processes.

Each test starts a command that starts a child in a process group of its own, as PySpark's workers do, and writes both
pids to a file. Whatever ends the launcher or its parent, both must be gone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from lakehouse_provider.launch.job_process import LAUNCHER
from tests.support.launchers import launch
from tests.support.processes import wait_until_gone

LIMIT_SECONDS = 20
FAMILY = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], process_group=0)
open(sys.argv[1], "w").write(f"{os.getpid()} {child.pid}")
time.sleep(600)
"""
PARENT = """
import os, subprocess, sys, time
line = [sys.executable, "-I", sys.argv[1], str(os.getpid()), "[]", *sys.argv[3:]]
launcher = subprocess.Popen(line, start_new_session=True)
open(sys.argv[2], "w").write(str(launcher.pid))
time.sleep(600)
"""
STRANGE_KERNEL = """
import sys
from lakehouse_provider.launch import launcher
setattr(launcher, sys.argv[1], -1)
sys.exit(launcher.main(sys.argv[2:]))
"""


def wait_for_pids(path: Path, count: int) -> list[int]:
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        with suppress(OSError):
            if len(pids := [int(word) for word in path.read_text(encoding="ascii").split()]) == count:
                return pids
        time.sleep(0.05)
    raise AssertionError(f"{path.name} never came")


@pytest.mark.parametrize(
    ("code", "expected"), [("print('hi')", 0), ("raise SystemExit(2)", 2), ("raise SystemExit(1)", 1)]
)
def test_gives_the_commands_exit_code(code: str, expected: int) -> None:
    assert launch([sys.executable, "-c", code]).wait(LIMIT_SECONDS) == expected


def test_passes_output_and_log_through() -> None:
    process = launch([sys.executable, "-c", "import sys; print('result'); print('log', file=sys.stderr)"])
    assert process.communicate(timeout=LIMIT_SECONDS) == ("result\n", "log\n")


def test_a_killed_command_is_reported_as_a_shell_does() -> None:
    assert launch([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"]).wait(LIMIT_SECONDS) == 137


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stopped_launcher_takes_everything_with_it(tmp_path: Path, number: signal.Signals) -> None:
    process = launch([sys.executable, "-c", FAMILY, str(tmp_path / "pids")])
    pids = wait_for_pids(tmp_path / "pids", 2)
    process.send_signal(number)
    assert process.wait(LIMIT_SECONDS) == 143
    wait_until_gone(pids)


def test_a_killed_launcher_takes_the_command_with_it(tmp_path: Path) -> None:
    process = launch([sys.executable, "-c", FAMILY, str(tmp_path / "pids")])
    command, child = wait_for_pids(tmp_path / "pids", 2)
    process.kill()
    wait_until_gone([command])
    os.kill(child, signal.SIGKILL)


def test_a_killed_parent_takes_everything_with_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FAMILY, str(tmp_path / "pids")]
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(LAUNCHER), str(tmp_path / "launcher"), *command])
    (launcher,) = wait_for_pids(tmp_path / "launcher", 1)
    pids = wait_for_pids(tmp_path / "pids", 2)
    parent.kill()
    parent.wait()
    wait_until_gone([launcher, *pids])


def test_a_command_that_ends_leaves_no_child(tmp_path: Path) -> None:
    code = FAMILY.rpartition("time.sleep(600)")[0]
    process = launch([sys.executable, "-c", code, str(tmp_path / "pids")])
    pids = wait_for_pids(tmp_path / "pids", 2)
    assert process.wait(LIMIT_SECONDS) == 0
    wait_until_gone(pids)


@pytest.mark.parametrize(
    ("code", "is_run"),
    [("import os; os.kill(os.getpid(), 9)", True), ("raise SystemExit(1)", False), ("print('well')", False)],
    ids=["killed", "failed by itself", "done"],
)
def test_what_a_killed_command_began_elsewhere_is_ended(tmp_path: Path, code: str, is_run: bool) -> None:
    process = launch([sys.executable, "-c", code], ["/bin/sh", "-c", f"touch {tmp_path}/ended"])
    process.wait(LIMIT_SECONDS)
    assert (tmp_path / "ended").exists() is is_run


@pytest.mark.parametrize("option", ["PR_SET_PDEATHSIG", "PR_SET_CHILD_SUBREAPER"])
def test_a_kernel_that_cannot_promise_it_is_an_error_and_nothing_is_started(tmp_path: Path, option: str) -> None:
    """Else a job would outlive its task there, and no one would know."""
    line = [sys.executable, "-c", STRANGE_KERNEL, option, str(os.getpid()), "[]", "touch", str(tmp_path / "begun")]
    environment = {**os.environ, "PYTHONPATH": str(LAUNCHER.parents[2])}
    done = subprocess.run(line, env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    assert "OSError: [Errno 22] prctl failed" in done.stderr
    assert not (tmp_path / "begun").exists()
