"""A lake of the shipped spec made by hand, for what is shown of lakes: nothing in it needed a JVM.

Minutes of 2026-01-01 UTC. The log has commits at 00:01, 00:03 and 00:05; units were merged up to 00:03 at 00:04, with a
base file of 1,000 bytes and two log files of 10 over it, and a compaction is planned at 00:06; customers are held; the
mart fast_daily_deals read units' neighbours never, sales up to 00:04. The consumer ``audit`` is at 00:01 of the log,
``lost`` at a place that the log has no more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.instants import Instant, format_instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.expectations import Action, Expectation, Kind
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.verdicts import Outcome, Verdict, to_metadata
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState
from spark_jobs.storage.layouts import all_layouts
from tests.support.made_tables import MadeTable

SPEC = load_lake_spec(Settings().lake_spec)
START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = START + timedelta(minutes=30)
Places = Mapping[str, str]
NOWHERE: Places = {}
MART = "fast_daily_deals"
RUN = "0123456789abcdef0123456789abcdef"


def minute(number: int) -> Instant:
    """The instant of a minute."""
    return format_instant(START + timedelta(minutes=number))


@dataclass
class SeenLake:
    """A lake below a folder; each call writes one more commit."""

    folder: Path
    spec: LakeSpec = SPEC
    made: dict[str, MadeTable] = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        return Settings(base_path=str(self.folder / "lake"), landing_path=str(self.folder / "landing"))

    def table(self, name: str) -> MadeTable:
        if name not in self.made:
            layout = next(layout for layout in all_layouts(self.spec) if layout.name == name)
            self.made[name] = MadeTable(layout, self.folder / "lake" / name)
        return self.made[name]

    def write(
        self, table: str, at: int, *, action: str = "commit", rows: int = 1, read: Places = NOWHERE, **metadata: str
    ) -> Instant:
        """A write of rows, with what it had read up to which place."""
        places = {f"lakehouse.checkpoint.{source}": place for source, place in read.items()}
        extra = {f"lakehouse.{name}": value for name, value in metadata.items()} | places
        stat = {"fileId": "f", "path": f"f_{at}.parquet", "numInserts": rows, "totalWriteBytes": 100}
        content: dict[str, Any] = {"extraMetadata": extra, "operationType": "UPSERT"}
        content["partitionToWriteStats"] = {"": [stat]}
        return self.commit(table, at, action=action, **content)

    def commit(self, table: str, at: int, *, action: str = "commit", **content: Any) -> Instant:
        """A commit with this content, whose file is of half a minute later."""
        self.table(table).commits(int(minute(at)), action=action, **content)
        ended = int((START + timedelta(minutes=at, seconds=30)).timestamp()) * 10**9
        os.utime(self.table(table).folder / ".hoodie" / f"{minute(at)}.{action}", ns=(ended, ended))
        return minute(at)

    def consumer(self, name: str, **places: Instant) -> None:
        ConsumerRegistry(self.settings.base_path).write(name, ConsumerState(checkpoints=places), START)


def empty_lake(folder: Path) -> SeenLake:
    """No job has run."""
    return SeenLake(folder)


def seen_lake(folder: Path) -> SeenLake:
    """The lake of the module's docstring."""
    lake = SeenLake(folder)
    for at in (1, 3, 5):
        quality = to_metadata({"read": 12, "written": 10, "quarantined": 2}, ())
        newest = format_clock(START + timedelta(minutes=at))
        lake.write("sales_log", at, rows=10, newest_event_time=newest, quality=quality)
    at_three = {"sales_log": minute(3)}
    lake.write("units", 2, action="deltacommit", rows=2, read={"sales_log": minute(1)})
    lake.write("units", 4, action="deltacommit", rows=3, run=RUN, read=at_three)
    lake.write("sales", 4, action="deltacommit", rows=7, run=RUN[::-1], read=at_three)
    lake.table("units").base("f-0", int(minute(2)), size=1000).logs("f-0", int(minute(2)), 2, size=10)
    lake.table("units").pending(int(minute(6)), "compaction")
    failed = Verdict(expectation=expectation(MART, "deals_are_few"), checked=9, broken=4, outcome=Outcome.WARNED)
    quality = to_metadata({"written": 9}, [failed])
    clock = format_clock(START + timedelta(minutes=7))
    lake.write(MART, 7, quality=quality, clock=clock, read={"sales": minute(4)})
    stopped = Verdict(expectation=expectation("customers", "id"), checked=5, broken=1, outcome=Outcome.STOPPED)
    Holds(lake.settings).hold("customers", "split", [stopped], START)
    lake.consumer("split", sales_log=minute(3))
    lake.consumer("audit", sales_log=minute(1))
    lake.consumer("lost", sales_log=minute(0))
    return lake


def expectation(table: str, name: str) -> Expectation:
    """One about rows that are not null."""
    return Expectation(table=table, name=name, kind=Kind.NOT_NULL, columns=("id",), action=Action.STOP)


def rollback(lake: SeenLake, table: str, at: int) -> None:
    """A completed rollback on the table's timeline."""
    name = f"{minute(at)}.rollback"
    (lake.table(table).folder / ".hoodie" / name).write_text(json.dumps({}))
