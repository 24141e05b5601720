"""A whole database found by one pattern: the first load of all its tables, then changes in a few of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from bench.lake import run_job, stage
from bench.mirror_events import Shop
from bench.mirrors import CLOCK, Watch
from bench.race import say
from bench.report import Growth, Race, Races
from bench.session import CORES, open_bench_session
from spark_jobs.contracts.settings import Settings

SIZES = (100, 1_000)
ROWS, CHANGED, CHANGES = 100, 10, 100
AIM = 1.5
INGEST, SPLIT, IDLE = "ingest", "split", "split, nothing new"

_METHOD = """\
A lake whose spec has one entry, `from: {{database: shop, table: "*"}}`: its tables are those that the log has. Tables
have eight to twelve columns, all different, and {rows} rows each; the records carry their schema. The first load of all
tables is one `ingest` and one `split`. Then in every round {changed} of the tables get {changes} changes each, and
`ingest`, `split` and a second `split` run, which finds nothing new. One warm session on {cores} cores, {threads} tables
at a time, {memory} of heap. Growth is that of the `split` of a round, whose changes are the same at all sizes."""


@dataclass(frozen=True, kw_only=True)
class FoundLake:
    """A shop's lake whose tables one pattern finds."""

    spark: SparkSession
    shop: Shop
    settings: Settings

    def load(self) -> Mapping[str, Watch]:
        """The first load of every table, by job."""
        with stage(f"the first load of {self.shop.tables:,} tables"):
            self.shop.land_rows(Path(self.settings.landing_path))
            return {job: self._run(job) for job in (INGEST, SPLIT)}

    def go_on(self, number: int) -> Mapping[str, Watch]:
        """A round's changes in a few tables, by contender."""
        self.shop.land_changes(Path(self.settings.landing_path), number, CHANGES, first=CHANGED)
        watches = {name: self._run(name.partition(",")[0]) for name in (INGEST, SPLIT, IDLE)}
        seconds = ", ".join(f"{name} {watch.seconds:.1f} s" for name, watch in watches.items())
        say(f"{self.shop.tables:,} tables, round {number}: {seconds}")
        return watches

    def _run(self, job: str) -> Watch:
        watch = Watch()
        with watch.on():
            run_job(self.spark, self.settings, job, CLOCK)
        return watch


def measure_found(settings: Settings, folder: Path, *, sizes: Sequence[int], warm_ups: int, rounds: int) -> Races:
    """Seconds of the rounds at so many tables, and what the first load of all of them took."""
    spark = open_bench_session(settings, folder=folder, with_peers=False)
    races = {size: _race(spark, settings, folder / str(size), size, warm_ups, rounds) for size in sorted(sizes)}
    spark.stop()
    ran = {"cores": CORES, "threads": settings.write_threads, "memory": settings.driver_memory}
    return Races(
        title=f"Tables found by a pattern, changes in {CHANGED} of them",
        method=_METHOD.format(rows=ROWS, changed=CHANGED, changes=CHANGES, **ran),
        races=[*races.values()],
        growth=Growth.between({size: median(race.seconds[SPLIT]) for size, race in races.items()}, AIM, "tables"),
    )


def _race(spark: SparkSession, settings: Settings, folder: Path, tables: int, warm_ups: int, rounds: int) -> Race:
    shop = Shop(tables=tables, rows=ROWS, is_found=True)
    folder.mkdir()
    settings = shop.lake_settings(settings, folder)
    lake = FoundLake(spark=spark, shop=shop, settings=settings)
    first = lake.load()
    if missing := [table.name for table in shop.all if not Path(settings.table_path(table.name)).is_dir()]:
        raise AssertionError(f"{len(missing)} tables were not made, such as {missing[0]}")
    timed = [lake.go_on(number) for number in range(warm_ups + rounds)][warm_ups:]
    return Race(
        title=f"{tables:,} tables",
        method="",
        subject=SPLIT,
        aims={},
        rows_scale=1,
        warm_ups=warm_ups,
        seconds={name: [each[name].seconds for each in timed] for name in (INGEST, SPLIT, IDLE)},
        differing_tables={},
        notes=[load_note(first, tables), round_note(timed)],
    )


def load_note(first: Mapping[str, Watch], tables: int) -> str:
    """What the first load took, for all and for a table."""
    ingest, split = first[INGEST], first[SPLIT]
    before, merge, commits = split.parts
    return (
        f"First load of {tables * ROWS:,} rows: ingest {ingest.seconds:.1f} s, split {split.seconds:.1f} s, which is "
        f"{split.seconds / tables:.2f} s a table ({before:.1f} s until the log is read, {merge:.1f} s for the merge, "
        f"{commits:.1f} s for commits). Peak memory, driver and JVM together: ingest {ingest.megabytes:,.0f} MB, split "
        f"{split.megabytes:,.0f} MB."
    )


def round_note(timed: Sequence[Mapping[str, Watch]]) -> str:
    """Where the time of a round's split goes, its processor time, and its peak memory."""
    splits = [each[SPLIT] for each in timed]
    before, merge, commits = (median(watch.parts[number] for watch in splits) for number in range(3))
    return (
        f"Split of a round: {before:.1f} s until the log is read, {merge:.1f} s for the merge, {commits:.1f} s for "
        f"commits; {median(watch.processor for watch in splits):.1f} s of processors; peak memory "
        f"{max(watch.megabytes for watch in splits):,.0f} MB."
    )
