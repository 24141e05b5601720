"""When a compaction is due, of tables made by hand (tests/support/made_tables.py); the clock is far after them all."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_jobs.lake_spec.services import Service, ServiceTargets
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.services.due import find_needs
from spark_jobs.storage.services.kind import Need
from tests.support.made_tables import MadeTable

KEYED = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, type=TableType.MERGE_ON_READ)
TARGETS = ServiceTargets(compact_log_files=3, compact_minutes=None)
CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
MB = 1024 * 1024


def need_of(table: MadeTable, *, targets: ServiceTargets = TARGETS, clock: datetime = CLOCK) -> Need:
    needs = find_needs(table.look(), {}, targets, clock).needs
    return next(need for need in needs if need.service is Service.COMPACTION)


@pytest.mark.parametrize(("logs", "is_due"), [(0, False), (2, False), (3, True), (7, True)])
def test_compaction_is_due_by_the_log_files_of_one_group(tmp_path: Path, logs: int, is_due: bool):
    table = MadeTable(KEYED, tmp_path / "t").commits(1, 2, 3).base("a", 1).logs("a", 1, logs).base("b", 1)
    need = need_of(table)
    assert (need.is_due, need.why) == (
        is_due,
        f"{logs} of 3 log files over a base file, {logs * 100 / 24:.0f} of 50 % of its bytes"
        + ("; 1 of 2 file groups" if is_due else ""),
    )


@pytest.mark.parametrize(
    ("base", "sizes", "is_due"),
    [
        (8 * MB, [4 * MB], True),
        (8 * MB, [4 * MB - 1], False),
        (8 * MB, [2 * MB, 2 * MB - 1], False),
        (8 * MB, [2 * MB, 2 * MB], True),
        (1, [3 * MB - 1], False),
        (1, [3 * MB], True),
        (0, [3 * MB], True),
        (1, [1] * 11, False),
        (1, [1] * 12, True),
        (12 * MB, [1] * 12, False),
        (12 * MB, [1] * 24, True),
        (144 * MB, [1] * 287, False),
        (144 * MB, [1] * 288, True),
        (900 * MB, [1] * 287, False),
        (900 * MB, [1] * 288, True),
    ],
)
def test_compaction_is_due_by_the_share_of_log_files_or_by_their_number(
    tmp_path: Path, base: int, sizes: list[int], is_due: bool
):
    """A log file counts for a quarter of a MB at least, a base file for 6 MB, with which ten rows need twelve commits.

    So a small group is due at twelve log files, which its compaction is worth; a large one at more, up to 288.
    """
    table = MadeTable(KEYED, tmp_path / "t").commits(1, 2)
    if base:
        table.base("a", 1, size=base)
    for version, size in enumerate(sizes, 1):
        table.logs("a", 1, 1, size=size, version=version)
    targets = ServiceTargets(compact_minutes=None)
    assert need_of(table.base("b", 1), targets=targets).is_due is is_due


def test_nothing_is_due_of_a_table_whose_base_files_have_every_write(tmp_path: Path):
    table = MadeTable(KEYED, tmp_path / "t").commits(1, 2).base("a", 2).base("b", 2)
    targets = ServiceTargets(compact_log_percent=1, compact_log_files=1, compact_minutes=1)
    need = need_of(table, targets=targets)
    assert (need.is_due, need.why) == (False, "0 of 1 log files over a base file, 0 of 1 % of its bytes")


NOON, FRESH = datetime(2026, 1, 1, 12, tzinfo=UTC), 20260101115000000
"""A clock, and a write of ten minutes before it."""


def compaction_at_noon(table: MadeTable, minutes: int | None) -> Need:
    return need_of(table, targets=replace(TARGETS, compact_minutes=minutes), clock=NOON)


@pytest.mark.parametrize(("minutes", "is_due"), [(None, False), (1, True), (10, True), (11, False), (600, False)])
def test_compaction_is_due_when_base_files_lack_a_write_for_too_long(tmp_path: Path, minutes: int | None, is_due: bool):
    """A dimension that changes once a day has one log file: by their number alone it would wait for twelve days."""
    table = MadeTable(KEYED, tmp_path / "t").commits(1, FRESH).base("a", 1).logs("a", 1, 1).base("b", FRESH)
    need = compaction_at_noon(table, minutes)
    assert need.is_due is is_due
    assert need.why.startswith("1 of 3 log files over a base file")
    assert need.why.endswith("; 1 of 2 file groups") is is_due
    assert (f"a base file lacks what was written since {FRESH}, for too long for its size" in need.why) is is_due


@pytest.mark.parametrize(
    ("megabytes", "minutes", "most", "is_due"),
    [
        *((1, 10, 1440, True), (12, 10, 1440, True), (13, 10, 1440, False), (120, 1, 1440, True)),
        *((121, 1, 1440, False), (900, 1, 10, True), (900, 1, 11, False), (900, 10, 1, True), (900, 11, 1, False)),
    ],
)
def test_a_large_base_file_may_lack_a_write_for_longer_up_to_a_bound(
    tmp_path: Path, megabytes: int, minutes: int, most: int, is_due: bool
):
    """So many minutes for 12 MB, as many more for more, at most ``most``; the write is of ten minutes before."""
    table = MadeTable(KEYED, tmp_path / "t").commits(1, FRESH).base("a", 1, size=megabytes * MB).logs("a", 1, 1)
    targets = replace(TARGETS, compact_minutes=minutes, compact_most_minutes=most)
    assert need_of(table, targets=targets, clock=NOON).is_due is is_due


@pytest.mark.parametrize(("slice_", "is_due"), [("with a base file", False), ("of log files alone", True)])
def test_the_write_that_began_a_slice_is_in_its_base_file_if_it_has_one(tmp_path: Path, slice_: str, is_due: bool):
    table = MadeTable(KEYED, tmp_path / "t").commits(1, FRESH).logs("a", 1, 1)
    if slice_ == "with a base file":
        table.base("a", 1)
    assert compaction_at_noon(table, 30).is_due is is_due


def test_a_table_without_log_files_or_of_a_write_that_never_ended_lacks_nothing(tmp_path: Path):
    assert not compaction_at_noon(MadeTable(KEYED, tmp_path / "t").commits(1).base("a", 1), 1).is_due
    unfinished = MadeTable(KEYED, tmp_path / "u").commits(1).base("a", 1).logs("a", 1, 1)
    assert not compaction_at_noon(unfinished, 1).is_due


def test_log_files_over_a_compacted_slice_count_alone(tmp_path: Path):
    table = MadeTable(KEYED, tmp_path / "t").commits(1, 2, 4).commits(3, action="commit", operationType="COMPACT")
    table.base("a", 1).logs("a", 1, 9).base("a", 3).logs("a", 3, 1)
    assert not need_of(table).is_due
