"""The catalog after one of two hundred tables got a commit: Glue's API time, apart from the rest."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from statistics import median
from typing import Any

import yaml
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from bench.lake import run_job, stage
from bench.race import say
from bench.report import Figures
from bench.session import open_bench_session
from local_stack.servers.aws_server import start_aws, wait_for_aws
from local_stack.servers.services import RunFolder
from spark_jobs.contracts.catalogs import GLUE
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.layouts import log_layout, table_layout
from spark_jobs.storage.writer import commit

TABLES, DAYS, AIM = 200, 365, 2.0
CLOCK = datetime(2026, 6, 1, tzinfo=UTC)
DATABASE = "bench"

_METHOD = f"""\
A lake of {TABLES} tables on local files: a log with {DAYS} partitions, and copies of one copy-on-write table under
other names. All are in Glue (its API by moto, on this machine: no network between). In every round the log gets a
commit with a partition of its own, and `sync apply` runs; beside it `sync apply` for the same lake into a database that
is not there yet. API time is what the AWS client spends in calls, retries included, by its own events before and after
each; the rest is reading timelines and listings, and comparing."""


@dataclass(slots=True)
class ApiTime:
    """Calls of a client and the seconds in them, from its own events."""

    calls: list[str] = field(default_factory=list)
    seconds: float = 0
    _begun: float = 0

    def listen(self, events: Any) -> None:
        """Register for the calls of Glue clients."""
        events.register("before-parameter-build.glue", self._begin)
        events.register("after-call.glue", self._end)
        events.register("after-call-error.glue", self._end)

    def reset(self) -> None:
        """Count from zero."""
        self.calls, self.seconds = [], 0

    def _begin(self, model: Any, **_: Any) -> None:
        self.calls.append(model.name)
        self._begun = time.perf_counter()

    def _end(self, **_: Any) -> None:
        self.seconds += time.perf_counter() - self._begun


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """One run: seconds in all, those of the API, its calls, and changes that were made."""

    seconds: float
    api_seconds: float
    calls: Sequence[str]
    changes: int


def measure_catalogs(settings: Settings, folder: Path, *, warm_ups: int, rounds: int) -> Figures:
    """Median API seconds of a sync after one table moved, and of one of all tables in full."""
    settings = replace(
        settings,
        base_path=str(folder / "lake"),
        lake_spec=str(_write_spec(settings, folder)),
        catalog=GLUE,
        catalog_database=DATABASE,
    )
    run = RunFolder(folder / "run")
    spec = load_lake_spec(settings.lake_spec)
    spark = open_bench_session(settings, folder=folder, with_peers=False)
    with run.stopping(), _environ(wait_for_aws(start_aws(run))), _listening() as api:
        with stage(f"a lake of {TABLES} tables"):
            _make(spark, spec, settings)
        _sync(api, settings)
        if _sync(api, settings).changes:
            raise AssertionError("a sync right after another one found something to do")
        ours, full = [], []
        for number in range(warm_ups + rounds):
            _log_day(spark, spec, settings, DAYS + number, 1)
            ours.append(_sync(api, settings))
            full.append(_sync(api, replace(settings, catalog_database=f"full_{number}")))
            say(f"round {number}: {ours[-1].api_seconds:.2f} s, full {full[-1].api_seconds:.2f} s")
    spark.stop()
    return summarize(ours[warm_ups:], full[warm_ups:], warm_ups=warm_ups)


def summarize(ours: Sequence[Sync], full: Sequence[Sync], *, warm_ups: int) -> Figures:
    """The page's figures of both kinds of sync."""
    api, whole = (median(getattr(each, name) for each in ours) for name in ("api_seconds", "seconds"))
    api_full, whole_full = (median(getattr(each, name) for each in full) for name in ("api_seconds", "seconds"))
    counts = {name: ours[-1].calls.count(name) for name in dict.fromkeys(ours[-1].calls)}
    calls = ", ".join(f"{count} {name}" for name, count in counts.items())
    return Figures(
        title=f"One changed table among {TABLES} in Glue",
        method=_METHOD,
        what="API time of a sync",
        unit="s",
        values={"one of the tables got a commit and a partition": api},
        aims={"one of the tables got a commit and a partition": AIM},
        notes=(
            f"{len(ours[-1].calls)} calls ({calls}), {ours[-1].changes} changes; {whole:.2f} s in all, "
            f"{whole - api:.2f} s of them outside the API.",
            f"All tables in full: {api_full:.2f} s of API time in {len(full[-1].calls)} calls, "
            f"{api_full / api:.0f} times as much; {whole_full:.2f} s in all.",
            f"Medians of {len(ours)} rounds after {warm_ups} to warm up.",
        ),
    )


def _write_spec(settings: Settings, folder: Path) -> Path:
    """The shipped source and log, and as many tables as are wanted beside the log, without marts."""
    document = yaml.safe_load(Path(settings.lake_spec).read_text(encoding="utf-8"))
    kept = {name: document[name] for name in ("lake", "time_zone", "source", "log", "quarantine")}
    table = {"key": "unit_id", "columns": ["unit_name", "building_id"], "type": TableType.COPY_ON_WRITE.value}
    kept["tables"] = [{"name": f"units_{number}", **table} for number in range(1, TABLES)]
    path = folder / "lake.yaml"
    path.write_text(yaml.safe_dump(kept), encoding="utf-8")
    return path


def _make(spark: SparkSession, spec: LakeSpec, settings: Settings) -> None:
    """One table by a commit, the others as copies of its folder, and the log with its days."""
    first, *others = spec.tables
    rows_df = spark.range(100).select(
        F.col("id").alias("unit_id"), F.lit("a unit").alias("unit_name"), F.lit(1).cast("bigint").alias("building_id")
    )
    commit(rows_df, table_layout(first), metadata={}, settings=settings, is_first=True)
    for table in others:
        shutil.copytree(settings.table_path(first.name), settings.table_path(table.name))
    _log_day(spark, spec, settings, 0, DAYS)


def _log_day(spark: SparkSession, spec: LakeSpec, settings: Settings, first: int, days: int) -> None:
    """A commit of one event on each of so many days."""
    begin = (CLOCK - timedelta(days=DAYS)).date().isoformat()
    known = {
        "event_id": F.col("id").cast("string"),
        "event_date": F.date_add(F.lit(begin).cast("date"), F.col("id").cast("int")).cast("string"),
    }
    types = {name: column.sql_type for name, column in spec.columns_by_name.items()}
    columns = [known.get(name, F.lit(None).cast(types.get(name, "string"))).alias(name) for name in spec.log_columns]
    rows_df = spark.range(first, first + days, numPartitions=2).select(*columns)
    commit(rows_df, log_layout(spec), metadata={}, settings=settings)


def _sync(api: ApiTime, settings: Settings) -> Sync:
    api.reset()
    began = time.perf_counter()
    with redirect_stdout(StringIO()):  # a line for each table
        result = run_job(None, settings, "sync", CLOCK, action="apply")
    seconds = time.perf_counter() - began
    return Sync(seconds=seconds, api_seconds=api.seconds, calls=tuple(api.calls), changes=result.counters["changes"])


@contextmanager
def _listening() -> Iterator[ApiTime]:
    """Count the calls of clients that are made in the block."""
    import boto3
    from botocore.session import get_session

    api, session = ApiTime(), get_session()
    api.listen(session.get_component("event_emitter"))
    boto3.setup_default_session(botocore_session=session)
    try:
        yield api
    finally:
        boto3.setup_default_session()


@contextmanager
def _environ(variables: Mapping[str, str]) -> Iterator[None]:
    """By which AWS clients find the server, for the block."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
