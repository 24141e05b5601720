"""From an Airflow connection to what a job must know of Kafka, which it gets by its environment alone."""

from __future__ import annotations

import json

from lakehouse_provider.connections.serving import StoreFacts
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.kafka import parse_properties
from spark_jobs.contracts.settings import PREFIX

KAFKA_CONN_ID = "lakehouse_kafka"
SERVERS_VARIABLE, PROPERTIES_VARIABLE = f"{PREFIX}KAFKA_SERVERS", f"{PREFIX}KAFKA_PROPERTIES"
KAFKA_VARIABLES = (SERVERS_VARIABLE, PROPERTIES_VARIABLE)
_SERVERS = "bootstrap.servers"
_DEFAULT_PORT = 9092


def kafka_environment(connection: StoreFacts) -> dict[str, str]:
    """Variables of a job that reads Kafka, as Airflow's own connections of type ``kafka`` say it.

    The extra is librdkafka's properties: ``bootstrap.servers``, or the connection's host (several with commas, each
    with a port or the connection's); ``security.protocol``, ``sasl.mechanism`` and the others. The login is
    ``sasl.username``, the password ``sasl.password``. What decides what is read, such as ``group.id``, is left out:
    the jobs decide that. SettingsError when no server is named.
    """
    given = dict(connection.extra_dejson)
    servers = str(given.pop(_SERVERS, "")) or _servers(connection)
    if not servers:
        raise SettingsError(
            f'connection {connection.conn_id} names no server; give host and port, or "{_SERVERS}" in its extra'
        )
    for name in ("group.id", "enable.auto.commit", "auto.offset.reset"):  # others that use the connection need them
        given.pop(name, None)
    own = {"sasl.username": connection.login, "sasl.password": connection.password}
    properties = parse_properties(json.dumps({**{name: value for name, value in own.items() if value}, **given}))
    return {SERVERS_VARIABLE: servers, **({PROPERTIES_VARIABLE: json.dumps(properties)} if properties else {})}


def _servers(connection: StoreFacts) -> str:
    hosts = [host.strip() for host in (connection.host or "").split(",") if host.strip()]
    port = connection.port or _DEFAULT_PORT
    return ",".join(host if ":" in host else f"{host}:{port}" for host in hosts)
