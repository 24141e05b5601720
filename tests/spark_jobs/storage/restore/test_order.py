"""A restore of tables whose commits did not end in the order in which they were begun, by an engine that minds it.

Hudi rolls back what ended after the savepoint's commit, newest first by the times of the files, and fails when an
instant has a later one beside it. Each table has four commits a minute apart and its savepoint at the second.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.instants import NO_INSTANT, Instant, format_instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.restore import TableReturn, put_in_order_after, restore_table
from spark_jobs.storage.timeline import Timeline
from tests.support.made_engine import MadeEngine
from tests.support.restores import restore_plan

START = datetime(2020, 1, 1, tzinfo=UTC)
INSTANTS = [format_instant(START + timedelta(minutes=minute)) for minute in range(4)]
BACK_TO = INSTANTS[1]


class MindfulEngine(MadeEngine):
    """Rolls back as Hudi does; a plan that is there is kept to."""

    def _rollback_to_savepoint(self, timeline: Path, *, instant_time: str) -> None:
        files = {file.name.partition(".")[0]: file for file in timeline.glob("*.deltacommit")}
        ended = {instant: (file.stat().st_mtime_ns // 10**6, instant) for instant, file in files.items()}
        there = [*timeline.glob("*.restore.requested")]
        plan = sorted((each for each in ended if ended[each] > ended[instant_time]), key=ended.__getitem__)[::-1]
        file = there[0] if there else timeline / f"{'3' * 17}.restore.requested"
        if there:
            plan = [text.decode() for text in re.findall(rb"[0-9]{17}", file.read_bytes())][:-1]
        else:
            file.write_bytes(restore_plan(plan, instant_time))
        for instant in (each for each in plan if each in files):
            later = [each for each in files if each > instant]
            if later:
                raise RuntimeError(f"Found commits after time :{instant}, please rollback greater commits first")
            files.pop(instant).unlink()
        file.unlink()


def make(folder: Path, ended: list[int]) -> Settings:
    """The table ``units``; ``ended`` are seconds since the first commit began at which the files were written."""
    timeline = folder / "units" / ".hoodie"
    timeline.mkdir(parents=True)
    (timeline / "hoodie.properties").write_text("hoodie.table.version=6\n")
    for instant, seconds in zip(INSTANTS, ended, strict=True):
        file = timeline / f"{instant}.deltacommit"
        file.write_text("{}")
        os.utime(file, ns=(round((START.timestamp() + seconds) * 10**9),) * 2)
    (timeline / f"{BACK_TO}.savepoint").touch()
    return Settings(base_path=str(folder), lease_wait_seconds=0)


def restore(settings: Settings) -> list[Instant]:
    engine: Any = MindfulEngine()
    restore_table(engine, TableReturn(table="units", newest=NO_INSTANT, back_to=BACK_TO, commits=2), settings)
    return writes(settings)


def writes(settings: Settings) -> list[Instant]:
    return [write.time for write in Timeline(table="units", path=settings.table_path("units")).writes]


@given(ended=st.lists(st.integers(0, 250) | st.integers(0, 10**9), min_size=4, max_size=4))
@example(ended=[50, 10, 130, 190])
def test_whatever_the_times_of_its_files_a_table_goes_back_to_its_state_and_no_further(
    ended: list[int], tmp_path_factory: pytest.TempPathFactory
):
    assert restore(make(tmp_path_factory.mktemp("copied"), ended)) == INSTANTS[:2]


def test_the_engine_fails_where_nothing_is_put_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Or the tests above show nothing. The plan stays, and is dropped once it is seen to be wrong."""
    settings = make(tmp_path, [400, 100, 300, 200])
    with monkeypatch.context() as patch:
        patch.setattr("spark_jobs.storage.restore.with_times", lambda timeline: timeline)
        patch.setattr("spark_jobs.storage.recovery.with_times", lambda timeline: timeline)
        patch.setattr(Timeline, "misdated", ())
        patch.setattr("spark_jobs.storage.restore.put_in_order_after", lambda *_: None)
        with pytest.raises(RuntimeError, match="please rollback greater commits first"):
            restore(settings)
    assert Timeline(table="units", path=settings.table_path("units")).pending_restores
    assert restore(settings) == INSTANTS[:2]
    assert not Timeline(table="units", path=settings.table_path("units")).pending_restores


def test_commits_that_ended_in_their_order_keep_their_times(tmp_path: Path):
    settings = make(tmp_path, [10, 70, 130, 190])
    before = Timeline(table="units", path=settings.table_path("units")).writes
    put_in_order_after(Timeline(table="units", path=settings.table_path("units")), BACK_TO)
    assert Timeline(table="units", path=settings.table_path("units")).writes == before


def test_instants_that_are_no_times_cannot_be_put_in_order(tmp_path: Path):
    settings = make(tmp_path, [10, 70, 130, 190])
    timeline = Path(settings.table_path("units"), ".hoodie")
    for number in (5, 4):
        (timeline / f"{'9' * 16}{number}.deltacommit").write_text("{}")
    os.utime(timeline / f"{'9' * 16}4.deltacommit")
    os.utime(timeline / f"{'9' * 16}5.deltacommit", (1, 1))
    with pytest.raises(TransientError, match="units: its commits cannot be put in order"):
        put_in_order_after(Timeline(table="units", path=settings.table_path("units")), BACK_TO)
