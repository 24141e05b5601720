"""A hundred mirrors merged by one `split`, and each by a `split` of its own over the same log."""

from __future__ import annotations

import shutil
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from pyspark.sql import SparkSession

from bench.lake import run_job, stage
from bench.landing import covered
from bench.mirror_events import Shop
from bench.processes import peak_memory_mb, processor_seconds
from bench.race import differing, say
from bench.report import Race
from bench.session import CORES, open_bench_session
from spark_jobs.contracts.settings import Settings
from spark_jobs.pipelines.merge import engine, reading

TABLES, CHANGES = 100, 1_000
TABLE_AIM = 0.5
"""Seconds a table of `ingest` and one `split` for all."""
CLOCK = datetime(2026, 6, 1, tzinfo=UTC)
TOGETHER, ALONE, INGEST = "one split for all", "a split for each table", "ingest"
_READ, _FOLD, _COMMIT = "read_pull", "merge_events", "_write"
_STEPS: Sequence[tuple[Any, str]] = (
    (reading, _READ),
    (engine.Merge, _FOLD),
    (engine.Merge, _COMMIT),
)
Span = tuple[float, float]

_METHOD = """\
A lake of {tables} mirrors of a shop's tables of eight to twelve columns, all different; every other one's records carry
their schema, one in four takes deleted rows out, one in five has partitions. Each begins with {rows:,} rows. In every
round {changes:,} changes of each table land (a fifth new rows, one in twenty a delete), a topic for each, and `ingest`
takes all of them into one log. One warm session on {cores} cores, {threads} tables at a time, {memory} of heap; who
begins changes from round to round.

* {together} is `split` over all mirrors.
* {alone} is `split --tables <name>` for one table after another of a copy of the lake that has ingested the
  same events, in the same session: what a process and a session for each would cost is not in it.

Memory is what this process and the JVM have resident together, looked at twice a second; processor time is theirs too,
and on a shared machine the better measure of work."""


@dataclass(kw_only=True)
class Watch:
    """What one run of a job took: seconds, processor time, the most memory; when each step of `split` was at work."""

    seconds: float = 0
    processor: float = 0
    megabytes: float = 0
    spans: dict[str, list[Span]] = field(default_factory=lambda: {name: [] for _, name in _STEPS})

    @contextmanager
    def on(self) -> Iterator[None]:
        """Watch the block."""
        began = time.perf_counter()
        with ExitStack() as stack:
            for owner, name in _STEPS:
                stack.enter_context(patch.object(owner, name, self._noted(getattr(owner, name), name)))
            most = stack.enter_context(peak_memory_mb())
            work = stack.enter_context(processor_seconds())
            yield
            self.seconds = time.perf_counter() - began
        self.processor, self.megabytes = work["seconds"], most["megabytes"]

    @property
    def parts(self) -> tuple[float, float, float]:
        """Seconds before the merge (leases, timelines, reading the log), of the merge, and of the commits."""
        folding = sum(end - begin for begin, end in self.spans[_FOLD])
        committing = covered((0, float("inf")), self.spans[_COMMIT])
        return self.seconds - folding, folding - committing, committing

    def _noted(self, step: Any, name: str) -> Any:
        def run(*arguments: Any, **more: Any) -> Any:
            began = time.perf_counter()
            try:
                return step(*arguments, **more)
            finally:
                self.spans[name].append((began, time.perf_counter()))

        return run


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What a round took: `ingest`, one split for all, and one for each of some tables."""

    ingest: Watch
    together: Watch
    alone: Sequence[Watch]


@dataclass(frozen=True, kw_only=True)
class MirrorLake:
    """The shop's lake, and a copy of it whose tables are merged one by one."""

    spark: SparkSession
    shop: Shop
    settings: Settings
    twin: Settings

    def make(self) -> float:
        """The first load of every table, in both; gives the most memory that it had, in megabytes."""
        with stage(f"the first load of {self.shop.tables} tables"):
            self.shop.land_rows(Path(self.settings.landing_path))
            peak = _peak([self._run(self.settings, job) for job in ("ingest", "split")])
        say(f"its peak memory: {peak:,.0f} MB")
        shutil.copytree(self.settings.base_path, self.twin.base_path)
        return peak

    def go_on(self, number: int, changes: int, alone: int) -> Round:
        """The changes of a round, into both."""
        self.shop.land_changes(Path(self.settings.landing_path), number, changes)
        ingest = self._run(self.settings, "ingest")
        self._run(self.twin, "ingest")
        names = [table.name for table in self.shop.all[:alone]]
        singly = [self._run(self.twin, "split", tables=name) for name in names] if number % 2 else []
        together = self._run(self.settings, "split")
        singly = singly or [self._run(self.twin, "split", tables=name) for name in names]
        say(
            f"round {number}: ingest {ingest.seconds:.1f} s, {TOGETHER} {together.seconds:.1f} s, {ALONE} "
            f"{sum(watch.seconds for watch in singly):.1f} s for {alone}"
        )
        return Round(ingest=ingest, together=together, alone=singly)

    def _run(self, settings: Settings, job: str, **options: str) -> Watch:
        watch = Watch()
        with watch.on():
            run_job(self.spark, settings, job, CLOCK, **options)
        return watch

    def fingerprints(self, settings: Settings, count: int) -> Iterator[tuple[str, tuple[int, int]]]:
        """Of the first tables: how many rows, and a sum of their hashes, as the Rust reader sees them."""
        from hudi import HudiTableBuilder

        for table in self.shop.all[:count]:
            batches = HudiTableBuilder.from_base_uri(settings.table_path(table.name)).build().read()
            rows = [row for batch in batches for row in batch.to_pylist()]
            own = [{name: value for name, value in row.items() if not name.startswith("_hoodie")} for row in rows]
            yield table.name, (len(own), sum(zlib.crc32(repr(sorted(row.items())).encode()) for row in own))


