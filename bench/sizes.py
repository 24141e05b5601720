"""What an event and a row weigh at every place where the platform keeps them, and the processor time they take."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from pyspark.sql import SparkSession

from bench.lake import SALES, run_job, stage
from bench.processes import processor_seconds
from bench.session import open_bench_session
from bench.sizes_report import Sizes, TableSize
from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.instants import BEGINNING, Instant, InstantRange
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import Service
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.sizing.load import Load
from spark_jobs.sizing.needs import Needs
from spark_jobs.sizing.simulation import Advice, simulate
from spark_jobs.sizing.weights import weights_of
from spark_jobs.sources.file_scan import ScanOrder, scan_file
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import TableLayout, log_layout, table_layout
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.timeline import Timeline

SIZED_EVENTS = 300_000
WRITTEN_A_YEAR = "bytes written in a year, by those that land"
WRITTEN_AIM = 10.0
_SMALL = 1_000
_START, _END = datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 2, tzinfo=UTC)
_MILLION, _GB = 1_000_000, 1024**3
_BESIDE = {"row index": ".row_index", "change feed": ".changes"}

_METHOD = """\
One generated day of events in a new lake on local files, with the generator's usual share of late, partial, repeated,
corrected and broken ones, in three arrivals: a large one that makes the tables, one as large that changes them, and one
of 1,000 events. `ingest` and `split` take in each; then the log is clustered and every table compacted. Bytes are those
of files. Processor seconds are of Python, its workers and the JVM together: the fixed part of a run is what the arrival
of 1,000 took, the rest of what the second one took is put on its events. They hardly depend on how busy the machine
is; they do on what it is."""


def measure_sizes(settings: Settings, folder: Path, *, events: int) -> Sizes:
    """Weigh everything in a lake of two arrivals of ``events``."""
    lake, landing = str(folder / "lake"), str(folder / "landing")
    settings = replace(settings, base_path=lake, landing_path=landing, max_events=2 * events)
    spec, total = load_lake_spec(settings.lake_spec), 2 * events + _SMALL
    spark = open_bench_session(settings, folder=folder, with_peers=False)
    life = {"total_events": total, "start": format_clock(_START), "end": format_clock(_END), "added_column_at": 0.0}
    run_job(None, settings, "generate", _START, events=events, **life)
    figures = dict(_weigh_landing(Path(settings.landing_path), events))
    _take_in(spark, settings, "first")
    run_job(None, settings, "generate", _START, events=events, resume=True)
    before = {table.name: _timeline(table.name, settings).newest or BEGINNING for table in spec.tables}
    large = _take_in(spark, settings, "second")
    written = {table: _written_since(instant, _timeline(table, settings)) for table, instant in before.items()}
    run_job(None, settings, "generate", _START, events=_SMALL, resume=True)
    small = _take_in(spark, settings, "small")
    for job, seconds in large.items():
        figures[f"{job}, fixed, processor s"] = small[job]
        figures[f"{job}, processor s a million events"] = (seconds - small[job]) / (events - _SMALL) * _MILLION
    figures |= _weigh_log(spark, spec, settings, total)
    for name, beside in _BESIDE.items():
        figures[f"{name}, bytes an event"] = _bytes_below(Path(settings.base_path) / beside) / total
    figures |= _compact(spark, spec, settings)
    tables = tuple(_weigh_table(spark, table, settings, *written[table]) for table in before)
    spark.stop()
    found = Sizes(title="What events and rows weigh", method=_METHOD, events=total, figures=figures, tables=tables)
    return replace(found, figures={**figures, WRITTEN_A_YEAR: _written_a_year(found, spec)})


def _written_a_year(found: Sizes, spec: LakeSpec) -> float:
    """By simulation with these weights, as docs/sizing.md: 10 GB a day in batches of five minutes, as shipped."""
    load = Load(gb_per_day=10.0, batch_minutes=5, weights=weights_of(asdict(found)))
    outcomes = list(simulate(load, spec, days=[365], advice=Advice(is_followed=False)))
    return Needs.of(load, outcomes, spec.log).written_so_far


def _weigh_landing(folder: Path, events: int) -> Iterator[tuple[str, float]]:
    texts = [file.read_bytes() for file in folder.rglob("*.jsonl")]
    yield "landing, bytes an event", sum(map(len, texts)) / events
    yield "landing gzip, bytes an event", sum(len(gzip.compress(text, 6)) for text in texts) / events
    files = Filesystem(str(folder))
    with processor_seconds() as taken:
        for entry in files.list_files(recursive=True):
            scan_file(files, ScanOrder(entry=entry, before=None, records=events))
    yield "scan of landing files in the driver, MB a processor s", sum(map(len, texts)) / 1e6 / taken["seconds"]


def _take_in(spark: SparkSession, settings: Settings, which: str) -> dict[str, float]:
    """Processor seconds by job."""
    seconds = {}
    for job in ("ingest", "split"):
        with stage(f"{job} of the {which} arrival"), processor_seconds() as taken:
            run_job(spark, settings, job, _END)
        seconds[job] = taken["seconds"]
    return seconds


def _weigh_log(spark: SparkSession, spec: LakeSpec, settings: Settings, total: int) -> Mapping[str, float]:
    """The log as it was committed and after clustering."""
    before, seconds = _read_bytes(log_layout(spec), settings), _serve(spark, settings, spec.log, Service.CLUSTERING)
    return {
        "log as committed, bytes an event": before / total,
        "log clustered, bytes an event": _read_bytes(log_layout(spec), settings) / total,
        "clustering, processor s a GB": seconds / before * _GB,
    }


def _compact(spark: SparkSession, spec: LakeSpec, settings: Settings) -> Mapping[str, float]:
    """Compact every table; the cost is that of the largest."""
    seconds = {}
    before = _read_bytes(table_layout(spec.table(SALES)), settings)
    for table in spec.tables:
        seconds[table.name] = _serve(spark, settings, table.name, Service.COMPACTION)
    return {"compaction, processor s a GB": seconds[SALES] / before * _GB}


def _serve(spark: SparkSession, settings: Settings, table: str, service: Service) -> float:
    with stage(f"{service.value} of {table}"), processor_seconds() as taken:
        run_job(spark, settings, "services", _END, action="run", table=table, service=service.value, all=True)
    return taken["seconds"]


def _weigh_table(
    spark: SparkSession, table: str, settings: Settings, changed_rows: int, changed_bytes: int
) -> TableSize:
    rows = spark.read.format("hudi").load(settings.table_path(table)).count()
    layout = table_layout(load_lake_spec(settings.lake_spec).table(table))
    return TableSize(
        table=table,
        rows=rows,
        row_bytes=_read_bytes(layout, settings) / rows,
        changed_rows=changed_rows,
        changed_row_bytes=changed_bytes / changed_rows,
    )


def _written_since(instant: Instant, timeline: Timeline) -> tuple[int, int]:
    """Rows and bytes that the commits since then wrote."""
    writes = timeline.writes_in(InstantRange(after=instant, up_to=timeline.newest or instant))
    return sum(map(timeline.rows_written, writes)), sum(map(timeline.bytes_written, writes))


def _timeline(table: str, settings: Settings) -> Timeline:
    return Timeline(table=table, path=settings.table_path(table))


def _read_bytes(layout: TableLayout, settings: Settings) -> int:
    return sum(TableState.look(layout, settings.table_path(layout.name)).read_bytes().values())


def _bytes_below(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
