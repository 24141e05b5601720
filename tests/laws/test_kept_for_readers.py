"""Services remove what no reader needs, and all of that: consumers, savepoints and targets together.

Tables are made by chance: file groups with several slices, some of them replaced, some files of writers that died. What
a reader opens as of an instant is worked out here by plain Python, and compared with what a clean would remove.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from spark_jobs.contracts.instants import format_instant
from spark_jobs.lake_spec.services import Service, ServiceTargets
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage.consumers import ConsumerState
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.services.due import find_needs
from spark_jobs.storage.services.kind import Need
from spark_jobs.storage.services.retention import plan_retention
from tests.support.made_tables import MadeTable, at

UNITS = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, type=TableType.MERGE_ON_READ)
CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
METADATA = ("lakehouse.checkpoint.log", "lakehouse.checkpoint.other", "lakehouse.buckets", "lakehouse.run", "schema")
OF_ONE_COMMIT = ("lakehouse.run", "lakehouse.changes", "lakehouse.service", "schema")


@dataclass
class Chance:
    """A table, those who read it, and the targets of its services."""

    table: MadeTable
    rng: random.Random
    writes: list[int] = field(default_factory=list)
    slices: dict[tuple[str, str], dict[int, set[str]]] = field(default_factory=dict)
    """Of each group: the names of the files of each slice, by the instant that began it."""
    replaced: dict[tuple[str, str], int] = field(default_factory=dict)
    metadata: dict[int, set[str]] = field(default_factory=dict)

    def make(self) -> Chance:
        rng = self.rng
        numbers = rng.sample(range(2, 30), rng.randrange(1, 12))
        self.writes = sorted(numbers)
        for number in self.writes:
            self.metadata[number] = set(rng.sample(METADATA, rng.randrange(3)))
        for at_group in range(rng.randrange(1, 5)):
            self._group(rng.choice(("", "day=1", "day=2")), f"g{at_group}")
        for group in list(self.slices):
            later = [number for number in self.writes if number > max(self.slices[group])]
            if later and rng.random() < 0.4:
                self.replaced[group] = rng.choice(later)
        for number in self.writes:
            gone: dict[str, list[str]] = {}
            for (partition, id_), when in self.replaced.items():
                if when == number:
                    gone.setdefault(partition, []).append(id_)
            extra = dict.fromkeys(self.metadata[number], str(number))
            action = "replacecommit" if gone else rng.choice(("commit", "deltacommit"))
            self.table.commits(number, action=action, extraMetadata=extra, partitionToReplaceFileIds=gone)
        return self

    def _group(self, partition: str, id_: str) -> None:
        """Slices of a base file or of log files alone, which are laid over those before them, or of both."""
        begun = sorted(self.rng.sample(self.writes, self.rng.randrange(1, min(len(self.writes), 5) + 1)))
        for number in begun:
            has_base = partition != "" or self.rng.random() < 0.7
            if has_base:
                self.table.base(id_, number, partition=partition)
            if partition == "":
                self.table.logs(id_, number, self.rng.randrange(3) if has_base else 1)
        self.slices[partition, id_] = {number: self._files(partition, id_, number) for number in begun}

    def _files(self, partition: str, id_: str, number: int) -> set[str]:
        return {path.name for path in (self.table.folder / partition).glob(f"*{id_}_*{at(number)}*")}

    def opened_as_of(self, number: int) -> Iterator[str]:
        """Files of the groups that are there as of a write: the newest base file, and all log files since."""
        for group, slices in self.slices.items():
            begun = {each: names for each, names in slices.items() if each <= number}
            based = [each for each, names in begun.items() if any(name.endswith(".parquet") for name in names)]
            if number < self.replaced.get(group, 1000):
                yield from (name for each, of in begun.items() if each >= max(based, default=0) for name in of)

    def needs(self, consumers: dict[str, ConsumerState], targets: ServiceTargets) -> dict[Service, Need]:
        return {need.service: need for need in find_needs(self.table.look(), consumers, targets, CLOCK).needs}


def consumers_of(rng: random.Random, writes: list[int]) -> dict[str, ConsumerState]:
    """Up to four: on the timeline or off it, of this table, of another one, or of both."""
    found = {}
    for name in ("report", "fast_deals", "split", "loader")[: rng.randrange(5)]:
        place = rng.choice(writes) if rng.random() < 0.8 else rng.choice([0, 1, 31])
        tables = rng.choice((["units"], ["units", "agents"], ["agents", "units"], ["agents"]))
        places = {table: at(place) if table == "units" else at(1) for table in tables}
        found[name] = ConsumerState(checkpoints=places, tables={"units": at(2)})
    return found


@pytest.mark.parametrize("seed", range(60))
def test_what_goes_is_what_no_kept_state_needs(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    chance = Chance(MadeTable(UNITS, tmp_path / "units"), rng).make()
    consumers, writes = consumers_of(rng, chance.writes), chance.writes
    savepoints = rng.sample(writes, min(len(writes), rng.randrange(3)))
    of_archived = rng.sample([1, 40], rng.randrange(3))  # the commits that they are of are on the timeline no more
    chance.table.commits(*savepoints, *(of_archived if rng.random() < 0.3 else ()), action="savepoint")
    targets = ServiceTargets(keep_commits=rng.randrange(1, 6), clean_files=rng.randrange(1, 5), archive_commits=4)
    places = {name: state.checkpoints.get("units", "") for name, state in consumers.items()}
    known = {name: place for name, place in places.items() if place in [at(number) for number in writes]}

    retention = plan_retention(chance.table.look().timeline, consumers, targets, CLOCK)
    assert retention is not None
    by_count = at(writes[-min(targets.keep_commits, len(writes))])
    wanted = [by_count, at(writes[-1]), *known.values(), *map(at, savepoints)]
    assert retention.earliest == min(wanted)
    assert retention.commits == sum(at(number) >= retention.earliest for number in writes)
    assert retention.lost == tuple(sorted(name for name, place in places.items() if place and name not in known))

    kept = [number for number in writes if at(number) >= retention.earliest]
    needed = {name for number in kept for name in chance.opened_as_of(number)}
    # The state before the oldest kept one stays too, as Hudi's cleaner spares it.
    before = [number for number in writes if at(number) < retention.earliest]
    needed |= set(chance.opened_as_of(before[-1])) if before else set()
    gone = {Path(file.path).name for file in chance.table.look().superseded(retention.earliest)}
    everything = {name for slices in chance.slices.values() for names in slices.values() for name in names}
    assert gone == everything - needed, (retention, chance.slices, chance.replaced)
    clean = chance.needs(consumers, targets)[Service.CLEAN]
    assert (clean.is_due, clean.keep_commits) == (len(gone) >= targets.clean_files, retention.commits)


@pytest.mark.parametrize("seed", range(40))
def test_the_archive_keeps_what_a_consumer_reads_or_only_one_commit_has(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    chance = Chance(MadeTable(UNITS, tmp_path / "units"), rng).make()
    consumers, writes = consumers_of(rng, chance.writes), chance.writes
    targets = ServiceTargets(keep_commits=rng.randrange(1, 4), archive_commits=rng.randrange(2, 9))
    need = chance.needs(consumers, targets)[Service.ARCHIVE]
    stay = set(writes[-need.keep_commits :])
    if need.is_due:
        assert len(writes) > targets.archive_commits
        assert need.keep_commits >= targets.archive_commits // 2
        assert stay < set(writes)
        for state in consumers.values():
            place = state.checkpoints.get("units", "")
            assert not any(at(number) == place for number in set(writes) - stay), "a consumer loses its place"
        for key in set(METADATA) - set(OF_ONE_COMMIT):
            saying = [number for number in writes if key in chance.metadata[number]]
            assert not saying or saying[-1] in stay, f"{key} is forgotten"
    held = [at(n) for n in writes if any(state.checkpoints.get("units") == at(n) for state in consumers.values())]
    held += [
        at([n for n in writes if key in chance.metadata[n]][-1]) for key in METADATA[:3] if _is_written(chance, key)
    ]
    held += [at(writes[-min(targets.keep_commits, len(writes))])]
    needed = sum(at(number) >= min(held) for number in writes)
    if len(writes) > targets.archive_commits:
        assert need.keep_commits == max(needed, targets.archive_commits // 2)
        assert need.is_due is (need.keep_commits < len(writes))
    else:
        assert not need.is_due


def _is_written(chance: Chance, key: str) -> bool:
    return any(key in keys for keys in chance.metadata.values())


@pytest.mark.parametrize("seed", range(20))
def test_states_of_the_last_hours_stay(tmp_path: Path, seed: int) -> None:
    """The state that was the newest at the beginning of these hours, to the millisecond, and all since."""
    rng = random.Random(seed)
    hours, table = rng.randrange(1, 5), MadeTable(UNITS, tmp_path / "units")
    border = CLOCK - timedelta(hours=hours)
    beside = [border + timedelta(milliseconds=ms) for ms in (-1, 0, 1)]
    moments = [CLOCK - timedelta(minutes=rng.randrange(1, 400)) for _ in range(4)] + rng.sample(
        beside, rng.randrange(4)
    )
    times = sorted({format_instant(moment) for moment in moments})
    for time in times:
        (table.folder / ".hoodie" / f"{time}.commit").write_text("{}")
    targets = ServiceTargets(keep_commits=1, keep_hours=hours)
    retention = plan_retention(table.look().timeline, {}, targets, CLOCK)
    assert retention is not None
    old = [time for time in times if time <= format_instant(border)]
    assert retention.earliest == min(old[-1] if old else times[0], times[-1])


@pytest.mark.parametrize("seed", range(20))
def test_a_reader_opens_the_newest_finished_slice_of_each_live_group(tmp_path: Path, seed: int) -> None:
    """Bytes and small files are of what is opened now; a file of a writer that never committed is none of it."""
    rng = random.Random(seed)
    chance = Chance(MadeTable(UNITS, tmp_path / "units"), rng).make()
    for partition, id_ in list(chance.slices):
        if rng.random() < 0.5:
            chance.table.base(id_, 40 + rng.randrange(5), partition=partition, size=1000)
    state = chance.table.look()
    names = set(chance.opened_as_of(99))
    opened = [file for group in state.live_groups for each in state.read_slices(group) for file in each.files]
    assert {Path(file.path).name for file in opened} == names
    assert len(opened) == len(names)
    found = state.read_bytes()
    for partition in {partition for partition, _ in chance.slices}:
        of_partition = [file for file in opened if Path(file.path).parent == tmp_path / "units" / partition]
        assert found.get(partition, 0) == sum(file.size for file in of_partition)
        bases = [file for file in of_partition if file.path.endswith(".parquet")]
        assert state.small_files(2).get(partition, 0) == len(bases)
        assert state.small_files(1).get(partition, 0) == 0


@pytest.mark.parametrize("seed", range(30))
def test_a_file_of_a_writer_that_died_takes_the_place_of_none(tmp_path: Path, seed: int) -> None:
    """Whatever such files are between those of commits: no file goes that a kept state needs, and all others do."""
    rng = random.Random(seed)
    chance = Chance(MadeTable(UNITS, tmp_path / "units"), rng).make()
    never = [number for number in range(chance.writes[0], 40) if number not in chance.writes]
    for partition, id_ in list(chance.slices):
        for number in rng.sample(never, 3):
            chance.table.base(id_, number, partition=partition)
            chance.table.logs(id_, number, rng.randrange(2))
    state = chance.table.look()
    for number in chance.writes:
        gone = {Path(file.path).name for file in state.superseded(at(number))}
        before = [each for each in chance.writes if each < number][-1:]
        kept = [*before, *(each for each in chance.writes if each >= number)]
        needed = {name for each in kept for name in chance.opened_as_of(each)}
        everything = {name for slices in chance.slices.values() for names in slices.values() for name in names}
        assert gone & everything == everything - needed
