"""PostgreSQL and MariaDB through Debezium, Kafka Connect and a broker into lakes: they equal the source.

Two lakes read the topics of one connector: one splits the wide log SALES, one mirrors two tables of a shop, with
columns of every kind. On the way the worker of Connect is killed and sends again what it had sent, the broker is
restarted, columns are added and widened, and ingest takes a few at a time. MariaDB's records come without schemas,
PostgreSQL's with them.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from local_stack.servers.databases import MariaDB, PostgreSQL, Server, running
from local_stack.servers.kafka import KafkaBroker
from local_stack.servers.kafka_connect import NAME, ConnectWorker, connector_of
from local_stack.servers.ports import free_port
from local_stack.servers.services import RunFolder
from tests.support.expecting_lakes import make_expecting_lake
from tests.support.kafka import running_kafka
from tests.support.kafka_lakes import KafkaLake
from tests.support.lakes import write_spec
from tests.support.processes import wait_until
from tests.support.sales_sources import SalesSource
from tests.support.shop_lakes import make_shop_lake, without_hidden
from tests.support.shop_sources import KEYS, ShopSource, as_read

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.hudi,
    pytest.mark.services,
    pytest.mark.timeout(1800),
    pytest.mark.slice(name="databases"),
]

STATEMENTS, SHOP_STATEMENTS = 800, 1_700
"""In each of the three parts, between which something happens: of the wide log, and of the shop's tables."""
COLUMNS = {
    "UnitId": "unit_id",
    "StatusId": "status_id",
    "ContractSubtotal": "contract_subtotal",
    "ContractSigningDate": "contract_signing_date",
    "AgentId": "agent_id",
    "CustomerId": "customer_id",
}


Rows = dict[tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Chain:
    """A broker and a worker of Connect."""

    broker: KafkaBroker
    worker: ConnectWorker

    def kill_worker(self) -> None:
        service = self.worker.folder.find(NAME)
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
    """A lake that reads topics of one connector alone, and knows the unit of MariaDB's times, which have six digits."""
    spec = make_expecting_lake(spark, folder, {}, tables=()).spec
    document = yaml.safe_load(spec.read_text(encoding="utf-8"))
    document["source"]["topics"] = [topics]
    (units,) = (column["unit"] for column in document["source"]["columns"] if "unit" in column)
    units["mariadb"] = "microseconds"
    write_spec(folder, document)
    return KafkaLake(spark=spark, folder=folder, servers=chain.broker.address, spec=str(spec))


def live_sales(rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    return {row["sale_id"]: {name: row[name] for name in COLUMNS.values()} for row in rows if not row["is_deleted"]}


@dataclass(frozen=True, kw_only=True)
class Business:
    """All that happens at the source."""

    sales: SalesSource
    shop: ShopSource

    def change(self, part: float = 1.0) -> None:
        self.sales.change(int(STATEMENTS * part))
        self.shop.change(int(SHOP_STATEMENTS * part))


@dataclass(frozen=True, kw_only=True)
class Lakes:
    """The two lakes of one connector's topics."""

    sales: KafkaLake
    shop: KafkaLake

    def take_in_up_to(self, business: Business) -> None:
        """Mark the end of what was changed, and take in and split until the mark is there, in both."""
        mark = business.sales.add_mark()

        def has_come() -> bool:
            while self.sales.run("ingest", max_events=2_000).counters["has_more"]:
                pass
            return mark in {row["sale_id"] for row in self.sales.rows("sales_log")}

        wait_until(has_come, "what was changed is in the log", limit_seconds=600.0)
        self.sales.run("split")
        while self.shop.run("ingest", max_events=2_500).counters["has_more"]:
            pass
        self.shop.run("split")


def make_lakes(spark: SparkSession, folder: Path, chain: Chain, prefix: str, shop: ShopSource) -> Lakes:
    (folder / "shop").mkdir()
    spec = make_shop_lake(spark, folder / "shop", shop.mirrors, source={"topics": [f"{prefix}.*"]}).spec
    return Lakes(
        sales=make_lake(spark, folder, chain, f"{prefix}.*.SALES"),
        shop=KafkaLake(spark=spark, folder=folder / "shop", servers=chain.broker.address, spec=spec),
    )


def live_rows(rows: list[dict[str, Any]], key: tuple[str, ...]) -> Rows:
    shown = [as_read(without_hidden(row)) for row in rows if not row["is_deleted"]]
    by_key = {tuple(row[name] for name in key): row for row in shown}
    assert len(by_key) == len(shown)
    return by_key


def differences(found: Rows, wanted: Rows) -> list[tuple[Any, ...]]:
    """Keys that only one of them has, and values that differ: key, column, found, wanted."""
    different: list[tuple[Any, ...]] = [
        (key, "row", key in found, key in wanted) for key in found.keys() ^ wanted.keys()
    ]
    for key in found.keys() & wanted.keys():
        names = found[key].keys() | wanted[key].keys()
        different += [
            (key, n, found[key].get(n), wanted[key].get(n)) for n in names if found[key].get(n) != wanted[key].get(n)
        ]
    return different


@pytest.mark.parametrize("kind", [PostgreSQL, MariaDB])
def test_the_lakes_equal_the_source_whatever_happens_on_the_way(spark, tmp_path, chain, kind: type[Server]):
    with running(kind(port=free_port())) as server:
        sales = SalesSource(server, seed=7)
        has_schemas = kind is PostgreSQL
        shop = ShopSource(server, sales.database, seed=8, has_schemas=has_schemas)
        business = Business(sales=sales, shop=shop)
        business.change()
        prefix = f"erp-{server.name}"
        own = {"topic_prefix": prefix}
        if has_schemas:
            own |= {
                "value_converter": "org.apache.kafka.connect.json.JsonConverter",
                "value_converter_schemas_enable": "true",
                "decimal_handling_mode": "precise",
            }
        tables = f"{sales.tables},{shop.tables}"
        configuration = connector_of(server, database=sales.database, tables=tables, kafka=chain.broker.address, **own)
        chain.worker.run(server.name, configuration)
        lakes = make_lakes(spark, tmp_path, chain, prefix, shop)
        # One that is lost before it is past its snapshot takes another: what was deleted in between is never reported.
        wait_until(lambda: chain.worker.is_past_snapshot(server.name), "the snapshot is taken")
        business.change(0.5)
        chain.kill_worker()
        business.change(0.5)
        chain.worker.start()
        lakes.take_in_up_to(business)
        sales.add_columns()
        shop.grow()
        chain.restart_broker()
        business.change()
        lakes.take_in_up_to(business)
        expected = {
            key: {name: row.get(column) for column, name in COLUMNS.items()} for key, row in sales.rows().items()
        }
        expected_of_shop = shop.rows()
        chain.worker.remove(server.name)
    assert len(expected) > STATEMENTS // 4
    assert live_sales(lakes.sales.rows_by_spark("sales")) == expected
    assert live_sales(lakes.sales.rows("sales")) == expected
    for table, rows in expected_of_shop.items():
        assert len(rows) > SHOP_STATEMENTS // 8
        assert differences(live_rows(lakes.shop.rows_by_spark(table), KEYS[table]), rows) == []
        assert differences(live_rows(lakes.shop.rows(table), KEYS[table]), rows) == []
    for lake, quarantine in ((lakes.sales, "quarantine"), (lakes.shop, "shop_quarantine")):
        assert lake.rows(quarantine) == []
        before = lake.instants()
        assert [lake.run(job).status for job in ("ingest", "split")] == ["nothing_to_do"] * 2
        assert lake.instants() == before
