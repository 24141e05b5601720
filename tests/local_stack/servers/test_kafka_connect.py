"""The configurations of connectors that users begin with."""

from __future__ import annotations

import json
import re

import pytest
import yaml

from local_stack.install.kafka_jars import KAFKA_JARS
from local_stack.layout import PROJECT_ROOT
from local_stack.servers.databases import MariaDB, PostgreSQL, Server
from local_stack.servers.kafka_connect import CONNECTORS, connector_of

KINDS = {"sqlserver": "SqlServer", "postgresql": "Postgres", "mysql": "MySql", "mariadb": "MariaDb"}


@pytest.mark.parametrize("name", KINDS)
def test_each_kind_of_database_has_one_and_it_holds_no_secret(name: str) -> None:
    shipped = json.loads((CONNECTORS / f"{name}.json").read_text(encoding="utf-8"))
    package = {"sqlserver": "sqlserver", "postgresql": "postgresql", "mysql": "mysql", "mariadb": "mariadb"}[name]
    assert shipped["connector.class"] == f"io.debezium.connector.{package}.{KINDS[name]}Connector"
    assert shipped["database.password"] == "${PASSWORD}"
    assert shipped["decimal.handling.mode"] == "string"
    names = {word for value in shipped.values() for word in re.findall(r"\$\{(\w+)\}", value)}
    assert names <= {"HOST", "PORT", "USER", "PASSWORD", "DATABASE", "TABLES", "KAFKA"}
    assert sorted(path.stem for path in CONNECTORS.iterdir()) == sorted(KINDS)


@pytest.mark.parametrize("server", [PostgreSQL(port=7), MariaDB(port=7)], ids=["postgresql", "mariadb"])
def test_it_is_filled_in_for_a_database_of_this_machine(server: Server) -> None:
    filled = connector_of(server, database="erp", tables="public.SALES", kafka="k:9", topic_prefix="shop")
    assert not [value for value in filled.values() if "${" in value]
    assert (filled["database.port"], filled["topic.prefix"]) == ("7", "shop")
    server.folder.rmdir()


def test_kafka_is_the_one_of_compose() -> None:
    services = yaml.safe_load((PROJECT_ROOT / "docker-compose.yaml").read_text(encoding="utf-8"))["services"]
    version = services["kafka"]["image"].removeprefix("apache/kafka:")
    assert f"org.apache.kafka:kafka_2.13:{version}" in KAFKA_JARS.coordinates
