"""Tables made from a log whose commits are read in parts, by runs that die anywhere: each has all that is its own.

A log and three tables on disk, as Hudi leaves them below ``.hoodie``; rows are the log's files, of which each table has
those that concern it. A table without a change makes no commit. What a table holds is never less than its checkpoint
says, and in the end it is everything, whatever died, was clustered, cleaned or erased in the log meanwhile.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_jobs.contracts.checkpoints import furthest_behind
from spark_jobs.storage.consumers import SPLIT, ConsumerRegistry, ConsumerState, table_checkpoint
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.reader import plan_pull
from spark_jobs.storage.timeline import Timeline
from tests.support.crashes import CrashError
from tests.support.made_logs import File, MadeLog
from tests.support.made_tables import MadeTable, at

NAMES = ("units", "agents", "sales")
CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
ROUNDS = 12


def concerns(table: str, file: File) -> bool:
    """Two files in three, others for each table."""
    return zlib.crc32(f"{table} {file}".encode()) % 3 > 0


@dataclass
class Lake:
    """The log, the tables, and what each of them holds, by plain Python."""

    folder: Path
    rng: random.Random
    log: MadeLog = field(init=False)
    made: dict[str, MadeTable] = field(init=False)
    held: dict[str, set[File]] = field(default_factory=lambda: {name: set() for name in NAMES})
    now: int = 0
    steps: Iterator[bool] = field(default_factory=lambda: iter(()))
    """For each step of a run, whether it dies there."""

    def __post_init__(self) -> None:
        self.log = MadeLog(self.folder / "log")
        layouts = (TableLayout(name=name, record_key="id", form=StorageForm.KEYED) for name in NAMES)
        self.made = {layout.name: MadeTable(layout, self.folder / layout.name) for layout in layouts}
        self.registry = ConsumerRegistry(str(self.folder))

    def change_log(self) -> None:
        """A commit, or something that may happen to the one that is being read."""
        number, what = self._next(), self.rng.random()
        if what < 0.6 or not self.log.sizes:
            self.log.commit(number, [self.rng.randrange(60) for _ in range(self.rng.randrange(7))])
            return
        of_commit = self.rng.choice(list(self.log.sizes))[0]
        paths = [path for written, path in self.log.sizes if written == of_commit]
        if what < 0.8:
            self.log.serve(number)
            for path in paths if self.rng.random() < 0.5 else ():
                (self.log.folder / path).unlink(missing_ok=True)  # cleaned, though it was still to be read
        elif what < 0.9:
            stats = {"day=1": [{"path": self.rng.choice(paths), "totalWriteBytes": 9}]}
            self.log.table.commits(number, action="commit", operationType="UPSERT", partitionToWriteStats=stats)

    def split(self, most_bytes: int | None) -> None:
        """As the job does; rows are in a table when its commit is."""
        while True:
            state = self.registry.read(SPLIT)
            places = {name: table_checkpoint(state, self.timeline(name), "log") for name in NAMES}
            self.check(places)
            pull = plan_pull(self.log.timeline, after=furthest_behind(places.values()), most_bytes=most_bytes)
            if pull.window.is_empty:
                return
            files = self.log.files_of(pull)
            for name in self.rng.sample(NAMES, len(NAMES)):
                self.maybe_die()
                if new := {file for file in files if concerns(name, file)} - self.held[name]:
                    metadata = {"lakehouse.checkpoint.log": pull.checkpoint}
                    self.made[name].commits(self._next(), action="commit", extraMetadata=metadata)
                    self.held[name] |= new
            self.maybe_die()
            last = {name: self.timeline(name).last for name in NAMES}
            self.registry.write(SPLIT, ConsumerState(checkpoints={"log": pull.checkpoint}, tables=last), CLOCK)
            if not pull.has_more:
                return

    def check(self, places: dict[str, str]) -> None:
        """A table holds what its checkpoint says: whole commits, and the first files of one."""
        for name, place in places.items():
            instant, *within = place.split("/")
            before = within[0] if within else at(int(instant) + 1)
            read = [file for file in self.log.sizes if at(file[0]) < before]
            if within:
                read += [file for file in self.log.sizes if at(file[0]) == before][: int(within[1])]
            assert {file for file in read if concerns(name, file)} <= self.held[name], f"{name} at {place}"

    def timeline(self, name: str) -> Timeline:
        return Timeline(table=name, path=str(self.made[name].folder))

    def maybe_die(self) -> None:
        if next(self.steps, False):
            raise CrashError

    def _next(self) -> int:
        self.now += 1
        return self.now


@pytest.mark.parametrize("seed", range(40))
def test_whatever_dies_every_table_has_all_of_every_commit_in_the_end(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    lake, died = Lake(tmp_path, rng), 0
    for _ in range(ROUNDS):
        for _ in range(rng.randrange(3)):
            lake.change_log()
        lake.steps = iter([rng.random() < 0.15 for _ in range(40)])
        try:
            lake.split(rng.choice([None, 1, 30, 70, 200]))
        except CrashError:
            died += 1
    lake.steps = iter(())
    lake.split(rng.choice([None, 1, 30]))
    assert died
    for name in NAMES:
        assert lake.held[name] == {file for file in lake.log.sizes if concerns(name, file)}, name
    before = lake.now
    lake.split(1)
    assert lake.now == before, "no commit comes of it"
