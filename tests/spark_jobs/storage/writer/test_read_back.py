"""A commit is reported when it is on the timeline, by what it says itself; on tables made by hand.

The rows are those of a fake whose ``save`` does to the table what a test says: another writer's commit, or nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.clocks import CommitHiddenError
from spark_jobs.contracts.errors import CommitLostError, ContractError, LeaseLostError, TransientError
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.task_runs import TASK_VARIABLES, TaskRun, parse_task
from spark_jobs.storage import lease
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.options import Operation
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import Commit, commit, fit_layout
from tests.support.made_tables import MadeTable, at

UNITS = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, buckets=3)
RUN = "lakehouse.run"
Save = Callable[[dict[str, str]], None]


class Rows:
    """A DataFrame of which only the writing is looked at."""

    def __init__(self, save: Save) -> None:
        self.given: dict[str, str] = {}
        self._save = save

    def __getattr__(self, name: str) -> Rows:
        if name == "sparkSession":
            return self
        raise AttributeError(name)

    def sql(self, text: str) -> Rows:
        assert "current_timestamp" in text
        return self

    def collect(self) -> list[tuple[int]]:
        """What the engine's clock says."""
        return [(int(time.time() * 1000),)]

    @property
    def write(self) -> Rows:
        return self

    def format(self, name: str) -> Rows:
        assert name == "hudi"
        return self

    def options(self, **given: str) -> Rows:
        self.given |= given
        return self

    def mode(self, name: str) -> Rows:
        assert name == "append"
        return self

    def save(self, _path: str) -> None:
        self._save({key: value for key, value in self.given.items() if key.startswith("lakehouse.")})


@pytest.fixture
def units(tmp_path: Path) -> MadeTable:
    return MadeTable(UNITS, tmp_path / "units").commits(3, extraMetadata={RUN: "another's"})


def write(table: MadeTable, save: Save, **more: Any) -> tuple[Commit, dict[str, str]]:
    rows: Any = Rows(save)
    settings = Settings(base_path=str(table.folder.parent))
    return commit(rows, UNITS, metadata={"checkpoint.log": at(9)}, settings=settings, **more), rows.given


def stats(rows: int) -> dict[str, Any]:
    return {"partitionToWriteStats": {"": [{"numInserts": rows}]}}


@pytest.mark.parametrize("later", [(), (6,), (6, 7)], ids=str)
def test_reported_is_the_own_commit_also_when_others_came_after_it(units: MadeTable, later: tuple[int, ...]) -> None:
    def save(extra: dict[str, str]) -> None:
        units.commits(4, **stats(9), extraMetadata={RUN: "of a quicker writer"})
        units.commits(5, **stats(2), extraMetadata=extra)
        for number in later:
            units.commits(number, operationType="COMPACT", **stats(7), extraMetadata={})

    done, given = write(units, save)
    assert done == Commit(instant=at(5), rows=2)
    assert (given["lakehouse.checkpoint.log"], given["lakehouse.buckets"]) == (at(9), "3")
    assert given["hoodie.datasource.write.operation"] == "upsert"


def test_one_that_is_not_later_than_the_newest_is_reported_as_hidden(units: MadeTable) -> None:
    """An engine whose clock went back while it wrote: readers that are at the commit before it never see it."""

    def save(extra: dict[str, str]) -> None:
        units.commits(2, extraMetadata=extra)

    with pytest.raises(CommitHiddenError, match=f"units: commit {at(2)} is not later than {at(3)}"):
        write(units, save)


