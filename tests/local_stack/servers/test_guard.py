"""A stack ends with who started it: done, failed, interrupted once or many times, or killed.

Each trial starts two services in a process of its own: one that is deaf to SIGTERM (as a Kafka Connect whose broker is
gone), and one with a child in another session. Processes are counted by their variables, before and after.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import belong_to, is_alive, wait_until

STARTER = """
import signal, sys, time
from pathlib import Path
from local_stack.servers import services
from local_stack.servers.services import RunFolder
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"
PARENT = (
    "import subprocess, sys, time; "
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True); "
    "print('parent', flush=True); time.sleep(600)"
)
signal.signal(signal.SIGINT, signal.default_int_handler)
services.STOP_SECONDS = float(sys.argv[3])
folder = RunFolder(Path(sys.argv[1]))
with folder.stopping(on_success=sys.argv[2] != "stay"):
    deaf = folder.start("deaf", [sys.executable, "-c", DEAF], environment={})
    parent = folder.start("parent", [sys.executable, "-c", PARENT], environment={})
    while (deaf.tail(), parent.tail()) != ("deaf", "parent"):
        time.sleep(0.02)
    print("started", flush=True)
    if sys.argv[2] == "fail":
        raise RuntimeError("a step failed")
    if sys.argv[2] == "wait":
        time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    assert belong_to(tmp_path) == []
    yield tmp_path
    for pid in belong_to(tmp_path):
        os.kill(pid, signal.SIGKILL)


def start(folder: Path, how: str, seconds: float = 0.3) -> subprocess.Popen[str]:
    """A starter whose two services and the child of one of them run."""
    line = [sys.executable, "-c", STARTER, str(folder), how, str(seconds)]
    starter = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert starter.stdout is not None
    assert starter.stdout.readline() == "started\n"
    return starter


@pytest.mark.parametrize(("how", "code"), [("end", 0), ("fail", 1)])
def test_nothing_is_left_of_a_stack_that_ended_or_failed(folder: Path, how: str, code: int) -> None:
    starter = start(folder, how)
    assert starter.wait(30) == code
    assert belong_to(folder) == []


def test_signals_while_it_stops_make_it_stop_sooner_and_not_less(folder: Path) -> None:
    starter = start(folder, "wait", seconds=600.0)
    wait_until(lambda: len(belong_to(folder)) == 3, "two services and the child of one")
    begun = time.monotonic()
    while starter.poll() is None and time.monotonic() < begun + 30:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            starter.send_signal(number)
            time.sleep(0.05)
    assert starter.wait(30) != 0
    assert belong_to(folder) == []


def test_a_starter_that_is_killed_leaves_nothing(folder: Path) -> None:
    starter = start(folder, "wait")
    wait_until(lambda: len(belong_to(folder)) == 3, "two services and the child of one")
    starter.kill()
    starter.wait()
    # The guard is a process of its own: it has SIGTERM's time to give, and the rest is killed.
    wait_until(lambda: belong_to(folder) == [], "the guard ends them", limit_seconds=60)


def test_what_is_to_stay_stays_when_its_starter_ended_in_order(folder: Path) -> None:
    starter = start(folder, "stay")
    wait_until(lambda: len(belong_to(folder)) == 3, "two services and the child of one")
    assert starter.wait(30) == 0
    assert len([pid for pid in belong_to(folder) if is_alive(pid)]) == 3
