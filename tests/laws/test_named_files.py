"""Windows of an append-only table, read by the files that its commits name: the rows that the table has of them.

And its partitions as they are now, read by the files that are there.

A history is made by chance, file by file as Hudi leaves them: commits that add files, with columns that come later and
with some of another type, clustering, upserts that take rows away, overwritten partitions, a cleaner, restores. A row
is a number and the commit of which it is.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from spark_jobs.contracts.instants import BEGINNING, InstantRange
from spark_jobs.storage.commit_columns import pack_columns
from spark_jobs.storage.latest_files import latest_files
from spark_jobs.storage.reader import Pull, plan_pull
from spark_jobs.storage.timeline import Timeline
from tests.support.made_logs import LOG
from tests.support.made_tables import MadeTable, at

Row = tuple[int, int]
Group = tuple[str, str]
_PARTITIONS = ("day=1", "day=2", "day=3")


@dataclass
class History:
    """The table on disk and what it holds, by plain Python."""

    made: MadeTable
    rng: random.Random
    now: int = 0
    rows: int = 0
    width: int = 1
    files: dict[str, list[Row]] = field(default_factory=dict)
    """The rows of every file that was written and is still there."""
    current: dict[Group, str] = field(default_factory=dict)
    """The newest file of every group that the table has."""
    states: dict[int, tuple[dict[Group, str], int]] = field(default_factory=dict)
    plain: dict[int, list[str]] = field(default_factory=dict)
    """The files of every commit that just added some, with columns of the table's types."""
    odd: set[int] = field(default_factory=set)
    """Commits that did anything else, but for clustering."""

    @property
    def timeline(self) -> Timeline:
        return Timeline(table="log", path=str(self.made.folder))

    def step(self) -> None:
        common = (self.append, self.append, self.append, self.cluster)
        rare = (self.erase, self.overwrite, self.clean, self.restore)
        self.rng.choice(rare if self.rng.random() < 0.25 else common)()

    def append(self) -> None:
        number, is_noted = self._next(), self.rng.random() < 0.9
        self.width += self.rng.random() < 0.2
        is_same_type = self.width < 3 or self.rng.random() < 0.9
        columns = StructType().add("id", StringType())
        for n in range(self.width):
            columns.add(f"v{n}", LongType() if is_same_type or n else IntegerType())
        stats, paths = self._write(number, {p: self._new(number) for p in self.rng.sample(_PARTITIONS, 2)})
        more = {"lakehouse.columns": pack_columns(columns)} if is_noted else {}
        self._commit(number, "commit", "BULK_INSERT", stats, more)
        if is_noted and is_same_type:
            self.plain[number] = paths
        else:
            self.odd.add(number)

    def cluster(self) -> None:
        partition = self.rng.choice(_PARTITIONS)
        groups = [group for group in self.current if group[0] == partition]
        groups = self.rng.sample(groups, min(len(groups), 3))
        if groups:
            number = self._next()
            rows = [row for group in groups for row in self.files[self.current.pop(group)]]
            self._replace(number, "CLUSTER", groups, self._write(number, {partition: rows})[0])

    def erase(self) -> None:
        """An upsert into a group: some rows go, others are written again."""
        if self.current:
            number, group = self._next(), self.rng.choice(sorted(self.current))
            rows = list[Row]()
            for row in self.files[self.current[group]]:
                rows += self.rng.choice([[], [row], [row], [(row[0], number)]])
            stats = self._write(number, {group[0]: rows}, group[1])[0]
            self._commit(number, "commit", "UPSERT", stats)
            self.odd.add(number)

    def overwrite(self) -> None:
        number, partition = self._next(), self.rng.choice(_PARTITIONS)
        groups = [group for group in self.current if group[0] == partition]
        for group in groups:
            del self.current[group]
        operation = self.rng.choice(("INSERT_OVERWRITE", "DELETE_PARTITION"))
        self._replace(number, operation, groups, self._write(number, {partition: self._new(number)})[0])
        self.odd.add(number)

    def clean(self) -> None:
        for path in sorted(self.files.keys() - set(self.current.values())):
            if self.rng.random() < 0.5:
                self._remove(path)

    def restore(self) -> None:
        if not self.states:
            return
        back_to = self.rng.choice(sorted(self.states))
        current, width = self.states[back_to]
        if all(path in self.files for path in current.values()):
            for number in [number for number in self.states if number > back_to]:
                del self.states[number]
                for file in (self.made.folder / ".hoodie").glob(f"{at(number)}.*"):
                    file.unlink()
                self.plain.pop(number, None)
                self.odd.discard(number)
            for path in [path for path in self.files if path.rpartition("_")[2] > f"{at(back_to)}.parquet"]:
                self._remove(path)
            self.current, self.width = dict(current), width

    def rows_in(self, window: InstantRange, paths: Any = None) -> Counter[Row]:
        """Rows of the commits of a window in these files; in what the table has now."""
        chosen = self.current.values() if paths is None else paths
        return Counter(row for path in chosen for row in self.files[path] if window.after < at(row[1]) <= window.up_to)

    def is_sure_of(self, window: InstantRange) -> bool:
        """True when the window's rows are in the files of its commits, whatever was clustered."""
        paths = [path for n, files in self.plain.items() if window.after < at(n) <= window.up_to for path in files]
        return all(at(n) <= window.after for n in self.odd) and all(path in self.files for path in paths)

    def _new(self, number: int) -> list[Row]:
        self.rows += 3
        return [(self.rows + n, number) for n in range(self.rng.randrange(1, 4))]

    def _write(self, number: int, rows: dict[str, list[Row]], id_: str = "") -> tuple[dict[str, Any], list[str]]:
        stats, paths = dict[str, Any](), list[str]()
        for partition, of_partition in rows.items():
            name = id_ or f"g{number:04d}"
            self.made.base(name, number, partition=partition)
            path = f"{partition}/{name}_0-1-2_{at(number)}.parquet"
            self.files[path], self.current[partition, name] = of_partition, path
            stats[partition] = [{"path": path, "fileId": name, "totalWriteBytes": 10 * len(of_partition)}]
            paths.append(path)
        return stats, paths

    def _replace(self, number: int, operation: str, groups: list[Group], stats: dict[str, Any]) -> None:
        replaced = {p: [id_ for partition, id_ in groups if partition == p] for p in {group[0] for group in groups}}
        self._commit(number, "replacecommit", operation, stats, partitionToReplaceFileIds=replaced)

    def _commit(self, number: int, action: str, operation: str, stats: Any, more: Any = None, **content: Any) -> None:
        fields: list[Any] = [{"name": f"v{n}", "type": ["null", "long"]} for n in range(self.width)]
        fields = [{"name": "id", "type": "string"}, *fields]
        extra = {"schema": json.dumps({"type": "record", "name": "log", "fields": fields}), **(more or {})}
        content |= {"partitionToWriteStats": stats, "operationType": operation, "extraMetadata": extra}
        self.made.commits(number, action=action, **content)
        self.states[number] = (dict(self.current), self.width)

    def _remove(self, path: str) -> None:
        del self.files[path]
        (self.made.folder / path).unlink()

    def _next(self) -> int:
        self.now += 1
        return self.now


