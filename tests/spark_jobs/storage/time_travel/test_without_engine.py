"""The state that a moment means, beside what was cleaned and what savepoints keep; on tables made by hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import Instant
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.time_travel import cleaned_up_to, find_state, parse_moment, state_at
from spark_jobs.storage.timeline import Timeline
from tests.support.made_engine import MadeEngine
from tests.support.made_tables import MadeTable, at

UNITS = TableLayout(name="units", record_key="id", form=StorageForm.KEYED)


class Cleaned(MadeEngine):
    """Says of each clean which commit it retained first."""

    retained: Iterable[Instant | None] = ()

    def _show_cleans(self, _timeline: Path, **_: str) -> None:
        """The rows are those of :meth:`collect`."""

    def collect(self) -> list[Any]:
        return [{"earliest_commit_to_retain": instant} for instant in self.retained]


def cleaned(*retained: Instant | None) -> Any:
    engine = Cleaned()
    engine.retained = retained
    return engine


def units(folder: Path, *numbers: int, cleans: int = 0, savepoints: tuple[int, ...] = ()) -> Timeline:
    made = MadeTable(UNITS, folder / "units").commits(*numbers).commits(*savepoints, action="savepoint")
    made.commits(*range(20, 20 + cleans), action="clean")
    return Timeline(table="units", path=str(folder / "units"))


@pytest.mark.parametrize("moment", range(1, 10))
def test_a_moment_means_the_newest_write_that_was_there_then(tmp_path: Path, moment: int) -> None:
    timeline, engine = units(tmp_path, 3, 5, 8), cleaned()
    expected = max((number for number in (3, 5, 8) if number <= moment), default=None)
    assert find_state(engine, timeline, at(moment)) == (at(expected) if expected else None)
    if expected:
        assert state_at(engine, timeline, at(moment)) == at(expected)
    else:
        with pytest.raises(ContractError, match=f"units: its state at {at(moment)} .* the oldest that can is {at(3)}"):
            state_at(engine, timeline, at(moment))


@pytest.mark.parametrize("moment", range(1, 10))
@pytest.mark.parametrize("savepoints", [(), (3,), (3, 8)])
def test_a_state_that_was_cleaned_is_refused_unless_a_savepoint_keeps_it(
    tmp_path: Path, moment: int, savepoints: tuple[int, ...]
) -> None:
    """Two cleans of which the newer retained from commit 5 on, in no order, and one that says nothing."""
    timeline, engine = units(tmp_path, 3, 4, 5, 8, cleans=2, savepoints=savepoints), cleaned(at(5), None, at(4))
    assert cleaned_up_to(engine, timeline) == at(5)
    newest = max((number for number in (3, 4, 5, 8) if number <= moment), default=0)
    if newest >= 5 or newest in savepoints:
        assert find_state(engine, timeline, at(moment)) == at(newest)
        return
    with pytest.raises(ContractError, match=f"the oldest that can is {at(5)}") as caught:
        find_state(engine, timeline, at(moment))
    kept = ", ".join(map(at, savepoints))
    assert str(caught.value).endswith(f"kept by savepoints: {kept}" if kept else at(5))


def test_before_the_first_write_that_is_known_there_was_a_table_when_some_were_archived(tmp_path: Path) -> None:
    timeline = units(tmp_path, 3)
    assert find_state(cleaned(), timeline, at(2)) is None, "it was made later"
    archived = tmp_path / "units/.hoodie/archived"
    archived.mkdir()
    (archived / "commits").touch()
    with pytest.raises(ContractError, match="cannot be read any more, or never was"):
        find_state(cleaned(), units_again(timeline), at(2))
    assert find_state(cleaned(), units_again(timeline), at(3)) == at(3)


def units_again(timeline: Timeline) -> Timeline:
    return Timeline(table=timeline.table, path=timeline.path)


def test_without_a_clean_no_engine_is_needed(tmp_path: Path) -> None:
    no_spark: Any = None
    assert cleaned_up_to(no_spark, units(tmp_path, 3)) == ""


def test_a_moment_is_an_instant_or_a_time() -> None:
    assert parse_moment("20260131180000123") == "20260131180000123"
    assert parse_moment("2026-01-31T18:00:00Z") == "20260131180000000"
    assert parse_moment("2026-01-31T18:00:00.5+01:00") == "20260131170000500"
    for text in ("2026013118000012", "yesterday", "202601311800001234"):
        with pytest.raises(ContractError):
            parse_moment(text)
