"""Heartbeats that nobody stops are ended, others are left alone. They count as ended after two seconds here."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from spark_jobs.storage import heartbeats as module
from spark_jobs.storage.heartbeats import Heartbeats
from tests.support.made_tables import at

ENDED = 2.0


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


def test_one_that_nobody_stops_is_fenced_and_cannot_come_again(folder: Path):
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


def test_the_heartbeat_of_a_writer_that_was_not_asked_about_is_left_alone(folder: Path):
    (folder / at(1)).touch()
    os.utime(folder / at(1), (0, 0))
    (folder / at(2)).touch()
    heartbeats(folder).wait_for_end([at(1)])
    assert (folder / at(2)).is_file()


def test_a_table_without_heartbeats_is_not_waited_for(folder: Path):
    folder.rmdir()
    heartbeats(folder).wait_for_end([at(1)])
    assert not folder.exists()
