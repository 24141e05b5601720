"""Heartbeats that never stop are ended, others are left alone. They count as ended after a second here."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from spark_jobs.storage import heartbeats as module
from spark_jobs.storage.heartbeats import Heartbeats
from tests.support.made_tables import at

ENDED = 1.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "heartbeat_seconds", lambda: ENDED)
    monkeypatch.setattr(module, "_POLL_SECONDS", 0.05)
    folder = tmp_path / "units/.hoodie/.heartbeat"
    folder.mkdir(parents=True)
    return folder


def heartbeats(folder: Path) -> Heartbeats:
    return Heartbeats("units", str(folder.parents[1]))


def test_one_that_ended_with_its_process_is_waited_for(folder: Path):
    (folder / at(1)).touch()
    begun = time.monotonic()
    heartbeats(folder).wait_for_end([at(1), at(2)])
    assert time.monotonic() - begun >= ENDED * 0.9
    assert (folder / at(1)).is_file()


def test_one_that_never_stops_is_fenced_and_cannot_come_again(folder: Path):
    errors: list[OSError] = []
    (folder / at(1)).touch()

    def beat() -> None:  # as Hudi's timer: until writing fails
        while not errors:
            try:
                (folder / at(1)).write_bytes(b"")
            except OSError as error:
                errors.append(error)
            time.sleep(0.02)

    thread = threading.Thread(target=beat)
    thread.start()
    heartbeats(folder).wait_for_end([at(1)])
    thread.join(timeout=10)
    assert [type(error) for error in errors] == [IsADirectoryError]
    assert (folder / at(1)).is_dir()


def test_the_heartbeat_of_another_writer_is_left_alone(folder: Path):
    (folder / at(1)).touch()
    os.utime(folder / at(1), (0, 0))
    (folder / at(2)).touch()
    heartbeats(folder).wait_for_end([at(1)])
    assert (folder / at(2)).is_file()


def test_a_table_without_heartbeats_is_not_waited_for(folder: Path):
    folder.rmdir()
    heartbeats(folder).wait_for_end([at(1)])
    assert not folder.exists()


@pytest.mark.parametrize("beating", [1, 2, 3])
def test_of_several_the_last_is_waited_for_wherever_it_comes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, beating: int
):
    """The others ended long ago, or were never there."""
    monkeypatch.setattr(module, "heartbeat_seconds", lambda: 0.5)
    for number in (1, 2):
        (folder / at(number)).touch()
        os.utime(folder / at(number), (0, 0))
    (folder / at(beating)).touch()
    os.utime(folder / at(beating))
    last_beat = (folder / at(beating)).stat().st_mtime
    heartbeats(folder).wait_for_end([at(1), at(2), at(3)])
    assert time.time() - last_beat > 0.5
    assert all(path.is_file() for path in folder.iterdir())


def test_of_several_only_those_that_would_not_end_are_fenced(folder: Path):
    for number in (1, 2, 3):
        (folder / at(number)).touch()
    (folder / "other").touch()
    late = heartbeats(folder)
    late.fence_late([at(1)])
    assert (folder / at(1)).is_file(), "it was not waited for"
    late._begun -= 2 * ENDED
    for _ in range(2):
        late.fence_late([at(1), at(3)])
    assert [path.is_dir() for path in sorted(folder.glob("0*"))] == [True, False, True]
    assert late.names() == [at(2)]
