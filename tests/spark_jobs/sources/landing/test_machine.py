"""Whatever writers do to landing files, every line is planned, whole, and once.

A state machine writes files of numbered records (``{"n":12}``), plain or gzip with one member a write. A write may stop
anywhere, so files end in half lines and half gzip members until the next write goes on. Files are renamed, copied and
replaced in between, and runs with small caps plan what they find. At the end everything is completed and planned:
each record was read; once, if its file was only ever written to; and then there is nothing left to plan.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from spark_jobs.sources.file_blocks import iter_range
from spark_jobs.sources.file_scan import LedgerEntry
from spark_jobs.sources.landing import list_landing, pack_ledger, plan_landing, unpack_ledger
from spark_jobs.sources.landing_plan import LandingPlan
from spark_jobs.storage.filesystem import Filesystem

TOPIC = "erp.dbo.SALES"
names = st.sampled_from(["a", "b", "c.gz", "d.gz"])


@dataclass
class File:
    """What its writer wants it to hold, how much of that is written, and which of its records were planned."""

    wanted: bytes = b""
    written: int = 0
    records: list[bytes] = field(default_factory=list)
    planned: Counter[bytes] = field(default_factory=Counter)
    is_only_written: bool = True


class LandingMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.topic = Path(self.folder.name) / TOPIC
        self.topic.mkdir()
        self.files: dict[str, File] = {}
        self.ledger: dict[str, LedgerEntry] = {}
        self.planned: Counter[bytes] = Counter()
        self.number = self.time = 0

    def store(self, name: str) -> None:
        """Write the file as far as it is written, with a time of its own."""
        file, self.time = self.files[name], self.time + 1
        (self.topic / name).write_bytes(file.wanted[: file.written])
        os.utime(self.topic / name, ns=(self.time * 10**9,) * 2)

    def new_records(self, count: int) -> list[bytes]:
        self.number += count
        return [b'{"n":%d}' % n for n in range(self.number - count, self.number)]

    @rule(name=names, count=st.integers(0, 4), left=st.integers(0, 30))
    def write(self, name: str, count: int, left: int) -> None:
        """Go on writing, all but the last ``left`` bytes."""
        file = self.files.setdefault(name, File())
        records = self.new_records(count)
        content = b"".join(record + b"\n" for record in records)
        file.wanted += gzip.compress(content, mtime=0) if name.endswith(".gz") else content
        file.records += records
        file.written = max(file.written, len(file.wanted) - left)
        self.store(name)

    @rule(name=names, new_name=names)
    def rename(self, name: str, new_name: str) -> None:
        if name in self.files and new_name not in self.files and name.endswith(".gz") == new_name.endswith(".gz"):
            self.files[new_name] = self.files.pop(name)
            self.files[new_name].is_only_written = False
            (self.topic / name).rename(self.topic / new_name)

    @rule(name=names, new_name=names)
    def copy(self, name: str, new_name: str) -> None:
        if name in self.files and new_name not in self.files and name.endswith(".gz") == new_name.endswith(".gz"):
            original = self.files[name]
            self.files[new_name] = File(original.wanted, original.written, [*original.records], is_only_written=False)
            original.is_only_written = False
            self.store(new_name)

    @rule(name=names, count=st.integers(0, 3))
    def replace(self, name: str, count: int) -> None:
        """Other content under the same name; what the old one held and was not read is gone."""
        if name in self.files:
            self.files[name] = File()
            self.write(name, count, 0)

    @rule(limit=st.integers(1, 5))
    def run(self, limit: int) -> None:
        self.plan(limit)

    def plan(self, limit: int) -> LandingPlan:
        """Plan, check that only whole lines are planned, and commit."""
        files = Filesystem(self.folder.name)
        entries, _ = list_landing(files, ("*.SALES",))
        plan = plan_landing(files, entries, self.ledger, max_records=limit, truncated_before_ns=0)
        assert plan.broken == ()
        assert plan.records <= limit
        taken = 0
        for chunk in plan.chunks:
            file = self.files[Path(chunk.path).name]
            with files.open(chunk.path) as stored:
                lines = b"".join(iter_range(stored, chunk.start, chunk.end, chunk.member)).split(b"\n")
            taken += len(lines) if lines[-1] else len(lines) - 1
            records = [line for line in lines if line.strip()]
            assert set(records) <= set(file.records)
            file.planned.update(records)
            self.planned.update(records)
        assert taken == plan.records
        self.ledger = unpack_ledger(pack_ledger(plan.ledger))
        assert self.ledger == plan.ledger
        return plan

    @invariant()
    def nothing_is_planned_twice(self) -> None:
        for file in self.files.values():
            if file.is_only_written:
                assert not file.planned or max(file.planned.values()) == 1

    def teardown(self) -> None:
        for name, file in self.files.items():
            file.written = len(file.wanted)
            self.store(name)
        while self.plan(5).has_more:
            continue
        for file in self.files.values():
            assert set(file.records) <= set(self.planned)
            if file.is_only_written:
                assert file.planned == Counter(file.records)
        plan = self.plan(100)
        assert (plan.chunks, plan.records, plan.has_more, plan.messages) == ((), 0, False, ())
        self.folder.cleanup()


LandingMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=25, deadline=None)
TestLandingMachine = LandingMachine.TestCase
