"""Writers, services and jobs on an object store in bad weather: requests of all kinds fail, late or half-way.

The seed says which (store_faults.py). What fails is tried again, as a scheduler does; then the weather clears, rows
must be right by both readers, the next commit must succeed, and nothing may be left over. *Tables*: commits and
services on one table. *Jobs*: a small lake from landing files to the serving store, with a savepoint and the restore to
it. *Small files*: what Python writes beside tables, against a dict: a list shows what was written, at once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import Service
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import StorageForm, TableLayout
from tests.faults import races
from tests.faults.drivers import Driver
from tests.faults.small_lakes import FIRST, SECOND, THIRD, LakeStep, SmallLake, Units, make_small_lake
from tests.faults.store_faults import Weather
from tests.faults.stored_lakes import StoredLake
from tests.faults.stores import STORMY, Store, wait_until_old
from tests.faults.verdicts import LOST, Point, Tried, attempt, go_on, judge_lake, look, retry
from tests.support.numbered_tables import LAYOUTS, NumberedTable

TABLES, JOBS, WRITERS, FILES = "commits and services", "jobs of a lake", f"{races.KINDS[0]} on a store", "small files"
KINDS = (JOBS, TABLES, WRITERS, FILES)
SEEDS = 4
TRIES = 6
"""Of what fails: bad weather lasts for more than the two that a scheduler has."""
COMMITS, NAMES, STEPS = 6, 8, 120


@dataclass(frozen=True, slots=True)
class StoreWeather:
    """Tries the kinds on one store, in one session."""

    store: Store
    spark: SparkSession
    folder: str
    """A name of this run in the bucket."""
    local: Path

    def run(self, kind: str, seeds: range, driver: Callable[[], Driver]) -> Tried:
        """A kind with these seeds."""
        self.store.start()
        if kind == WRITERS:
            return races.race(kind, driver(), self._table, seeds, around=self._around, tries=TRIES)
        tries = {TABLES: self._try_table, JOBS: self._try_jobs, FILES: self._try_files}
        return Tried(kind=kind, operations=0, points=tuple(tries[kind](seed) for seed in seeds))

    def _base(self, name: str) -> str:
        return f"s3a://{STORMY}/{self.folder}/{name}"

    def _around(self, seed: int) -> AbstractContextManager[None]:
        return self.store.blowing(f"s3a://{STORMY}/{self.folder}", Weather(seed=seed))

    def _table(self, layout: TableLayout, name: str) -> NumberedTable:
        settings = Settings(base_path=self._base(f"{layout.name}-{name}"), lease_wait_seconds=60)
        return NumberedTable(self.spark, layout, settings)

    def _try_table(self, seed: int) -> Point:
        rng, layout = random.Random(f"{TABLES}/{seed}"), LAYOUTS[seed % len(LAYOUTS)]
        table, begun, stuck = self._table(layout, f"{TABLES[:7]}-{seed}"), time.monotonic(), ""
        merging = Service.CLUSTERING if layout.form is StorageForm.APPENDED else Service.COMPACTION
        with self._around(seed):
            for number in range(COMMITS):
                stuck = stuck or retry(partial(table.put, number), tries=TRIES)
                if number > 1 and layout.form is not StorageForm.REPLACED:
                    service = rng.choice([merging, Service.CLEAN, Service.ARCHIVE])
                    stuck = stuck or retry(partial(table.run, service, is_forced=True), tries=TRIES)
        point = look(TABLES, _case(seed, self.store), table, COMMITS - 1, stuck=stuck, seconds=time.monotonic() - begun)
        return point if point.wrong else go_on(point, table, COMMITS - 1, wait=wait_until_old)

    def _try_jobs(self, seed: int) -> Point:
        made = make_small_lake(self.spark, self.local / f"jobs-{seed}")
        lake = StoredLake(spark=self.spark, folder=made.folder, spec=made.spec, base=self._base(f"jobs-{seed}"))
        begun, stuck = time.monotonic(), ""
        with self._around(seed):
            for step in _STEPS:
                stuck = stuck or retry(partial(step, lake), tries=TRIES)
        case, seconds = _case(seed, self.store), time.monotonic() - begun
        point = judge_lake(JOBS, case, lake, partial(_assert_all, lake), stuck=stuck, seconds=seconds)
        if point.left_over:  # what may be in use is left alone for a while
            wait_until_old()
            stuck = retry(lambda: lake.go_on(is_held=False))
            point = judge_lake(JOBS, case, lake, partial(_assert_all, lake), stuck=stuck, seconds=seconds)
        return point if point.wrong else replace(point, left_over=", ".join(lake.left_over()))

    def _try_files(self, seed: int) -> Point:
        rng = random.Random(f"{FILES}/{seed}")
        files, known, begun = Filesystem(self._base(f"files-{seed}")), dict[str, bytes](), time.monotonic()
        stuck = rows = ""
        with self._around(seed):
            for step in range(STEPS):
                name, content = f"folder/{rng.randrange(NAMES)}.json", b"%d" % step
                if rng.random() < 0.25 and name in known:
                    stuck = stuck or retry(partial(files.delete, name), tries=TRIES)
                    del known[name]
                else:
                    stuck = stuck or retry(partial(files.write, name, content), tries=TRIES)
                    known[name] = content
                wrong = attempt(partial(_assert_shown, files, known))
                rows = rows or (f"{LOST} or changed after step {step}: {wrong}" if "AssertionError" in wrong else "")
        rows = rows or attempt(partial(_assert_shown, files, known))
        seconds = time.monotonic() - begun
        return Point(kind=FILES, operation=_case(seed, self.store), seconds=round(seconds, 1), stuck=stuck, rows=rows)


def _case(seed: int, store: Store) -> str:
    faults = ", ".join(f"{count} {fault.name}" for fault, count in sorted(store.switch.faults.items()))
    return f"seed {seed} ({faults or 'no faults'})"


def _took(batch: Units) -> LakeStep:
    return lambda lake: lake.take_in(batch)


def _serve_all(lake: SmallLake) -> None:
    later = datetime.now(UTC) + timedelta(days=2)
    lake.run("services", clock=later, action="run", service=None, all=True)


_REFRESH: tuple[LakeStep, ...] = (SmallLake.split, SmallLake.refresh, SmallLake.serve)
_STEPS: tuple[LakeStep, ...] = (
    *(_took(FIRST), *_REFRESH),
    *(_took(SECOND), *_REFRESH),
    *(_serve_all, SmallLake.keep),
    *(_took(THIRD), *_REFRESH),
    *(SmallLake.restore, _took(THIRD), *_REFRESH),
)


def _assert_all(lake: SmallLake) -> None:
    everything = {**FIRST, **SECOND, **THIRD}
    lake.assert_table_is(everything)
    lake.assert_mart_is(everything)
    lake.assert_served_is(everything)


def _assert_shown(files: Filesystem, known: dict[str, bytes]) -> None:
    listed = [entry.path.removeprefix(f"{files.root}/") for entry in files.list_files("folder")]
    assert listed == sorted(known), "a list shows other files than were written"
    for name, content in known.items():
        assert files.read(name) == content, name
