"""A real database followed into the lake: SQL in PostgreSQL or MariaDB, Debezium, Kafka, Airflow, and the result.

Everything runs on this machine, on free ports of the loopback interface, and is stopped at the end. Each statement is
timed from its commit at the source until readers of the lake see what it did.
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sa

from local_stack.console import say
from local_stack.demos.demo import Steps
from local_stack.demos.demo_report import format_table
from local_stack.demos.lake_view import Rows, read_with_rust
from local_stack.demos.live_values import COLUMNS, PATTERN, TABLE, Documents, follow
from local_stack.errors import SetupError
from local_stack.lakes import of_one_lake
from local_stack.servers.databases import MariaDB, PostgreSQL, Server, running
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is done at the source, and what the lake has then: the status of a sale, None for no such sale."""

    title: str
    sql: str
    sale: int
    status: int | None


STATEMENTS = (
    Statement(
        title="a sale is entered",
        sql="INSERT INTO {table} VALUES (900001, 77, 'Ada of sales', 5, 'unit 5', 1, 'reserved', 250000.5000, {now})",
        sale=900001,
        status=1,
    ),
    Statement(
        title="it is signed",
        sql="UPDATE {table} SET {status_id} = 4, {status_name} = 'signed' WHERE {sale_id} = 900001",
        sale=900001,
        status=4,
    ),
    Statement(title="another sale is deleted", sql="DELETE FROM {table} WHERE {sale_id} = 17", sale=17, status=None),
)


class SalesTable:
    """The ERP's table in a database of its own."""

    def __init__(self, server: Server) -> None:
        self.database = server.new_database()
        self._engine = sa.create_engine(server.url(self.database), poolclass=sa.NullPool)
        self._quote = self._engine.dialect.identifier_preparer.quote_identifier
        is_postgres = self._engine.dialect.name == "postgresql"
        self.pattern = "public.SALES" if is_postgres else f"{self.database}.SALES"
        moment = "timestamp" if is_postgres else "datetime(3)"
        types = {
            "SaleId": "bigint PRIMARY KEY",
            "AgentId": "bigint",
            "AgentName": "varchar(60)",
            "UnitId": "bigint",
            "UnitName": "varchar(60)",
            "StatusId": "bigint",
            "StatusName": "varchar(60)",
            "ContractSubtotal": "decimal(18,4)",
            "ContractSigningDate": moment,
        }
        columns = ", ".join(f"{self._quote(name)} {kind}" for name, kind in types.items())
        self._run(f"CREATE TABLE {self._quote('SALES')} ({columns})")
        self._table = sa.table("SALES", *map(sa.column, types))

    def fill(self, count: int) -> None:
        """Sales of a few agents, as they might be."""
        rows = [
            {
                "SaleId": n,
                "AgentId": n % 9,
                "AgentName": f"agent {n % 9}",
                "UnitId": n,
                "UnitName": f"unit {n}",
                "StatusId": 1 + n % 4,
                "StatusName": f"status {1 + n % 4}",
                "ContractSubtotal": n * 1000,
                "ContractSigningDate": datetime.now(UTC).replace(tzinfo=None, microsecond=0),
            }
            for n in range(1, count + 1)
        ]
        with self._engine.begin() as connection:
            connection.execute(sa.insert(self._table), rows)

    def execute(self, statement: Statement) -> str:
        """Run it and commit; gives the SQL."""
        names = {"sale_id": "SaleId", "status_id": "StatusId", "status_name": "StatusName", "table": "SALES"}
        quoted = {name: self._quote(of) for name, of in names.items()}
        sql = statement.sql.format(now=f"'{datetime.now(UTC):%Y-%m-%d %H:%M:%S}'", **quoted)
        self._run(sql)
        return sql

    def _run(self, sql: str) -> None:
        with self._engine.begin() as connection:
            connection.exec_driver_sql(sql)


