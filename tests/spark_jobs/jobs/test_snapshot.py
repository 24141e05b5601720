"""snapshot of a table in a real database: the lake equals it, and what was changed later wins, and nothing earlier.

Fixture: a table SALES of some hundred rows, changed at random. The types that a database has are tried in
snapshot/test_values.py.
"""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from pyspark.sql import SparkSession

from local_stack.servers.databases import PASSWORD, MariaDB, Server, running
from local_stack.servers.ports import free_port
from spark_jobs.contracts.errors import ContractError, LakehouseError, SettingsError, TransientError
from tests.support.envelopes import START_MS, Envelope, envelope, line
from tests.support.expecting_lakes import make_expecting_lake
from tests.support.sales_sources import SalesSource
from tests.support.snapshots import SnapshotLake, jdbc_url

pytestmark = [pytest.mark.hudi, pytest.mark.services, pytest.mark.timeout(600)]

COLUMNS = {
    "UnitId": "unit_id",
    "StatusId": "status_id",
    "ContractSubtotal": "contract_subtotal",
    "ContractSigningDate": "contract_signing_date",
    "AgentId": "agent_id",
}


@pytest.fixture(params=["postgresql", pytest.param("mariadb", marks=pytest.mark.slice(name="databases"))])
def source(request: pytest.FixtureRequest) -> SalesSource:
    source = SalesSource(request.getfixturevalue(request.param), seed=11)
    source.change(400)
    return source


def make_lake(spark: SparkSession, folder: Path, server: Server, database: str) -> SnapshotLake:
    spec = Path(make_expecting_lake(spark, folder, {}).settings.lake_spec)
    return SnapshotLake(spark=spark, folder=folder, spec=spec, url=jdbc_url(server, database))


