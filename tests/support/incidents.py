"""A lake on which all is well, and incidents on it, by the files that the code leaves in each: nothing needs a JVM.

Commits of the log, of units and of sales ten minutes ago, what was delivered is ingested, everybody has read it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.instants import Instant
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.verdicts import Outcome, Verdict
from spark_jobs.storage.consumers import SPLIT, ConsumerRegistry, ConsumerState
from spark_jobs.storage.doctor.findings import Ailment
from spark_jobs.storage.lake_names import make_lake
from tests.support.glue_api import GlueApi
from tests.support.seen_lakes import START, SeenLake, expectation, minute

QUARANTINE = ("record_hash", "reason", "state", "ingest_time")


def healthy_lake(folder: Path, *, age: int = 10, event_age: int | None = None) -> SeenLake:
    """The lake of the module's docstring; its commits and its newest event are so many minutes old."""
    lake = SeenLake(folder)
    make_lake(lake.spec.lake, lake.settings, may_adopt=True)
    (folder / "landing").mkdir(exist_ok=True)
    event_age = age if event_age is None else event_age
    newest = format_clock(datetime.now(UTC) - timedelta(minutes=event_age))
    log = lake.write("sales_log", ago(age), rows=10, newest_event_time=newest)
    for table in ("units", "sales", "agents"):
        lake.write(table, ago(age), action="deltacommit", read={"sales_log": log})
        lake.table(table).base("f-0", int(minute(ago(age))), size=1000)
    state = ConsumerState(checkpoints={"sales_log": log}, tables=dict.fromkeys(("units", "sales", "agents"), log))
    ConsumerRegistry(lake.settings.base_path).write(SPLIT, state, START)
    return lake


