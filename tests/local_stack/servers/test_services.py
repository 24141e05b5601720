"""Services are started, found again and stopped by pid, and two stacks do not see each other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from local_stack.errors import SetupError
from local_stack.servers.services import RunFolder, Service, run_path
from tests.support.processes import descendants, is_alive, wait_until, wait_until_gone

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)"]
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
time.sleep(600)
"""
FAMILY = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
time.sleep(600)
"""


def start(folder: RunFolder, name: str = "one", command: list[str] | None = None) -> Service:
    return folder.start(name, command or SLEEP, environment=os.environ, port=7)


def test_a_service_is_found_again_and_stopped(tmp_path: Path) -> None:
    service = start(RunFolder(tmp_path))
    again = RunFolder(tmp_path)
    assert again.find("one") == service
    assert again.stop_all() == ["one"]
    assert not is_alive(service.pid)
    assert again.find("one") is None
    assert again.stop_all() == []


def test_a_name_that_runs_is_not_given_to_another_service(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    service = start(folder)
    with pytest.raises(SetupError, match=r"^one runs already in .*; stop it first, or take another folder$"):
        start(folder)
    assert folder.stop_all() == ["one"]
    assert not is_alive(service.pid)
    start(folder)
    assert folder.stop_all() == ["one"]


def test_the_whole_group_is_stopped(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    service = start(folder, command=[sys.executable, "-c", FAMILY])
    wait_until(lambda: bool(descendants(service.pid)), "the child runs")
    family = [service.pid, *descendants(service.pid)]
    folder.stop_all()
    wait_until_gone(family)


def test_a_stubborn_service_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local_stack.servers.services.STOP_SECONDS", 0.3)
    folder = RunFolder(tmp_path)
    service = start(folder, command=[sys.executable, "-c", STUBBORN])
    wait_until(lambda: service.tail() == "up", "it ignores SIGTERM")
    folder.stop_all()
    wait_until_gone([service.pid])


def test_two_stacks_do_not_see_each_other(tmp_path: Path) -> None:
    one, other = RunFolder(tmp_path / "1"), RunFolder(tmp_path / "2")
    first, second = start(one), start(other)
    one.stop_all()
    assert not first.is_alive
    assert second.is_alive
    other.stop_all()


def test_a_pid_that_was_given_again_is_not_ours(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    stranger = subprocess.Popen(SLEEP, stdout=subprocess.DEVNULL)
    facts = {"name": "one", "pid": stranger.pid, "born": 1, "port": 0, "log": ""}
    (tmp_path / "one.json").write_text(json.dumps(facts), encoding="utf-8")
    assert folder.find("one") is None
    assert folder.stop_all() == []
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_stack_is_stopped(tmp_path: Path, number: signal.Signals) -> None:
    code = (
        "import signal, sys, time; from pathlib import Path; from local_stack.servers.services import RunFolder\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored below a shell's background job
        "folder = RunFolder(Path(sys.argv[1]))\n"
        "with folder.stopping():\n"
        "    folder.start('one', sys.argv[2:], environment={}); print('started', flush=True); time.sleep(600)\n"
    )
    line = [sys.executable, "-c", code, str(tmp_path), *SLEEP]
    stack = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert stack.stdout is not None
    assert stack.stdout.readline() == "started\n"
    service = RunFolder(tmp_path).find("one")
    assert service is not None
    stack.send_signal(number)
    assert stack.wait(30) != 0
    wait_until_gone([service.pid])


def test_what_started_well_may_stay(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    with folder.stopping(on_success=False):
        service = start(folder)
    assert service.is_alive
    with pytest.raises(RuntimeError), folder.stopping(on_success=False):
        raise RuntimeError
    assert not service.is_alive


def test_the_run_folder_is_the_projects_or_what_the_environment_says(tmp_path: Path) -> None:
    assert run_path({"LAKEHOUSE_RUN_PATH": str(tmp_path)}) == tmp_path
    assert run_path({}).name == ".run"


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="LAKEHOUSE_RUN_PATH"):
        RunFolder(tmp_path / "file" / "below")


def test_a_service_that_ended_is_not_alive(tmp_path: Path) -> None:
    service = start(RunFolder(tmp_path), command=[sys.executable, "-c", "print('bye')"])
    wait_until(lambda: not service.is_alive, "it ends")
    assert service.tail() == "bye"
    service.stop()