def measure_mirrors(
    settings: Settings, folder: Path, *, tables: int, changes: int, alone: int, warm_ups: int, rounds: int
) -> Race:
    """Seconds of a round for ``tables`` mirrors with so many changes each; ``alone`` of them are also timed singly."""
    shop = Shop(tables=tables, rows=changes)
    settings = shop.lake_settings(settings, folder)
    twin = replace(settings, base_path=str(folder / "twin"))
    spark = open_bench_session(settings, folder=folder, with_peers=False)
    lake = MirrorLake(spark=spark, shop=shop, settings=settings, twin=twin)
    peak = lake.make()
    timed = [lake.go_on(number, changes, alone) for number in range(warm_ups + rounds)][warm_ups:]
    found = [
        (name, table, fingerprint)
        for name, home in ((TOGETHER, settings), (ALONE, twin))
        for table, fingerprint in lake.fingerprints(home, alone)
    ]
    spark.stop()
    facts: Mapping[str, Any] = {"tables": tables, "rows": shop.rows, "changes": changes, "cores": CORES}
    ran = {"threads": settings.write_threads, "memory": settings.driver_memory, "together": TOGETHER, "alone": ALONE}
    return Race(
        title=f"{tables} mirrors, {changes:,} changes of each",
        method=_METHOD.format(**facts, **ran),
        subject=TOGETHER,
        aims={},
        rows_scale=tables * changes / (TABLES * CHANGES),
        warm_ups=warm_ups,
        seconds={
            TOGETHER: [each.together.seconds for each in timed],
            ALONE: [tables / alone * sum(watch.seconds for watch in each.alone) for each in timed],
            INGEST: [each.ingest.seconds for each in timed],
        },
        differing_tables=differing(found),
        notes=[
            *notes_of(timed, tables),
            f"Peak memory of the first load of {tables * changes:,} rows: {peak:,.0f} MB.",
        ],
    )


def notes_of(timed: Sequence[Round], tables: int) -> list[str]:
    """Lines on the time of a table, the reads of the log, the memory, and where the time goes."""
    together, singly = [each.together for each in timed], [watch for each in timed for watch in each.alone]
    reads = [max(len(watch.spans[_READ]) for watch in watches) for watches in (together, singly)]
    alone, all_, one = len(timed[0].alone), _medians(together), _medians(singly)
    before, merge, commits = (median(watch.parts[number] for watch in together) for number in range(3))
    commit = median(end - begin for watch in together for begin, end in watch.spans[_COMMIT])
    lines = [
        f"A table, seconds and those of processors: {all_[0] / tables:.2f} and {all_[1] / tables:.2f} in one split for "
        f"all, {one[0]:.2f} and {one[1]:.2f} in one of its own.",
        f"Reads of the log: {reads[0]} in one split for all, {reads[1] * tables} in splits for each.",
        f"Peak memory, driver and JVM together: ingest {_peak([each.ingest for each in timed]):,.0f} MB, one split for "
        f"all {_peak(together):,.0f} MB.",
        f"Of one split for all: {before:.1f} s until the log is read, {merge:.1f} s for the merge of all tables, "
        f"{commits:.1f} s for their commits, side by side; one commit takes {commit:.1f} s meanwhile.",
    ]
    if alone < tables:
        lines.append(f"**{alone} of {tables} tables were timed alone; the time for each is that of these, times all.**")
    return lines


def _medians(watches: Sequence[Watch]) -> tuple[float, float]:
    return median(watch.seconds for watch in watches), median(watch.processor for watch in watches)


def _peak(watches: Sequence[Watch]) -> float:
    return max(watch.megabytes for watch in watches)