def test_a_commit_names_the_task_of_airflow_that_it_is_of(units: MadeTable, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [4, 5]

    def save(extra: dict[str, str]) -> None:
        units.commits(numbers.pop(0), extraMetadata=extra)

    for name in TASK_VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    assert "lakehouse.task" not in write(units, save)[1], "in a shell"
    names = dict(zip(TASK_VARIABLES, ("split_sales", "scheduled__2026-01-02T00:00:00+00:00", "split"), strict=True))
    for name, variable in TASK_VARIABLES.items():
        monkeypatch.setenv(variable, names[name])
    monkeypatch.setenv("AIRFLOW_CTX_DAG_OWNER", "canary")
    text = write(units, save)[1]["lakehouse.task"]
    assert parse_task(text) == TaskRun(**names)
    assert json.loads(text) == names


def test_two_writes_are_two_runs(units: MadeTable) -> None:
    numbers = [4, 5]

    def save(extra: dict[str, str]) -> None:
        units.commits(numbers.pop(0), extraMetadata=extra)

    (first, given), (second, given_then) = write(units, save), write(units, save)
    assert (first.instant, second.instant) == (at(4), at(5))
    assert given[RUN] != given_then[RUN]


@pytest.mark.parametrize("left", ["nothing", "another's commit", "a commit begun"])
def test_one_that_is_not_on_the_timeline_is_no_commit(units: MadeTable, left: str) -> None:
    def save(extra: dict[str, str]) -> None:
        if left == "another's commit":
            units.commits(4, extraMetadata={**extra, RUN: "x"})
        elif left == "a commit begun":
            units.pending(4, "deltacommit", str(extra))

    with pytest.raises(CommitLostError):
        write(units, save)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("x org.apache.hudi.exception.HoodieWriteConflictException: y", TransientError),
        ("HoodieLockException: no lock", TransientError),
        ("Heartbeat for instant 3 has expired", TransientError),
        ("a value of the partition column cannot be a folder", ContractError),
        ("No space left on device", RuntimeError),
    ],
)
def test_an_error_is_what_it_is_and_nothing_is_reported(units: MadeTable, message: str, kind: type[Exception]) -> None:
    def save(_extra: dict[str, str]) -> None:
        raise RuntimeError(message)

    with pytest.raises(kind) as caught:
        write(units, save)
    assert type(caught.value) is kind


@pytest.mark.parametrize("held_for", [0, 1])
def test_who_lost_the_lease_writes_nothing_or_reports_nothing(
    units: MadeTable, monkeypatch: pytest.MonkeyPatch, held_for: int
) -> None:
    answers, saved = [True] * held_for + [False] * 5, []
    monkeypatch.setitem(lease._HELD, (str(units.folder.parent), "units"), lambda: answers.pop(0))

    def save(extra: dict[str, str]) -> None:
        saved.append(extra)
        units.commits(4, extraMetadata=extra)

    with pytest.raises(LeaseLostError):
        write(units, save)
    assert len(saved) == held_for


def test_partitions_to_delete_are_named_and_none_are_otherwise(units: MadeTable) -> None:
    def save(extra: dict[str, str]) -> None:
        units.commits(int(Timeline(table="units", path=str(units.folder)).writes[-1].time) + 1, extraMetadata=extra)

    _, given = write(units, save, operation=Operation.DELETE_PARTITIONS, partitions=["day=1", "day=2"])
    assert given["hoodie.datasource.write.partitions.to.delete"] == "day=1,day=2"
    assert given["hoodie.datasource.write.operation"] == "delete_partition"
    assert "hoodie.datasource.write.partitions.to.delete" not in write(units, save)[1]


@pytest.mark.parametrize("declared", [1, 2, 3, 8])
def test_a_table_is_written_in_the_buckets_that_it_has(tmp_path: Path, declared: int) -> None:
    """Those of its newest commit that says so: a compaction after a rescale says nothing."""
    layout = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, buckets=declared)
    made = MadeTable(layout, tmp_path / "units")
    assert fit_layout(layout, made.look().timeline).buckets == declared
    made.commits(1, 2, extraMetadata={"lakehouse.buckets": "1"}).commits(3, extraMetadata={"lakehouse.buckets": "4"})
    assert fit_layout(layout, made.look().timeline).buckets == 4
    made.commits(4, 5, operationType="COMPACT")
    assert fit_layout(layout, made.look().timeline) == TableLayout(
        name="units", record_key="id", form=StorageForm.KEYED, buckets=4
    )
