"""An Airflow connection becomes what a job must know of Kafka."""

from __future__ import annotations

import json
from typing import Any

import pytest
from airflow.sdk import Connection
from hypothesis import given
from hypothesis import strategies as st

from lakehouse_provider.connections.kafka import kafka_environment
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import Settings

PASSWORD = 'p@ss "w:rd'


def environment_of(**facts: Any) -> dict[str, str]:
    extra = facts.pop("extra", None)
    connection = Connection(conn_id="lakehouse_kafka", conn_type="kafka", extra=json.dumps(extra or {}), **facts)
    return kafka_environment(connection)


def test_host_and_login_of_the_connection() -> None:
    extra = {"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512"}
    found = environment_of(host="one,two:9094", port=9093, login="reader", password=PASSWORD, extra=extra)
    settings = Settings.from_environment(found)
    assert settings.kafka_servers == "one:9093,two:9094"
    assert json.loads(settings.kafka_properties) == {**extra, "sasl.username": "reader", "sasl.password": PASSWORD}
    assert PASSWORD not in repr(settings)


def test_a_connection_as_airflows_own_provider_has_it() -> None:
    """It has everything in its extra, and what its own consumers need beside."""
    extra = {"bootstrap.servers": "broker:9092", "group.id": "g", "auto.offset.reset": "latest", "client.id": "lake"}
    assert environment_of(extra=extra) == {
        "LAKEHOUSE_KAFKA_SERVERS": "broker:9092",
        "LAKEHOUSE_KAFKA_PROPERTIES": '{"client.id": "lake"}',
    }


def test_a_broker_without_security_has_a_port_of_its_own() -> None:
    assert environment_of(host="broker") == {"LAKEHOUSE_KAFKA_SERVERS": "broker:9092"}


def test_a_connection_without_a_server_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"lakehouse_kafka names no server; give host and port"):
        environment_of(login="reader", password=PASSWORD)


def test_what_a_client_may_not_set_is_refused_by_its_name() -> None:
    with pytest.raises(SettingsError, match=r"plugin\.library\.paths"):
        environment_of(host="broker", extra={"plugin.library.paths": "/tmp/x.so"})


TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, categories=("L", "N", "P", "S")), min_size=1)


@given(login=TEXT, password=TEXT, extra=st.dictionaries(st.sampled_from(["ssl.key.password", "client.id"]), TEXT))
def test_whatever_login_password_and_properties_are(login: str, password: str, extra: dict[str, str]) -> None:
    connection = Connection(conn_id="c", conn_type="kafka", host="broker", extra=json.dumps(extra))
    connection.login, connection.password = login, password
    settings = Settings.from_environment(kafka_environment(connection))
    expected = {**extra, "sasl.username": login, "sasl.password": password}
    assert json.loads(settings.kafka_properties) == expected


@pytest.mark.parametrize(
    ("host", "port", "servers"),
    [
        ("one,two,three", None, "one:9092,two:9092,three:9092"),
        ("one:1, two , three:3", 7, "one:1,two:7,three:3"),
    ],
)
def test_every_server_is_kept_with_its_own_port_or_the_connections(host: str, port: int | None, servers: str) -> None:
    assert environment_of(host=host, port=port)["LAKEHOUSE_KAFKA_SERVERS"] == servers


@pytest.mark.parametrize("name", ["group.id", "enable.auto.commit", "auto.offset.reset"])
def test_what_decides_what_is_read_is_left_out(name: str) -> None:
    assert "LAKEHOUSE_KAFKA_PROPERTIES" not in environment_of(host="broker", extra={name: "x"})
