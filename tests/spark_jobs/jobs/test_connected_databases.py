"""PostgreSQL and MariaDB through Debezium, Kafka Connect and a broker into the lake: it equals the source.

On the way the worker of Connect is killed and sends again what it had sent, the broker is restarted, columns are added,
and ingest takes a few at a time. PostgreSQL's records come without schemas, MariaDB's with them.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from local_stack.databases import MariaDB, PostgreSQL, Server, running
from local_stack.kafka import KafkaBroker
from local_stack.kafka_connect import ConnectWorker, connector_of
from local_stack.services import RunFolder, free_port
from tests.support.expecting_lakes import make_expecting_lake
from tests.support.kafka import running_kafka
from tests.support.kafka_lakes import KafkaLake
from tests.support.processes import wait_until
from tests.support.sales_sources import SalesSource

pytestmark = [pytest.mark.hudi, pytest.mark.services, pytest.mark.timeout(900)]

STATEMENTS = 1_000
"""In each of the parts, between which something happens."""
COLUMNS = {
    "UnitId": "unit_id",
    "StatusId": "status_id",
    "ContractSubtotal": "contract_subtotal",
    "ContractSigningDate": "contract_signing_date",
    "AgentId": "agent_id",
    "CustomerId": "customer_id",
}


@dataclass(frozen=True, kw_only=True)
class Chain:
    """A broker and a worker of Connect."""

    broker: KafkaBroker
    worker: ConnectWorker

    def kill_worker(self) -> None:
        service = self.worker.folder.find("connect")
        assert service is not None
        os.killpg(service.pid, signal.SIGKILL)
        wait_until(lambda: not service.is_alive, "the worker is gone")

    def restart_broker(self) -> None:
        assert self.broker.folder.stop_all() == ["kafka"]
        self.broker.start()


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    broker_path, worker_path = tmp_path_factory.mktemp("kafka"), tmp_path_factory.mktemp("connect")
    with running_kafka(broker_path) as broker:
        worker = ConnectWorker(folder=RunFolder(worker_path), kafka=broker.address)
        with worker.folder.stopping():
            worker.start()
            yield Chain(broker=broker, worker=worker)


def make_lake(spark: SparkSession, folder: Path, chain: Chain, topics: str) -> KafkaLake:
    """A lake that reads topics of one connector alone."""
    spec = Path(make_expecting_lake(spark, folder, {}).settings.lake_spec)
    text = spec.read_text(encoding="utf-8")
    assert '["*.SALES", "SALES"]' in text
    spec.write_text(text.replace('["*.SALES", "SALES"]', f'["{topics}"]'), encoding="utf-8")
    return KafkaLake(spark=spark, folder=folder, servers=chain.broker.address, spec=str(spec))


def take_in_up_to(lake: KafkaLake, source: SalesSource) -> None:
    """Mark the end of what was changed, and take in and split until the mark is in the log."""
    mark = source.add_mark()

    def has_come() -> bool:
        while lake.run("ingest", max_events=700).counters["has_more"]:
            pass
        lake.run("split")
        return mark in {row["sale_id"] for row in lake.rows("sales_log")}

    wait_until(has_come, "what was changed is in the log", limit_seconds=180.0)


def live_sales(rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {row["sale_id"]: {name: row[name] for name in COLUMNS.values()} for row in rows if not row["is_deleted"]}


@pytest.mark.parametrize("kind", [PostgreSQL, MariaDB])
def test_the_lake_equals_the_source_whatever_happens_on_the_way(spark, tmp_path, chain, kind: type[Server]):
    with running(kind(port=free_port())) as server:
        source = SalesSource(server, seed=7)
        source.change(STATEMENTS)
        prefix = f"erp-{server.name}"
        own = {"topic_prefix": prefix}
        if kind is MariaDB:
            own |= {
                "value_converter": "org.apache.kafka.connect.json.JsonConverter",
                "value_converter_schemas_enable": "true",
            }
        configuration = connector_of(
            server, database=source.database, tables=source.tables, kafka=chain.broker.address, **own
        )
        chain.worker.run(server.name, configuration)
        lake = make_lake(spark, tmp_path, chain, f"{prefix}.*")
        # One that is lost before it is past its snapshot takes another: what was deleted in between, nobody tells.
        wait_until(lambda: chain.worker.is_past_snapshot(server.name), "the snapshot is taken")
        source.change(STATEMENTS // 2)
        chain.kill_worker()
        source.change(STATEMENTS // 2)
        chain.worker.start()
        take_in_up_to(lake, source)
        source.add_columns()
        chain.restart_broker()
        source.change(STATEMENTS)
        take_in_up_to(lake, source)
        expected = {
            key: {name: row.get(column) for column, name in COLUMNS.items()} for key, row in source.rows().items()
        }
        chain.worker.remove(server.name)
    assert len(expected) > STATEMENTS // 4
    assert live_sales(lake.rows("sales")) == expected
    assert live_sales(lake.rows_of_rust_reader("sales")) == expected
    assert lake.rows("quarantine") == []
    before = lake.instants()
    assert [lake.run(job).status for job in ("ingest", "split")] == ["nothing_to_do"] * 2
    assert lake.instants() == before