def assert_right(history: History, pull: Pull) -> bool:
    """What a pull by files gives is what the table has; gives whether it was by files."""
    window, files = pull.window, pull.files
    if pull.part:
        assert not history.rows_in(window, pull.part.files) - history.rows_in(window), "erased, or twice"
        return False
    if files is None:
        assert window.after == BEGINNING or not history.is_sure_of(window)
        return False
    assert history.rows_in(window, files.paths) == history.rows_in(window)
    assert files.columns is not None
    assert files.columns.names == ["id", *(f"v{n}" for n in range(history.width))]
    return True


@pytest.mark.parametrize("seed", range(40))
def test_files_that_commits_name_have_the_rows_that_the_table_has(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    history = History(MadeTable(LOG, tmp_path / "log"), rng)
    history.append()
    by_files = 0
    for _ in range(30):
        history.step()
        timeline = history.timeline
        for after in rng.sample(timeline.writes, min(len(timeline.writes), 3)):
            pull = plan_pull(timeline, after=after.time, most_bytes=rng.choice([None, None, 30, 100]))
            by_files += assert_right(history, pull)
    assert by_files, "or nothing was tested"


@pytest.mark.parametrize("seed", range(8))
def test_the_newest_files_of_partitions_have_the_rows_that_these_have(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    history = History(MadeTable(LOG, tmp_path / "log"), rng)
    with (tmp_path / "log/.hoodie/hoodie.properties").open("a") as file:
        file.write("hoodie.datasource.write.hive_style_partitioning=true\n")
    for _ in range(15):
        history.append() if rng.random() < 0.2 else history.step()
        chosen = rng.sample(_PARTITIONS, 2)
        files = latest_files(history.timeline, chosen)
        if history.states:
            assert files is not None
            assert sorted(files) == sorted(path for (of, _), path in history.current.items() if of in chosen)
