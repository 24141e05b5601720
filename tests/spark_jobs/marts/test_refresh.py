"""What a refresh knows before it reads a row: its clock, its checkpoints, and why it computes everything again.

Timelines and the consumer's file are written by hand, in the form in which the jobs leave them. The mart is
``fast_daily_deals``, and the tables that it reads.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.arguments import Interval, format_clock
from spark_jobs.marts.scopes import windows
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState
from spark_jobs.storage.layouts import all_layouts
from spark_jobs.storage.serving.places import ServedPlaces
from tests.support.made_tables import MadeTable, at
from tests.support.refreshes import MART, NOON, SPEC, refresh_of, settings_of

SOURCES = tuple(read.table for read in MART.reads)
DAY = timedelta(days=1)
KEPT: dict[str, str] = {f"lakehouse.checkpoint.{source}": at(3) for source in SOURCES}
KEPT |= {"lakehouse.clock": format_clock(NOON), "lakehouse.definition": MART.definition}


def table(folder: Path, name: str, *numbers: int, **metadata: str) -> MadeTable:
    """A table with a commit for each number, all with this metadata."""
    layout = next(layout for layout in all_layouts(SPEC) if layout.name == name)
    made = MadeTable(layout, folder / "lake" / name)
    return made.commits(*numbers, action="commit", extraMetadata=metadata, operationType="UPSERT")


def more_commits(folder: Path, name: str, *numbers: int) -> None:
    hoodie = folder / "lake" / name / ".hoodie"
    for number in numbers:
        (hoodie / f"{at(number)}.commit").write_text('{"operationType": "UPSERT"}')


def remember(folder: Path, instant: int, clock: datetime, checkpoints: dict[str, int]) -> None:
    """The consumer's file after a refresh that changed no row."""
    notes = {"clock": format_clock(clock), "definition": MART.definition}
    places = {source: at(number) for source, number in checkpoints.items()}
    state = ConsumerState(checkpoints=places, tables={MART.name: at(instant)}, notes=notes)
    ConsumerRegistry(settings_of(folder).base_path).write(MART.name, state, clock)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Every source has three commits, all of which the mart has read, at noon."""
    for source in SOURCES:
        table(tmp_path, source, 1, 2, 3)
    table(tmp_path, MART.name, 4, 5, **KEPT)
    return tmp_path


@given(hours=st.integers(-2000, 2000), is_backfill=st.booleans())
def test_a_marts_clock_never_goes_back_and_neither_does_its_window(tmp_path_factory, hours, is_backfill):
    """Also in the runs of a backfill, whose clock is that of the dates they are about."""
    folder = tmp_path_factory.mktemp("lake")
    table(folder, MART.name, 4, **KEPT)
    clock = NOON + timedelta(hours=hours)
    start = clock.replace(hour=0)
    refresh = refresh_of(folder, clock, interval=Interval(start=start, end=start + DAY) if is_backfill else None)
    assert refresh.previous_clock == NOON
    assert refresh.clock == max(clock, NOON)
    assert refresh.metadata["clock"] == format_clock(max(clock, NOON))
    now, before = windows(refresh)
    assert now is not None
    assert before is not None
    assert now.last >= before.last
    assert (now.last == before.last) == (max(clock, NOON).date() == NOON.date())


def test_a_clock_that_has_not_come_is_none_to_go_on_from(tmp_path: Path):
    """Such a mart is blocked, and a full refresh takes the clock of its run: its window was empty until then."""
    table(tmp_path, MART.name, 4, **{**KEPT, "lakehouse.clock": "2236-01-01T00:00:00Z"})
    refresh = refresh_of(tmp_path, is_full=True)
    assert (refresh.is_ahead, refresh.clock, refresh.metadata["clock"]) == (True, NOON, format_clock(NOON))
    now, _ = windows(refresh)
    assert now == windows(refresh_of(tmp_path / "other"))[0]
    assert not refresh_of(tmp_path, datetime(2236, 1, 2, tzinfo=UTC)).is_ahead


def test_the_clock_of_a_refresh_that_changed_nothing_counts_too_as_long_as_nothing_was_written_since(made: Path):
    later = NOON + 3 * DAY
    remember(made, 5, later, dict.fromkeys(SOURCES, 3))
    assert refresh_of(made).clock == later
    assert refresh_of(made, later + DAY).clock == later + DAY
    remember(made, 4, later, dict.fromkeys(SOURCES, 3))
    assert refresh_of(made).previous_clock == NOON, "the file is of the commit before the newest"


def test_a_mart_without_a_commit_has_the_runs_clock(tmp_path: Path):
    refresh = refresh_of(tmp_path)
    assert (refresh.clock, refresh.previous_clock, windows(refresh)[1]) == (NOON, None, None)


def test_its_checkpoints_are_the_newest_instants_of_all_it_reads(made: Path):
    assert dict(refresh_of(made).checkpoints) == dict.fromkeys(SOURCES, at(3))
    for number, source in enumerate(SOURCES):
        more_commits(made, source, 7 + number)
    refresh = refresh_of(made)
    assert dict(refresh.checkpoints) == {source: at(7 + number) for number, source in enumerate(SOURCES)}
    assert {f"checkpoint.{s}": at(7 + n) for n, s in enumerate(SOURCES)}.items() <= refresh.metadata.items()
    assert [source.has_moved for source in refresh.sources] == [True] * len(SOURCES)
    held = replace(refresh, is_held=True)
    assert dict(held.checkpoints) == dict.fromkeys(SOURCES, at(3)), "as it read them last"
    assert not any(source.has_moved for source in held.sources)


@pytest.mark.parametrize("moved", [(), *((source,) for source in SOURCES)])
def test_it_is_up_to_date_until_any_one_of_its_sources_moves(made: Path, moved: tuple[str, ...]):
    remember(made, 5, NOON, dict.fromkeys(SOURCES, 3))
    for source in moved:
        more_commits(made, source, 9)
    refresh = refresh_of(made)
    assert refresh.is_up_to_date is not bool(moved)
    assert refresh.why_full == ""
    changed = replace(MART, sql=MART.sql.replace("SELECT", "SELECT DISTINCT", 1))
    assert not refresh_of(made, mart=changed).is_up_to_date


def test_why_everything_is_computed_again(made: Path):
    assert refresh_of(made).why_full == ""
    assert refresh_of(made, is_full=True).why_full == "--full was given"
    changed = replace(MART, sql=MART.sql.replace("SELECT", "SELECT DISTINCT", 1))
    assert refresh_of(made, mart=changed).why_full == "its definition changed"
    commented = replace(MART, sql=f"-- a comment\n{MART.sql}")
    assert refresh_of(made, mart=commented).why_full == ""


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_of_which_the_checkpoint_is_lost_is_read_as_a_whole(tmp_path: Path, source: str):
    for each in SOURCES:
        table(tmp_path, each, 1, 2, 3)
    kept = {key: value for key, value in KEPT.items() if not key.endswith(f".{source}")}
    table(tmp_path, MART.name, 4, **kept)
    refresh = refresh_of(tmp_path)
    assert [each.table for each in refresh.sources if each.is_new] == [source]
    assert refresh.why_full == "its checkpoint of a source was lost"


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_whose_commits_were_taken_away_is_read_as_a_whole(tmp_path: Path, source: str):
    for each in SOURCES:
        table(tmp_path, each, 1, 2, *([] if each == source else [3]))
    table(tmp_path, MART.name, 4, **KEPT)
    assert f"is not on the timeline of {source}" in refresh_of(tmp_path).why_full


def test_a_mart_keeps_its_changes_while_the_store_can_read_on_from_what_it_has(made: Path):
    """No mart reads this one. Its commits are 4 and 5."""
    places = ServedPlaces(settings_of(made))
    assert not refresh_of(made, NOON).is_fed
    for number, is_fed in ((3, False), (4, True), (5, True)):
        places.write(MART.name, at(number))
        assert refresh_of(made, NOON).is_fed == is_fed
