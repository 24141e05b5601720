"""Readers of a table that is written, served, restored, archived and rebuilt: nothing is skipped, nothing twice.

A history is made by chance, file by file as Hudi leaves them below ``.hoodie``; rows are numbers that a write adds.
Each reader pulls at its own pace. Whatever happened between two pulls, what it has afterwards is what the table held at
the end of its window; what it cannot get by a pull is an explicit resync.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.instants import BEGINNING, END, Instant, InstantRange
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.reader import Pull, plan_pull
from spark_jobs.storage.timeline import Timeline
from tests.support.made_tables import MadeTable, at

UNITS = TableLayout(name="units", record_key="id", form=StorageForm.KEYED)
STEPS = 60
REWRITES = ("INSERT_OVERWRITE", "INSERT_OVERWRITE_TABLE", "DELETE_PARTITION")
SERVICES = (
    ("commit", {"operationType": "COMPACT"}),
    ("deltacommit", {"operationType": "LOG_COMPACT"}),
    ("replacecommit", {"operationType": "CLUSTER"}),
    ("replacecommit", {"operationType": "INSERT_OVERWRITE", "extraMetadata": {"lakehouse.service": "rescale"}}),
)
NO_WRITES = ("clean", "clean.requested", "savepoint", "savepoint.inflight", "rollback.inflight", "restore.inflight")
Rows = frozenset[int]


@dataclass(frozen=True)
class Write:
    """A completed write that changed rows: those that it added, and whether they are all there is."""

    rows: Rows
    size: int
    is_full: bool = False


@dataclass
class History:
    """The table on disk and what it holds, by plain Python."""

    table: MadeTable
    rng: random.Random
    now: int = 1
    rows: int = 0
    changes: dict[int, Write] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    """Bytes of every completed write on the active timeline, services among them."""
    pending: list[int] = field(default_factory=list)

    @property
    def timeline(self) -> Timeline:
        return Timeline(table="units", path=str(self.table.folder))

    def rows_at(self, up_to: Instant) -> Rows:
        """What the table holds as of an instant."""
        held: Rows = frozenset()
        for number, write in sorted(self.changes.items()):
            if at(number) <= up_to:
                held = write.rows if write.is_full else held | write.rows
        return held

    def step(self) -> None:
        """Anything that happens to a table; reading it is no part of it."""
        happens = (self.begin, self.complete, self.complete, self.write, self.write, self.fail, self.serve, self.noise)
        rare = (self.rewrite, self.restore, self.archive)
        self.rng.choice(rare if self.rng.random() < 0.15 else happens)()

    def begin(self) -> None:
        if len(self.pending) < 3:
            number = self._next()
            (self._file(number, "deltacommit.requested")).touch()
            if self.rng.random() < 0.5:
                self._file(number, self.rng.choice(("deltacommit.inflight", "inflight"))).touch()
            self.pending.append(number)

    def complete(self) -> None:
        if self.pending:
            self._commit(self.pending.pop(self.rng.randrange(len(self.pending))), "deltacommit", {})

    def write(self) -> None:
        self._commit(self._next(), self.rng.choice(("commit", "deltacommit")), {"operationType": "UPSERT"})

    def fail(self) -> None:
        if self.pending:
            self._remove(self.pending.pop(self.rng.randrange(len(self.pending))))
            self._file(self._next(), "rollback").touch()

    def serve(self) -> None:
        number, (action, content) = self._next(), self.rng.choice(SERVICES)
        if self.rng.random() < 0.3:  # planned and never carried out
            text = "CLUSTER" if action == "replacecommit" else ""
            name = "compaction" if action == "commit" else action
            if action != "deltacommit":
                self.table.pending(number, name, text)
            return
        self._put(number, action, content)

    def noise(self) -> None:
        """What is no write; a savepoint is of a write that is there."""
        name = self.rng.choice(NO_WRITES)
        number = self.rng.choice(sorted(self.sizes)) if name.startswith("savepoint") and self.sizes else self._next()
        self._file(number, name).touch()

    def rewrite(self) -> None:
        if not self.pending:
            content = {"operationType": self.rng.choice(REWRITES)}
            self._commit(self._next(), "replacecommit", content, is_full=True)

    def restore(self) -> None:
        if self.sizes:
            back_to = self.rng.choice(sorted(self.sizes))
            for number in range(back_to + 1, self.now):
                self._remove(number)
                self.changes.pop(number, None)
                self.sizes.pop(number, None)
            self.pending = [number for number in self.pending if number < back_to]

    def archive(self) -> None:
        old = [number for number in sorted(self.sizes)[:-1] if number < min(self.pending, default=self.now)]
        for number in old[: self.rng.randrange(len(old) + 1)]:
            self._remove(number)
            del self.sizes[number]
            archived = self._folder / "archived"
            archived.mkdir(exist_ok=True)
            (archived / "commits").touch()

    def _commit(self, number: int, action: str, content: dict[str, Any], *, is_full: bool = False) -> None:
        count = self.rng.randrange(3)
        self.changes[number] = Write(frozenset(range(self.rows, self.rows + count)), 1, is_full)
        self.rows += count
        self._put(number, action, content)

    def _put(self, number: int, action: str, content: dict[str, Any]) -> None:
        sizes = [self.rng.randrange(40) for _ in range(3)]
        stats = {
            "a": [{"totalWriteBytes": sizes[0]}, {"totalWriteBytes": sizes[1]}],
            "b": [{"totalWriteBytes": sizes[2]}],
        }
        self.sizes[number] = sum(sizes)
        self.table.commits(number, action=action, partitionToWriteStats=stats, **content)

    def _next(self) -> int:
        self.now += 1
        return self.now - 1

    @property
    def _folder(self) -> Path:
        return self.table.folder / ".hoodie"

    def _file(self, number: int, rest: str) -> Path:
        return self._folder / f"{at(number)}.{rest}"

    def _remove(self, number: int) -> None:
        for file in self._folder.glob(f"{at(number)}.*"):
            file.unlink()


@dataclass
class Reader:
    """A reader that pulls a table: how far they are, what they have, and the most that they take at a time."""

    most_bytes: int | None
    place: Instant = BEGINNING
    rows: Rows = frozenset()

    def pull(self, history: History) -> Pull:
        """As jobs do, with the rows that Hudi gives of a window."""
        timeline = history.timeline
        pull = plan_pull(timeline, after=self.place, most_bytes=self.most_bytes)
        window = pull.window
        if window.after == BEGINNING:
            self.rows = history.rows_at(window.up_to)
        else:
            assert window.after == self.place
            new = [write for number, write in history.changes.items() if window.after < at(number) <= window.up_to]
            assert not any(write.is_full for write in new), "no pull shows what was taken away"
            came = [row for write in new for row in write.rows]
            assert not self.rows & set(came), "read before"
            self.rows |= set(came)
        assert not any(at(number) <= window.up_to for number in history.pending), "it would never be read"
        self._check_cut(history, pull, timeline)
        self.place = window.up_to
        return pull

    def _check_cut(self, history: History, pull: Pull, timeline: Timeline) -> None:
        """A window ends at the first write with which there is more than enough, or where all is read."""
        window = pull.window
        sizes = [size for number, size in sorted(history.sizes.items()) if window.after < at(number) <= window.up_to]
        assert pull.has_more is (window.up_to != timeline.readable_up_to and bool(timeline.writes))
        if self.most_bytes and not pull.resync_reason:
            assert sum(sizes[:-1]) <= self.most_bytes
            assert not pull.has_more or sum(sizes) > self.most_bytes


@pytest.mark.parametrize("seed", range(40))
def test_whatever_happens_to_a_table_its_readers_have_what_it_holds(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    history = History(MadeTable(UNITS, tmp_path / "units"), rng)
    readers = [Reader(None), Reader(rng.randrange(1, 200)), Reader(None)]
    for _ in range(STEPS):
        history.step()
        for reader in readers:
            if rng.random() < 0.3:
                is_known = reader.place == BEGINNING or history.timeline.holds(reader.place)
                before, pull = reader.place, reader.pull(history)
                assert bool(pull.resync_reason) >= (not is_known and bool(history.sizes))
                assert history.rows_at(reader.place) == reader.rows, f"after {before} up to {reader.place}"
    while history.pending:
        history.complete()
    for reader in readers:
        while reader.pull(history).has_more:
            pass
        assert reader.rows == history.rows_at(END)


@pytest.mark.parametrize("seed", range(20))
def test_a_timeline_is_what_is_below_its_folder(tmp_path: Path, seed: int) -> None:
    """Windows with an end at every instant, beside it, and before and after all of them."""
    history = History(MadeTable(UNITS, tmp_path / "units"), random.Random(seed))
    for _ in range(30):
        history.step()
    timeline, writes, changes = history.timeline, sorted(history.sizes), sorted(history.changes)
    assert [write.time for write in timeline.writes] == [at(number) for number in writes]
    assert timeline.pending_writes == tuple(at(number) for number in sorted(history.pending))
    on_timeline = [number for number in changes if number in history.sizes]
    assert timeline.last == (at(on_timeline[-1]) if on_timeline else None)
    assert timeline.newest == (at(writes[-1]) if writes else None)
    names = {tuple(file.name.split(".", 1)) for file in (tmp_path / "units/.hoodie").glob("0*")}
    of = {rest: {time for time, name in names if name == rest} for rest in NO_WRITES}
    assert timeline.savepoints == of["savepoint"]
    assert set(timeline.pending_cleans) == of["clean.requested"]
    assert timeline.has_cleans is bool(of["clean"])
    assert set(timeline.pending_rollbacks) == of["rollback.inflight"]
    assert set(timeline.pending_restores) == of["restore.inflight"]
    first = min(history.pending, default=history.now)
    assert timeline.readable_up_to == at(max((number for number in writes if number < first), default=0))
    for after in range(history.now + 1):
        assert timeline.holds(at(after)) is (after in history.sizes)
        for up_to in range(after, history.now + 1, 3):
            window = InstantRange(after=at(after), up_to=at(up_to))
            found = [write.time for write in timeline.writes_in(window)]
            assert found == [at(number) for number in writes if after < number <= up_to]
            assert [write.time for write in timeline.changes_in(window)] == [
                at(number) for number in on_timeline if after < number <= up_to
            ]
    assert [timeline.bytes_written(write) for write in timeline.writes] == [history.sizes[n] for n in writes]


@pytest.mark.parametrize("seed", range(20))
def test_a_pull_reads_the_whole_table_only_when_most_of_it_is_new(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    history = History(MadeTable(UNITS, tmp_path / "units"), rng)
    for _ in range(12):
        rng.choice((history.write, history.write, history.serve))()
    timeline, all_ = history.timeline, sum(history.sizes.values())
    for after in history.sizes:
        new = sum(history.sizes[number] for number in history.changes if number > after)
        has_changes = any(number > after for number in history.changes)
        assert plan_pull(timeline, after=at(after)).is_by_snapshot is (has_changes and new > all_ / 2)
