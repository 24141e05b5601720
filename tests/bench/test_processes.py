"""Memory and processor time are those of this process and of what it started, also of what has ended since."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bench import processes
from bench.processes import memory_mb, other_work, peak_memory_mb, processor_seconds, read_mb

WORK = "sum(i * i for i in range(3_000_000))"
WAIT = "import time; time.sleep(0.5)"


def test_the_work_of_a_child_that_has_ended_is_counted_and_waiting_is_none():
    found = []
    for program in (WORK, WAIT):
        with processor_seconds() as taken:
            subprocess.run([sys.executable, "-S", "-c", program], check=True)
        found.append(taken["seconds"])
    assert found[0] > found[1]


def test_what_others_took_is_all_work_but_that_of_children(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_busy_seconds", iter((100.0, 130.0)).__next__)
    monkeypatch.setattr(processes, "_processor_seconds", iter((5.0, 15.0)).__next__)
    monkeypatch.setattr(processes, "time", SimpleNamespace(monotonic=iter((1000.0, 1020.0)).__next__))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with other_work() as taken:
        pass
    assert taken == {"share": 0.5}


def test_the_work_of_all_processors_has_that_of_children_in_it() -> None:
    before = processes._busy_seconds()
    with processor_seconds() as own, other_work() as others:
        subprocess.run([sys.executable, "-S", "-c", WORK], check=True)
    assert processes._busy_seconds() - before > own["seconds"] / 2 > 0
    assert 0 <= others["share"] <= 1


def test_memory_has_that_of_children_in_it():
    alone = memory_mb()
    held = "x = bytearray(100_000_000); print(flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", held], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    both = memory_mb()
    child.communicate(b"\n")
    assert both > alone + 90


def test_what_children_read_is_counted_while_they_live(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 30_000_000)
    before = read_mb()
    reads = f"n = len(open({str(tmp_path / 'large')!r}, 'rb').read()); print(n, flush=True); input()"
    child = subprocess.Popen([sys.executable, "-c", reads], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert int(child.stdout.readline()) == 30_000_000
    assert 30 <= read_mb() - before < 45
    child.communicate(b"\n")


def test_a_child_that_has_begun_no_program_yet_adds_nothing():
    """The pages of a fork are its parent's, until one of them writes."""
    held = bytearray(b"x" * 100_000_000)
    alone = memory_mb()
    read, write = os.pipe()
    if not (pid := os.fork()):
        os.read(read, 1)
        os._exit(0)
    both = memory_mb()
    os.write(write, held[:1])
    os.waitpid(pid, 0)
    assert both < alone + 90


def test_the_most_memory_of_a_block_is_kept_after_it_is_given_back():
    before = memory_mb()
    with peak_memory_mb() as taken:
        held = "x = bytearray(100_000_000); print(flush=True); import time; time.sleep(1.2)"
        subprocess.run([sys.executable, "-c", held], check=True, stdout=subprocess.DEVNULL)
    assert taken["megabytes"] > before + 80
