"""A real database followed into the lake: SQL in PostgreSQL or MariaDB, Debezium, Kafka, Airflow, and the result.

Everything runs on this machine, on free ports of the loopback interface, and is stopped at the end. Each statement is
timed from its commit at the source until readers of the lake see what it did. Then the source fails over to a dump.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from local_stack.console import say
from local_stack.demos.demo import Steps
from local_stack.demos.demo_report import format_table
from local_stack.demos.lake_view import read_with_rust
from local_stack.demos.live_failover import (
    FIRST,
    LOST,
    differences,
    open_epoch,
    restored,
    take_snapshot,
    turn_log,
)
from local_stack.demos.live_source import COMPARED, STATEMENTS, SalesTable, Statement
from local_stack.demos.live_values import Documents, follow
from local_stack.errors import SetupError
from local_stack.lakes import of_one_lake
from local_stack.servers.databases import MariaDB, PostgreSQL, Server, running
from local_stack.servers.dumps import dump
from local_stack.servers.kafka import KafkaBroker
from local_stack.servers.kafka_connect import NAME as KAFKA_CONNECT
from local_stack.servers.kafka_connect import ConnectWorker, connector_of
from local_stack.servers.ports import free_port
from local_stack.servers.services import RunFolder, run_path
from local_stack.servers.stack import Stack
from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.timeline import Timeline

EVERY_MINUTE = "* * * * *"
DATABASES: Mapping[str, type[Server]] = {"postgresql": PostgreSQL, "mariadb": MariaDB}
LIMIT_SECONDS = 300.0
_BEFORE = 500
"""Sales that are there before the connector is: its snapshot."""
_TABLE = "sales"
_CONNECTOR = "sales"


def run(argv: list[str]) -> int:
    """Start all, follow the statements and a failover, show the answers, stop all; 0 when all came as it should.

    Also a row of large values, which have to stay what they were when another column of it changes.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m local_stack live", description=__doc__)
    parser.add_argument("--database", choices=sorted(DATABASES), default="postgresql", help="the source")
    options = parser.parse_args(argv)
    steps, folder = Steps(), RunFolder(run_path(os.environ) / "live")
    if folder.running():
        raise SetupError(f"it runs already in {folder.path}; wait for it, or set LAKEHOUSE_RUN_PATH to another folder")
    with folder.stopping(), ExitStack() as opened:
        server = opened.enter_context(running(DATABASES[options.database](port=free_port())))
        turn_log(server)
        source = SalesTable(server)
        source.fill(_BEFORE)
        steps.report(f"{server.name} at port {server.port}, table SALES with {_BEFORE:,} sales")
        documents = Documents(server=server, database=source.database)
        documents.create()
        steps.report(f"table {documents.pattern} with a large value of {len(documents.columns)} types")
        worker = _start_kafka(folder)
        _connect(worker, source, documents, steps)
        environ = _environment(folder.path, worker.kafka)
        stack = Stack(folder.path, environ=environ)
        stack.airflow.forget_runs()
        stack.start(ingest_cron=EVERY_MINUTE)
        lake = _Lake(Settings.from_environment(environ))
        steps.report(f"Airflow at {stack.airflow.url}; ingest_sales runs every minute, the rest follows it")
        lake.wait_for(lambda rows: len(rows) == _BEFORE, "the snapshot is in the lake")
        steps.report(f"the lake has the {_BEFORE:,} sales of the snapshot")
        took = [_follow(each, source, lake, steps) for each in STATEMENTS]
        values = follow(documents, environ, folder.path)
        dumped = dump(server, source.database)
        steps.report("the source is dumped")
        took.append(_follow(LOST, source, lake, steps))
        worker.remove(_CONNECTOR)
        source = opened.enter_context(restored(source, dumped))
        steps.report("its server is gone; another one at its address has the dump")
        _connect(worker, source, documents, steps, is_restored=True)
        took.append(_follow(FIRST, source, lake, steps, meanwhile=lambda: open_epoch(environ, steps.report)))
        take_snapshot(source, environ)
        steps.report("read the source's table once more, for what the dump did not have any more")
        wrong = differences(source, lake.rows())
        rows = sorted(lake.rows().values(), key=lambda row: -row["sale_id"])[:4]
    shown = (*COMPARED, "is_deleted")
    print(f"\n{format_table(['statement', 'seconds until the lake shows it'], took)}\n", flush=True)
    print(
        f"newest rows of {_TABLE}:\n{format_table(shown, [[row[name] for name in shown] for row in rows])}", flush=True
    )
    print(f"\nlarge values after another column changed:\n{format_table(('column', 'value'), values)}\n", flush=True)
    for line in wrong:
        say(f"WRONG {line}")
    if not wrong:
        say("after the failover the lake has each sale as the restored source has it")
    say(f"the lake stays in {lake.settings.base_path}")
    return int(bool(wrong) or any(what not in ("kept", "null") for _, what in values))


