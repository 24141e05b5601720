"""Plans of compactions, and what of a table is left after them; what Hudi takes is said here in words of a test.

That Hudi does so is tested on real tables (kinds/compaction/test_groups.py).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import Service, ServiceTargets
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage.filesystem import FileEntry
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.options import Hudi
from spark_jobs.storage.services import purge
from spark_jobs.storage.services.compaction_plans import EVERY_GROUP, plan_options
from spark_jobs.storage.services.due import find_needs
from spark_jobs.storage.services.kinds.compaction import Compaction
from spark_jobs.storage.services.served import ServedTable
from spark_jobs.storage.services.state import TableState, UnmergedGroup
from spark_jobs.storage.table_files import FileGroup, Slice
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME, SIZE, NUMBER = (
    "LogFileSizeBased",
    "hoodie.compaction.logfile.size.threshold",
    "hoodie.compaction.logfile.num.threshold",
)


def taken(groups: Sequence[UnmergedGroup], options: Mapping[Hudi, str]) -> list[UnmergedGroup]:
    """What Hudi plans with these options."""
    given = {str(key): value for key, value in options.items()}
    strategy = given["hoodie.compaction.strategy"].rpartition(".")[2]
    if strategy == "LogFileSizeBasedCompactionStrategy":
        return [group for group in groups if sum(group.logs) >= int(given[SIZE])]
    if strategy == "LogFileNumBasedCompactionStrategy":
        return [group for group in groups if len(group.logs) >= int(given[NUMBER])]
    assert strategy == "PartitionRegexBasedCompactionStrategy"
    pattern = re.compile(given["hoodie.compaction.partition.path.regex"])
    return [group for group in groups if pattern.search(group.partition)]


def group(number: int, *, base: int = 100, logs: Sequence[int] = (10,), partition: str = "") -> UnmergedGroup:
    return UnmergedGroup(partition=partition, id=f"{number:08d}", base=base, logs=tuple(logs), since="")


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[UnmergedGroup], list[UnmergedGroup]]:
    """Groups with log files, and some of them."""
    partitions = st.sampled_from(draw(st.sampled_from([[""], ["day=a", "day=b.c", "day=2026-01"], ["a,b", "day=é"]])))
    logs = st.lists(st.integers(0, 50), min_size=1, max_size=5)
    made = [
        group(n, base=draw(st.integers(0, 500)), logs=draw(logs), partition=draw(partitions))
        for n in range(draw(st.integers(1, 8)))
    ]
    return made, draw(st.lists(st.sampled_from(made), min_size=1, unique=True))


@given(tables())
def test_a_plan_has_all_that_are_due_and_no_more_bytes_than_a_strategy_alone(
    table: tuple[list[UnmergedGroup], list[UnmergedGroup]],
):
    groups, due = table
    options = plan_options(groups, due)
    planned = taken(groups, options)
    assert set(due) <= set(planned)
    assert all("," not in value and "=" not in value for value in options.values()), "ends an option"
    by_size = [each for each in groups if sum(each.logs) >= min(sum(one.logs) for one in due)]
    by_number = [each for each in groups if len(each.logs) >= min(len(one.logs) for one in due)]
    assert weight(planned) <= min(weight(by_size), weight(by_number))


def weight(groups: Sequence[UnmergedGroup]) -> int:
    return sum(each.base + sum(each.logs) for each in groups)


@pytest.mark.parametrize(
    ("grown", "others"),
    [
        (group(1, logs=[10] * 5), [group(n, logs=[10]) for n in (2, 3)]),
        (group(1, logs=[50]), [group(n, logs=[1] * 9) for n in (2, 3)]),
        (group(1, logs=[1] * 9), [group(n, logs=[50]) for n in (2, 3)]),
        (group(1, logs=[1], partition="day=1"), [group(n, logs=[9] * 9, partition=f"day={n}") for n in (2, 11)]),
    ],
)
def test_the_one_group_that_has_grown_is_planned_alone(grown: UnmergedGroup, others: list[UnmergedGroup]):
    """By the bytes or the number of its log files, or by its partition."""
    groups = [*others, grown]
    assert taken(groups, plan_options(groups, [grown])) == [grown]


def test_a_plan_of_every_group_leaves_none_out_and_waits_for_no_commit():
    """The last compaction may have been of other groups, and no commit may have come since; 500 GB are no end."""
    groups = [group(1, logs=[0]), group(2, base=0, logs=[1] * 40, partition="day=1")]
    assert taken(groups, EVERY_GROUP) == taken(groups, plan_options(groups, [])) == groups
    for options in (EVERY_GROUP, plan_options(groups, groups[:1]), purge._OPTIONS):
        given = {str(key): value for key, value in options.items()}
        assert given["hoodie.compact.inline.max.delta.commits"] == "0"
        assert given["hoodie.table.services.incremental.enabled"] == "false"
        assert int(given["hoodie.compaction.target.io"]) > 10**9


KEYED = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, type=TableType.MERGE_ON_READ)
MB = 1024 * 1024
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OLD, NEW = "20260101060000000", "20260101115500000"
"""Writes of six hours and of five minutes before noon; base files are of commits before both, or between them."""


@dataclass(frozen=True, kw_only=True)
class Served(ServedTable):
    """A table whose plans are kept, not made; ``after`` is its timeline from then on."""

    after: Timeline
    plans: list[Mapping[Hudi, str]] = field(default_factory=list)

    def call(self, procedure: str, given: Mapping[str, str | int], options: Mapping[Hudi, str] | None = None) -> None:
        assert (procedure, given) == ("run_compaction", {"op": "schedule"})
        self.plans.append(options or {})

    def timeline(self) -> Timeline:
        return self.after


@dataclass(frozen=True)
class Made:
    """A file group: MB of its base file, KB of each log file, and whether its base file is after the old write."""

    base: int
    logs: tuple[int, ...]
    is_merged: bool


made = st.builds(
    Made,
    st.sampled_from([0, 1, 5, 40, 200, 900]),
    st.lists(st.integers(1, 9000), max_size=40).map(tuple),
    st.booleans(),
)
bounds = st.builds(
    ServiceTargets,
    compact_log_percent=st.sampled_from([1, 20, 50, 200]),
    compact_log_files=st.integers(1, 40),
    compact_minutes=st.sampled_from([None, 1, 60, 1440]),
    compact_most_minutes=st.sampled_from([1, 100, 1440]),
)


def passes(group: Made, targets: ServiceTargets) -> bool:
    """Whether one of the three bounds is reached, counted in KB."""
    if not group.logs:
        return False
    counted = sum(256 if size < 256 else size for size in group.logs)
    is_large = counted * 100 >= targets.compact_log_percent * 1024 * (6 if group.base < 6 else group.base)
    minutes = 5 if group.is_merged else 360
    allowed: float | None = targets.compact_minutes
    if allowed is not None and group.base > 12:
        allowed = max(allowed, min(allowed * group.base / 12, targets.compact_most_minutes))
    is_late = allowed is not None and minutes >= allowed
    return is_large or is_late or len(group.logs) >= targets.compact_log_files


def state_of(groups: Sequence[Made], empty: TableState) -> TableState:
    """Each group has a slice of one base file."""

    def slice_of(each: Made) -> Slice:
        instant = Instant("20260101110000000" if each.is_merged else "20260101050000000")
        logs = tuple(FileEntry(path="l", size=size * 1024, modified_ns=0) for size in each.logs)
        return Slice(instant=instant, base=FileEntry(path="b", size=each.base * MB, modified_ns=0), logs=logs)

    found = (FileGroup(partition="", id=f"{n:08d}", slices=(slice_of(each),)) for n, each in enumerate(groups))
    return replace(empty, groups=tuple(found))


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> MadeTable:
    """The four commits, the first and the third of base files; nothing is planned."""
    numbers = (int(each) for each in ("20260101050000000", OLD, "20260101110000000", NEW))
    return MadeTable(KEYED, tmp_path_factory.mktemp("made") / "t").commits(*numbers)


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    return MadeTable(KEYED, tmp_path_factory.mktemp("made") / "t").commits(1).pending(2, "compaction").look().timeline


def served(targets: ServiceTargets, after: Timeline) -> Served:
    spark = cast("SparkSession", None)
    return Served(spark=spark, layout=KEYED, targets=targets, settings=Settings(), clock=NOON, after=after)


@given(groups=st.lists(made, min_size=1, max_size=6), targets=bounds)
def test_after_a_compaction_no_file_group_passes_a_bound(
    empty: MadeTable, planned: Timeline, groups: list[Made], targets: ServiceTargets
):
    state = state_of(groups, empty.look())
    needs = {need.service: need for need in find_needs(state, {}, targets, NOON).needs}
    due = [passes(each, targets) for each in groups]
    assert needs[Service.COMPACTION].is_due is any(due)
    if any(due):
        table = served(targets, planned)
        Compaction().plan(table, state, is_forced=False)
        (options,) = table.plans
        merged = {group.id for group in taken(state.unmerged_groups, options)}
        assert not any(is_due and f"{n:08d}" not in merged for n, is_due in enumerate(due))


def test_what_hudi_leaves_out_is_planned_with_all_others(empty: MadeTable, planned: Timeline):
    state = state_of([Made(1, (1,) * 12, is_merged=True), Made(1, (1,), is_merged=True)], empty.look())
    nothing = served(ServiceTargets(), empty.look().timeline)
    Compaction().plan(nothing, state, is_forced=False)
    assert len(nothing.plans) == 2
    assert [len(taken(state.unmerged_groups, plan)) for plan in nothing.plans] == [1, 2]
    forced = served(ServiceTargets(), planned)
    Compaction().plan(forced, state, is_forced=True)
    assert forced.plans == [EVERY_GROUP]