def live_sales(rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {row["sale_id"]: {name: row[name] for name in COLUMNS.values()} for row in rows if not row["is_deleted"]}


def rows_of(source: SalesSource) -> dict[int, dict[str, Any]]:
    return {key: {name: row[column] for column, name in COLUMNS.items()} for key, row in source.rows().items()}


def change_of(block: dict[str, Any], row: dict[str, Any], *, bytes_later: int) -> Envelope:
    """What the connector sends of a change, so many bytes of the database's log after the position of a snapshot."""
    place = "lsn" if "lsn" in block else "pos"
    changed = {**block, "snapshot": "false", "ts_ms": START_MS, place: block[place] + bytes_later}
    return envelope("u", row, changed)


def test_the_lake_equals_the_table_and_only_later_changes_win(spark, tmp_path, source):
    lake = make_lake(spark, tmp_path, source.server, source.database)
    expected, table = rows_of(source), source.tables
    options = {"partition_column": "SaleId", "parts": 5}
    # As many rows as two parts have, so that the run ends between two of its commits.
    first = lake.take(table, **options, max_rows=2 * len(expected) // 5 + 1, max_parts=3)
    begun = lake.snapshot(table)
    assert (begun.done, begun.parts, first.counters["has_more"]) == (3, 5, 1)
    assert len(lake.instants()["sales_log"]) == 2
    assert 0 < begun.read == first.counters["events_new"] < begun.expected == len(expected)

    rest = lake.take(table, max_rows=1_000)
    ended = lake.snapshot(table)
    assert ended.source == begun.source, "the same position, whenever it goes on"
    assert rest.counters["rows_read"] == len(expected) - begun.read, "parts that are in the lake are not read again"
    assert (ended.done, ended.read, rest.counters["has_more"]) == (5, len(expected), 0)
    lake.run("split")
    assert live_sales(lake.rows_by_spark("sales")) == expected
    assert live_sales(lake.rows("sales")) == expected
    assert lake.rows("quarantine") == []
    logged = [row["event_id"] for row in lake.rows("sales_log")]
    assert len(logged) == len(set(logged)) == len(expected)

    before = lake.instants()
    assert lake.take(table).status == "nothing_to_do"
    assert lake.instants() == before

    one, other = sorted(expected)[:2]
    changes = [
        change_of(dict(ended.source), {"SaleId": one, "UnitId": 1_001}, bytes_later=300),
        change_of(dict(ended.source), {"SaleId": other, "UnitId": 1_002}, bytes_later=-300),
    ]
    lake.land("changes.jsonl", map(line, changes), topic="erp.public.SALES")
    assert lake.run("ingest").counters["events_new"] == 2
    assert lake.snapshot(table) == ended, "ingest's commits carry on what was read"
    lake.run("split")
    expected[one]["unit_id"] = 1_001
    assert live_sales(lake.rows("sales")) == expected


def test_begun_again_it_brings_what_changed_since(spark, tmp_path, source):
    lake = make_lake(spark, tmp_path, source.server, source.database)
    lake.take(source.tables)
    before = lake.snapshot(source.tables)
    source.change(100)
    lake.take(source.tables, again=True, partition_column="SaleId")
    place = "lsn" if "lsn" in before.source else "pos"
    assert lake.snapshot(source.tables).source[place] > before.source[place]
    lake.run("split")
    sales = live_sales(lake.rows("sales"))
    expected = rows_of(source)
    assert {key: sales[key] for key in expected} == expected


def test_a_database_that_has_not_moved_is_not_read_once_more(spark, tmp_path, mariadb):
    """Its rows would be the same events. PostgreSQL's position moves when it is queried."""
    source = SalesSource(mariadb, seed=15)
    source.change(50)
    lake = make_lake(spark, tmp_path, mariadb, source.database)
    lake.take(source.tables)
    before = lake.instants()
    again = lake.take(source.tables, again=True)
    assert again.status == "nothing_to_do"
    assert any("where it was when its snapshot began" in message for message in again.messages)
    assert lake.instants() == before


def test_a_transaction_that_was_open_is_awaited_and_read(spark, tmp_path, postgresql):
    """Its change is before the position in the log, and would lose against the row as it was."""
    source = SalesSource(postgresql, seed=12)
    source.change(20)
    key = min(source.rows())
    lake = make_lake(spark, tmp_path, postgresql, source.database)
    engine = sa.create_engine(postgresql.url(source.database), poolclass=sa.NullPool)
    with engine.connect() as connection, connection.begin():  # the newest of all transactions
        connection.exec_driver_sql('UPDATE "SALES" SET "UnitId" = 77 WHERE "SaleId" = %s', (key,))
        reader = threading.Thread(target=lake.take, args=(source.tables,))
        reader.start()
        time.sleep(5)
        assert reader.is_alive(), "it waits"
    reader.join()
    assert {row["sale_id"]: row["unit_id"] for row in lake.rows("sales_log")}[key] == 77


def test_ingest_goes_on_while_a_database_is_silent_and_the_snapshot_gives_up(spark, tmp_path):
    """A port that takes connections and never answers: no lease is held meanwhile, and the wait has an end."""
    spec = Path(make_expecting_lake(spark, tmp_path, {}).settings.lake_spec)
    failed: list[LakehouseError] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"jdbc:postgresql://127.0.0.1:{silent.getsockname()[1]}/erp?loginTimeout=15"
        lake = SnapshotLake(spark=spark, folder=tmp_path, spec=spec, url=url)

        def take() -> None:
            try:
                lake.take("public.SALES")
            except LakehouseError as error:
                failed.append(error)

        reader = threading.Thread(target=take)
        reader.start()
        time.sleep(2)
        assert lake.run("ingest").status == "nothing_to_do"
        assert reader.is_alive(), "ingest was done while the snapshot still waited"
        reader.join(timeout=60)
    assert [type(error) for error in failed] == [TransientError]


def test_an_empty_table_is_read_once_too(spark, tmp_path, postgresql):
    source = SalesSource(postgresql, seed=14)
    lake = make_lake(spark, tmp_path, postgresql, source.database)
    first = lake.take(source.tables, partition_column="SaleId", parts=3)
    assert (first.status, first.counters["rows_read"], first.counters["has_more"]) == ("done", 0, 0)
    assert lake.take(source.tables).status == "nothing_to_do"
    assert lake.rows("sales_log") == []


def refusal(error: type[LakehouseError], lake: SnapshotLake, table: str, **options: Any) -> str:
    with pytest.raises(error) as caught:
        lake.take(table, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert PASSWORD not in message
    assert lake.password not in message
    return message


def test_what_cannot_be_read_is_one_line(spark, tmp_path, source):
    server, table = source.server, source.tables
    lake = make_lake(spark, tmp_path, server, source.database)
    at = jdbc_url(server, source.database)
    schema = table.partition(".")[0]

    def another(url: str = at, password: str = PASSWORD) -> SnapshotLake:
        return SnapshotLake(spark=spark, folder=tmp_path, spec=lake.spec, url=url, password=password)

    assert "has no such table" in refusal(ContractError, lake, f"{schema}.NOTHING")
    assert "refuses access" in refusal(SettingsError, another(password="not-it"), table)
    nowhere = another(jdbc_url(server, source.database, port=free_port()))
    assert "does not answer" in refusal(TransientError, nowhere, table)
    assert "refuses access" in refusal(SettingsError, another(jdbc_url(server, "no_such_database")), table)
    assert "LAKEHOUSE_JDBC_URL is not set" in refusal(SettingsError, another(""), table)
    assert "has a login in it" in refusal(SettingsError, another(f"{at}?user=a&password=hidden-word"), table)
    assert "neither a number nor a date" in refusal(ContractError, lake, table, partition_column="UnitName")
    assert "has no such column" in refusal(ContractError, lake, table, partition_column="Nothing")
    assert lake.instants() == {}


def test_a_server_without_a_binlog_has_no_position(spark, tmp_path):
    with running(WithoutBinlog(port=free_port())) as server:
        source = SalesSource(server, seed=13)
        lake = make_lake(spark, tmp_path, server, source.database)
        assert "keeps no binlog" in refusal(SettingsError, lake, source.tables)


class WithoutBinlog(MariaDB):
    """As MariaDB's package leaves it."""

    def command(self) -> list[str]:
        return [word for word in super().command() if not word.startswith(("--log-bin", "--binlog"))]