def run(argv: list[str]) -> int:
    """Start all, follow three statements, show the answers, stop all; 0 when each came through.

    Of PostgreSQL also large values, which have to stay what they were when another column of their row changes.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m local_stack live", description=__doc__)
    parser.add_argument("--database", choices=sorted(DATABASES), default="postgresql", help="the source")
    options = parser.parse_args(argv)
    steps, folder = Steps(), RunFolder(run_path(os.environ) / "live")
    if folder.running():
        raise SetupError(f"it runs already in {folder.path}; wait for it, or set LAKEHOUSE_RUN_PATH to another folder")
    with folder.stopping(), running(DATABASES[options.database](port=free_port())) as server:
        source = SalesTable(server)
        source.fill(_BEFORE)
        steps.report(f"{server.name} at port {server.port}, table SALES with {_BEFORE:,} sales")
        documents = Documents(server=server, database=source.database) if server.name == "postgresql" else None
        if documents:
            documents.create()
            steps.report(f"table {TABLE} with a large value of {len(COLUMNS)} types")
        kafka = _start_kafka(folder, server, source, steps, also=[PATTERN] if documents else [])
        environ = {
            **{name: value for name, value in of_one_lake(os.environ).items() if name != "LAKEHOUSE_SPARK_REMOTE"},
            "LAKEHOUSE_BASE_PATH": str(folder.path / f"lake-{datetime.now(UTC):%Y%m%dT%H%M%S}"),
            "LAKEHOUSE_LANDING_PATH": str(folder.path / "landing"),
            "LAKEHOUSE_KAFKA_SERVERS": kafka,
        }
        stack = Stack(folder.path, environ=environ)
        stack.airflow.forget_runs()
        stack.start(ingest_cron=EVERY_MINUTE)
        settings = Settings.from_environment(environ)
        steps.report(f"Airflow at {stack.airflow.url}; ingest_sales runs every minute, the rest follows it")
        _wait_for(settings, lambda rows: len(rows) == _BEFORE, "the snapshot is in the lake")
        steps.report(f"the lake has the {_BEFORE:,} sales of the snapshot")
        took = [_follow(each, source, settings, steps) for each in STATEMENTS]
        values = follow(documents, environ, folder.path) if documents else []
        rows = sorted(read_with_rust(settings.table_path(_TABLE)), key=lambda row: -row["sale_id"])[:4]
    shown = ("sale_id", "agent_id", "status_id", "contract_subtotal", "is_deleted")
    print(f"\n{format_table(['statement', 'seconds until the lake shows it'], took)}\n", flush=True)
    print(
        f"newest rows of {_TABLE}:\n{format_table(shown, [[row[name] for name in shown] for row in rows])}", flush=True
    )
    if values:
        print(f"\nlarge values after another column changed:\n{format_table(('column', 'value'), values)}", flush=True)
    say(f"the lake stays in {settings.base_path}")
    return int(any(what != "kept" for _, what in values))


def _start_kafka(
    folder: RunFolder, server: Server, source: SalesTable, steps: Steps, *, also: Sequence[str] = ()
) -> str:
    """Broker, worker and connector; gives the broker's address."""
    for name in ("kafka", KAFKA_CONNECT):  # data of another database
        shutil.rmtree(folder.path / name, ignore_errors=True)
    broker = KafkaBroker(folder=folder)
    broker.start()
    worker = ConnectWorker(folder=folder, kafka=broker.address)
    worker.start()
    tables = ",".join([source.pattern, *also])
    configuration = connector_of(server, database=source.database, tables=tables, kafka=broker.address)
    worker.run("sales", configuration)
    steps.report(f"Kafka at {broker.address}, Kafka Connect at port {worker.port} with Debezium for {server.name}")
    return broker.address


def _follow(statement: Statement, source: SalesTable, settings: Settings, steps: Steps) -> tuple[str, str]:
    """Run it at the source and wait until the lake shows it; gives the statement and the seconds it took."""
    sql, begun = source.execute(statement), time.monotonic()
    steps.report(f"{statement.title}: {sql}")

    def has_come(rows: Rows) -> bool:
        of_sale = next((row for row in rows if row["sale_id"] == statement.sale), None)
        is_there = of_sale is not None and not of_sale["is_deleted"]
        return is_there == (statement.status is not None) and (
            not is_there or (of_sale or {})["status_id"] == statement.status
        )

    _wait_for(settings, has_come, statement.title)
    seconds = f"{time.monotonic() - begun:.1f}"
    steps.report(f"  the lake shows it after {seconds} s")
    return statement.title, seconds


def _wait_for(settings: Settings, is_there: Callable[[Rows], bool], what: str) -> None:
    """Look at the table of sales until it has something; TransientError when it does not come."""
    path, deadline = settings.table_path(_TABLE), time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        if Timeline(table=_TABLE, path=path).last and is_there(read_with_rust(path)):
            return
        time.sleep(1.0)
    raise TransientError(f"{what}: the lake does not show it after {LIMIT_SECONDS:.0f} s; look at Airflow's logs")
