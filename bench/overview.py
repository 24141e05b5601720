"""The page of a lake: what is read for it of two hundred tables with ten thousand instants, first and again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median

from bench.report import Figures
from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.instants import Instant, format_instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.cache import LakeCache
from spark_jobs.overview.findings import findings_of_reading
from spark_jobs.overview.lake import overview_of, read_lake
from spark_jobs.overview.tables import table_detail
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.consumers import SPLIT, ConsumerRegistry, ConsumerState
from spark_jobs.storage.layouts import all_layouts
from spark_jobs.storage.writer import BUCKETS_KEY

TABLES, INSTANTS, FILES = 200, 10_000, 8
AIM = 300.0
_START = datetime(2026, 1, 1, tzinfo=UTC)
_METHOD = f"""\
A lake of {TABLES} tables with {INSTANTS:,} instants in total, each of three files, and {FILES} data files a table, on a
local disk; half of the tables have a commit of the log to read. Medians of the rounds, in one process that has imported
everything, with what is wrong; no page is rendered.

* first: nothing is known of the lake, as after a start of the API server.
* again: nothing has changed since.
* after a commit: one table has one more.
* one table: its page, with the columns and results of all its commits."""


def measure_overview(settings: Settings, folder: Path, *, rounds: int) -> Figures:
    """Milliseconds of each way to look at the lake."""
    settings = replace(settings, base_path=str(folder / "lake"), landing_path=str(folder / "landing"))
    spec = _spec(settings)
    _make_lake(spec, settings)
    now = _START + timedelta(days=30)
    ways: dict[str, list[float]] = {"first": [], "again": [], "after a commit": [], "one table": []}
    name = spec.tables[1].name
    for number in range(rounds):
        cache = LakeCache()
        look = partial(_look, spec, settings, now, cache)
        ways["first"].append(_milliseconds(look))
        ways["again"].append(_milliseconds(look))
        _commit(settings, spec.tables[0].name, INSTANTS // TABLES + number, {})
        ways["after a commit"].append(_milliseconds(look))
        ways["one table"].append(_milliseconds(partial(_look, spec, settings, now, cache, name)))
    return Figures(
        title="Looking at a lake",
        method=_METHOD,
        what="milliseconds to read",
        unit="ms",
        values={name: median(found) for name, found in ways.items()},
        aims=dict.fromkeys(ways, AIM),
    )


def _look(spec: LakeSpec, settings: Settings, now: datetime, cache: LakeCache, table: str = "") -> object:
    """What the page of a lake, or of one of its tables, shows."""
    reading = read_lake(spec, settings, now, cache=cache)
    shown = table_detail(reading, table) if table else overview_of(reading)
    return shown, findings_of_reading(reading)


def _milliseconds(look: Callable[[], object]) -> float:
    began = time.perf_counter()
    look()
    return (time.perf_counter() - began) * 1000


def _spec(settings: Settings) -> LakeSpec:
    """The shipped lake's tables over and over, without marts."""
    shipped = load_lake_spec(settings.lake_spec)
    bare = replace(shipped, marts=(), expectations=(), table_services=())
    more = (replace(bare.tables[0], name=f"units_{number}") for number in range(TABLES - len(bare.table_names)))
    return replace(bare, tables=(*bare.tables, *more))


def _make_lake(spec: LakeSpec, settings: Settings) -> None:
    each = INSTANTS // TABLES
    for layout in all_layouts(spec):
        for number in range(each):
            up_to = _instant(number - len(layout.name) % 2)
            _commit(settings, layout.name, number, {"lakehouse.checkpoint." + spec.log: up_to})
        for number in range(FILES):
            path = Path(settings.table_path(layout.name), f"{number:08d}-0_0-1-2_{_instant(number)}.parquet")
            path.write_bytes(b"x" * 100)
    place = _instant(each - 2)
    state = ConsumerState(checkpoints={spec.log: place})
    ConsumerRegistry(settings.base_path).write(SPLIT, state, _START)


def _commit(settings: Settings, table: str, number: int, metadata: dict[str, str]) -> None:
    folder = Path(settings.table_path(table), ".hoodie")
    if not folder.exists():
        folder.mkdir(parents=True)
        (folder / "hoodie.properties").write_text("hoodie.table.version=6\nhoodie.table.type=COPY_ON_WRITE\n")
    ended = int((_START + timedelta(minutes=number, seconds=30)).timestamp()) * 10**9
    for name, content in _files(number, metadata):
        (folder / name).write_text(content)
        os.utime(folder / name, ns=(ended, ended))


def _files(number: int, metadata: dict[str, str]) -> Iterator[tuple[str, str]]:
    stats = [
        {"fileId": f"{at:08d}-0", "path": f"{at}.parquet", "numInserts": 5, "totalWriteBytes": 100}
        for at in range(FILES)
    ]
    extra = {
        BUCKETS_KEY: "1",
        "lakehouse.newest_event_time": format_clock(_START + timedelta(minutes=number)),
        **metadata,
    }
    content = {"operationType": "UPSERT", "partitionToWriteStats": {"": stats}, "extraMetadata": extra}
    instant = _instant(number)
    yield f"{instant}.deltacommit.requested", ""
    yield f"{instant}.deltacommit.inflight", ""
    yield f"{instant}.deltacommit", json.dumps(content)


def _instant(number: int) -> Instant:
    return format_instant(_START + timedelta(minutes=number))