@dataclass(frozen=True, slots=True)
class _Lake:
    """The lake's table of sales, as the Rust reader sees it."""

    settings: Settings

    def rows(self) -> dict[int, dict[str, Any]]:
        """By the id of their sale; none while the table is not made."""
        path = self.settings.table_path(_TABLE)
        found = read_with_rust(path) if Timeline(table=_TABLE, path=path).last else []
        return {row["sale_id"]: row for row in found}

    def wait_for(self, has_come: Callable[[Mapping[int, Mapping[str, Any]]], bool], what: str) -> None:
        """Look at it until it has something; TransientError when it does not come."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while time.monotonic() < deadline:
            if has_come(self.rows()):
                return
            time.sleep(1.0)
        raise TransientError(f"{what}: the lake does not show it after {LIMIT_SECONDS:.0f} s; look at Airflow's logs")


def _environment(folder: Path, kafka: str) -> dict[str, str]:
    """The variables of its lake, which is a new one in this folder."""
    kept = {name: value for name, value in of_one_lake(os.environ).items() if name != "LAKEHOUSE_SPARK_REMOTE"}
    return {
        **kept,
        "LAKEHOUSE_BASE_PATH": str(folder / f"lake-{datetime.now(UTC):%Y%m%dT%H%M%S}"),
        "LAKEHOUSE_LANDING_PATH": str(folder / "landing"),
        "LAKEHOUSE_KAFKA_SERVERS": kafka,
        "LAKEHOUSE_LAKE_SPEC": str(lake_spec_of(folder)),
    }


def lake_spec_of(folder: Path) -> Path:
    """The shipped lake's spec for a source that sends whole rows: null is a value there."""
    shipped = Path(Settings().lake_spec)
    document = yaml.safe_load(shipped.read_text(encoding="utf-8"))
    document["source"]["nulls"] = "value"
    for name in ("marts", "expectations"):
        document[name] = str((shipped.parent / document[name]).resolve())
    path = folder / "live.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    return path


def _start_kafka(folder: RunFolder) -> ConnectWorker:
    """Broker and worker."""
    for name in ("kafka", KAFKA_CONNECT):  # data of another database
        shutil.rmtree(folder.path / name, ignore_errors=True)
    broker = KafkaBroker(folder=folder)
    broker.start()
    worker = ConnectWorker(folder=folder, kafka=broker.address)
    worker.start()
    return worker


def _connect(
    worker: ConnectWorker, source: SalesTable, documents: Documents, steps: Steps, *, is_restored: bool = False
) -> None:
    """A connector for both tables; that of a restored source follows its changes alone, and has no history."""
    own = {"snapshot_mode": "no_data"} if is_restored else {}
    if is_restored and source.server.name == "mariadb":
        own["schema_history_internal_kafka_topic"] = "erp.schema-history-restored"
    tables = f"{source.pattern},{documents.pattern}"
    configuration = connector_of(source.server, database=source.database, tables=tables, kafka=worker.kafka, **own)
    worker.run(f"{_CONNECTOR}-restored" if is_restored else _CONNECTOR, configuration)
    steps.report(f"Kafka at {worker.kafka}, Kafka Connect at port {worker.port} with Debezium for {source.server.name}")


def _follow(
    statement: Statement,
    source: SalesTable,
    lake: _Lake,
    steps: Steps,
    *,
    meanwhile: Callable[[], None] = lambda: None,
) -> tuple[str, str]:
    """Run it at the source and wait until the lake shows it; gives the statement and the seconds it took.

    ``meanwhile`` is what a person has to do for that.
    """
    sql, begun = source.execute(statement), time.monotonic()
    steps.report(f"{statement.title}: {sql}")
    meanwhile()
    lake.wait_for(statement.has_come, statement.title)
    seconds = f"{time.monotonic() - begun:.1f}"
    steps.report(f"  the lake shows it after {seconds} s")
    return statement.title, seconds
