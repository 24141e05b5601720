"""A program that dies is started again, one that is stopped or cannot start is not."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from local_stack.servers import keep_running as module
from local_stack.servers.keep_running import keep_running
from local_stack.servers.services import RunFolder
from tests.support.processes import descendants, is_alive, wait_until, wait_until_gone

COUNTING = """
import pathlib, sys
file = pathlib.Path(sys.argv[1])
file.write_text(file.read_text() + "x")
sys.exit(0 if len(file.read_text()) == 3 else 7)
"""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No pause, and this process keeps its own signals."""
    monkeypatch.setattr(module, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(signal, "signal", lambda *_: None)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("least", "starts", "code"), [(0.0, 3, 0), (600.0, 1, 7)], ids=["ran well", "never ran"])
def test_a_program_that_fails_is_started_again_once_it_had_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: float, starts: int, code: int
) -> None:
    monkeypatch.setattr(module, "LEAST_SECONDS", least)
    file = tmp_path / "starts"
    file.write_text("")
    assert keep_running([sys.executable, "-c", COUNTING, str(file)]) == code
    assert file.read_text() == "x" * starts


def test_a_program_that_is_stopped_stays_stopped(tmp_path: Path) -> None:
    program = [sys.executable, "-c", "import time; time.sleep(600)"]
    command = [sys.executable, "-m", "local_stack.servers.keep_running", *program]
    folder = RunFolder(tmp_path)
    service = folder.start("one", command, environment=os.environ)
    wait_until(lambda: bool(descendants(service.pid)), "the program runs")
    family = [service.pid, *descendants(service.pid)]
    folder.stop_all()
    wait_until_gone(family)
    assert not any(map(is_alive, family))