def ago(minutes: int) -> int:
    """So many minutes before now, in minutes as the lake counts them."""
    return int((datetime.now(UTC) - START).total_seconds() // 60) - minutes


def make_old(path: Path, minutes: int) -> None:
    """Let a file be of so many minutes ago."""
    moment = (datetime.now(UTC) - timedelta(minutes=minutes)).timestamp()
    os.utime(path, (moment, moment))


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """What happens to a healthy lake, and where its cause is found: on which table, as what, with which words."""

    stage: Callable[[SeenLake, pytest.MonkeyPatch], object]
    table: str
    ailment: Ailment
    says: str
    runbook: str


def _late_source(lake: SeenLake, _: pytest.MonkeyPatch) -> None:
    newest = format_clock(datetime.now(UTC) - timedelta(days=4))
    log = lake.write("sales_log", ago(8), newest_event_time=newest)
    read_all(lake, log)


def _flood(lake: SeenLake, _: pytest.MonkeyPatch) -> None:
    write_quarantine(lake, 1_200)


def _stuck(lake: SeenLake, _: pytest.MonkeyPatch) -> None:
    lake.table("sales").pending(int(minute(ago(9))), "deltacommit")


def _behind(lake: SeenLake, _: pytest.MonkeyPatch) -> None:
    """It read the first of 130 commits of units."""
    first = lake.write("units", ago(400), action="deltacommit")
    for number in range(130):
        lake.write("units", ago(399 - number), action="deltacommit")
    lake.consumer("report", units=first)


def _held(lake: SeenLake, _: pytest.MonkeyPatch) -> None:
    verdict = Verdict(expectation=expectation("sales", "id"), checked=5, broken=1, outcome=Outcome.STOPPED)
    instant = minute(ago(10))
    Holds(lake.settings).hold("sales", "validate", [verdict], START, instant=instant)


def _stale(lake: SeenLake, patch: pytest.MonkeyPatch) -> None:
    """A catalog is set, and the table has had commits with columns for three hours."""
    patch.setenv("LAKEHOUSE_CATALOG", "glue")
    lake.commit("agents", ago(180), action="deltacommit", extraMetadata={"schema": _SCHEMA})


def _small_files(lake: SeenLake, _: pytest.MonkeyPatch) -> None:
    for number in range(32):
        lake.table("sales_log").base(f"f-{number}", int(minute(ago(10))), partition="event_date=2026-01-01")


def _version(lake: SeenLake, _: pytest.MonkeyPatch) -> None:
    (lake.table("agents").folder / ".hoodie/hoodie.properties").write_text("hoodie.table.version=9\n")


def _dead_driver(lake: SeenLake, _: pytest.MonkeyPatch) -> None:
    instant = minute(ago(9))
    lake.table("sales").pending(int(instant), "deltacommit")
    beat = lake.table("sales").folder / ".hoodie/.heartbeat" / instant
    beat.parent.mkdir()
    beat.touch()
    make_old(beat, 8)


def _full_disk(lake: SeenLake, patch: pytest.MonkeyPatch) -> None:
    fill_disk(patch, free=10_000_000)


INCIDENTS = {
    "late source": Incident(
        stage=_late_source,
        table="sales_log",
        ailment=Ailment.SILENT,
        says="no event is newer than",
        runbook="freshness",
    ),
    "quarantine flood": Incident(
        stage=_flood,
        table="quarantine",
        ailment=Ailment.QUARANTINE,
        says="1,200 records are open, 1,200 of them not_json",
        runbook="quarantine",
    ),
    "stuck instant": Incident(
        stage=_stuck, table="sales", ailment=Ailment.PENDING_WRITE, says="did not end", runbook="stuck-instant"
    ),
    "consumer behind": Incident(
        stage=_behind,
        table="units",
        ailment=Ailment.CONSUMER_BEHIND,
        says="consumer report is 131 commits behind",
        runbook="consumer",
    ),
    "held table": Incident(
        stage=_held, table="sales", ailment=Ailment.HELD, says="1 of 5 rows broke it", runbook="held"
    ),
    "stale catalog": Incident(
        stage=_stale, table="agents", ailment=Ailment.CATALOG, says="the catalog lacks", runbook="catalog"
    ),
    "small files": Incident(
        stage=_small_files, table="sales_log", ailment=Ailment.SMALL_FILES, says="32 files below", runbook="small-files"
    ),
    "wrong table version": Incident(
        stage=_version, table="agents", ailment=Ailment.VERSION, says="is of version 9", runbook="table-version"
    ),
    "dead driver": Incident(
        stage=_dead_driver, table="sales", ailment=Ailment.DEAD_WRITER, says="last heartbeat", runbook="dead-driver"
    ),
    "full disk": Incident(
        stage=_full_disk, table="", ailment=Ailment.DISK, says="MB are free where the lake is", runbook="full-disk"
    ),
}


def write_quarantine(lake: SeenLake, records: int) -> None:
    """A quarantine with so many open records, in one base file, as Hudi's Rust reader reads it."""
    import pyarrow as pa
    from pyarrow import parquet

    table, instant = lake.table("quarantine"), minute(ago(7))
    at = datetime.now(UTC)
    hashes = [f"{number:064x}" for number in range(records)]
    columns: dict[str, Any] = {
        "_hoodie_commit_time": pa.array([instant] * records),
        "_hoodie_commit_seqno": pa.array([f"{instant}_0_{number}" for number in range(records)]),
        "_hoodie_record_key": pa.array(hashes),
        "_hoodie_partition_path": pa.array([""] * records),
        "_hoodie_file_name": pa.array([f"f_0-1-2_{instant}.parquet"] * records),
        "record_hash": pa.array(hashes),
        "reason": pa.array(["not_json"] * records),
        "detail": pa.array(["line"] * records),
        "raw": pa.array([b"{"] * records),
        "ingest_time": pa.array([at] * records, pa.timestamp("us", tz="UTC")),
        "state": pa.array([None] * records, pa.string()),
    }
    name = f"f-0_0-1-2_{instant}.parquet"
    parquet.write_table(pa.table(columns), table.folder / name)
    kinds = {"raw": "bytes", "ingest_time": {"type": "long", "logicalType": "timestamp-micros"}}
    fields = [
        {"name": each, "type": ["null", kinds.get(each, "string")], "default": None}
        for each in columns
        if not each.startswith("_")
    ]
    schema = json.dumps({"type": "record", "name": "quarantine", "fields": fields})
    size = (table.folder / name).stat().st_size
    stat = {"fileId": "f-0", "path": name, "numWrites": records, "numInserts": records, "fileSizeInBytes": size}
    stat |= {"partitionPath": "", "prevCommit": "null", "totalWriteBytes": size}
    lake.commit(
        "quarantine",
        ago(7),
        action="deltacommit",
        partitionToWriteStats={"": [stat]},
        extraMetadata={"schema": schema},
        operationType="UPSERT",
        compacted=False,
    )
    own = {
        "hoodie.table.name": "quarantine",
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.table.version": "6",
        "hoodie.timeline.layout.version": "1",
        "hoodie.table.base.file.format": "PARQUET",
        "hoodie.table.recordkey.fields": "record_hash",
        "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        "hoodie.populate.meta.fields": "true",
    }
    text = "".join(f"{key}={value}\n" for key, value in own.items())
    (table.folder / ".hoodie/hoodie.properties").write_text(text)


def fill_disk(patch: pytest.MonkeyPatch, *, free: int) -> None:
    """Let the operating system say that the disk has so many bytes left."""
    real = shutil.disk_usage

    def usage(path: str) -> Any:
        return real(path)._replace(free=free)

    patch.setattr(shutil, "disk_usage", usage)


@contextmanager
def catalog_of(api: GlueApi, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let clients of AWS find this catalog."""
    with patch.context() as own:
        for name, value in api.environment.items():
            own.setenv(name, value)
        yield


def read_all(lake: SeenLake, log: Instant) -> None:
    """What a run of split leaves that found nothing for any table."""
    registry = ConsumerRegistry(lake.settings.base_path)
    before = registry.read(SPLIT)
    registry.write(SPLIT, ConsumerState(checkpoints={"sales_log": log}, tables=before.tables), START)


_SCHEMA = json.dumps(
    {"type": "record", "name": "agents", "fields": [{"name": "agent_id", "type": ["null", "long"], "default": None}]}
)
