"""Trino for this machine alone, over a Hive metastore: catalog ``hudi`` has the tables, catalog ``hive`` the views.

In ``hive`` the tables are there too, redirected to ``hudi``, as Athena shows both in one catalog.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from local_stack.errors import SetupError
from local_stack.install.trino_install import Trino
from local_stack.servers.ports import free_port
from local_stack.servers.services import LOOPBACK, RunFolder, Service, wait_for_server
from spark_jobs.storage.s3 import endpoint_of, region_of

Settings = dict[str, object]
"""What one file says."""
NAME = "trino"
USER = "lakehouse"
TABLES, VIEWS = "hudi", "hive"
"""Catalogs."""
START_SECONDS = 300.0
ENVIRONMENT = "lakehouse"
JVM = (
    *("-Xmx1G", "-XX:+UseG1GC", "-XX:+ExplicitGCInvokesConcurrent", "-XX:+ExitOnOutOfMemoryError"),
    *("-XX:TieredStopAtLevel=1", "-Djdk.attach.allowAttachSelf=true", "-Duser.timezone=UTC"),
    "--enable-native-access=ALL-UNNAMED",
    *("-XX:+UnlockDiagnosticVMOptions", "--sun-misc-unsafe-memory-access=allow"),
)


def start_trino(
    folder: RunFolder, installed: Trino, *, metastore: str, environ: Mapping[str, str] = os.environ
) -> Service:
    """Start it over the metastore at ``thrift://host:port``; :func:`wait_for_trino` says when it answers."""
    home, port = folder.path / NAME, free_port()
    loopback: Settings = {"node.bind-ip": LOOPBACK, "node.internal-address": LOOPBACK}
    own: Settings = {"plugin.dir": installed.home / "plugin", "catalog.config-dir": home / "etc" / "catalog"}
    files: dict[str, Settings] = {
        **build_settings(port=port, metastore=metastore, environ=environ),
        "log.properties": {"io.trino": "WARN", "org.apache": "ERROR"},
    }
    files["config.properties"] |= {"node.environment": ENVIRONMENT, **loopback, **own}
    for name, values in files.items():
        file = home / "etc" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(format_settings(values), encoding="utf-8")
    command = [
        *(str(installed.java_home / "bin" / "java"), *JVM, f"-Dnode.data-dir={home}/data"),
        *(f"-Dconfig={home}/etc/config.properties", f"-Dlog.levels-file={home}/etc/log.properties"),
        *("-cp", f"{installed.home}/lib/*", "io.trino.server.TrinoServer"),
    ]
    return folder.start(NAME, command, environment=environ, port=port, cwd=home)


def wait_for_trino(server: Service) -> str:
    """Wait until it answers queries; gives its address, ``host:port``. SetupError when it does not."""
    address = wait_for_server(server, what="Trino", seconds=START_SECONDS)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.is_alive:
        # It listens before it can plan a query, and says so in many ways.
        with suppress(OSError, _trino_error()):
            query(address, "SELECT 1")
            return address
        time.sleep(0.5)
    raise SetupError(f"Trino answers no query; its log {server.log} says why: {_reason(server)}")


def _reason(server: Service) -> str:
    """The error among the hundreds of lines of its log."""
    lines = server.tail(2000).splitlines()
    found = [number for number, line in enumerate(lines) if "\tERROR\t" in line]
    return " ".join(lines[found[-1] : found[-1] + 3]) if found else server.tail(1)


def query(address: str, sql: str, *, schema: str | None = None, catalog: str = VIEWS) -> list[dict[str, Any]]:
    """The rows of one statement, by column."""
    from trino.dbapi import connect

    host, _, port = address.partition(":")
    with connect(host=host, port=int(port), user=USER, catalog=catalog, schema=schema, timezone="UTC") as connection:
        cursor = connection.cursor()
        cursor.execute(sql)
        rows = cursor.fetchall()
        names = [column[0] for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in rows]


def build_settings(*, port: int, metastore: str, environ: Mapping[str, str]) -> dict[str, Settings]:
    """The files of settings below Trino's ``etc``, but for what depends on where it is installed."""
    config: Settings = {
        "coordinator": "true",
        "node-scheduler.include-coordinator": "true",
        "http-server.http.port": port,
        "discovery.uri": f"http://{LOOPBACK}:{port}",
        "query.max-memory": "512MB",
        "query.max-memory-per-node": "512MB",
        "memory.heap-headroom-per-node": "256MB",
    }
    storage: Settings = {"hive.metastore.uri": metastore, "fs.hadoop.enabled": "true"}
    region, endpoint = region_of(environ), endpoint_of(environ)
    if region or endpoint:
        storage |= {"fs.native-s3.enabled": "true"}
    if region:
        storage |= {"s3.region": region}
    if endpoint:
        storage |= {"s3.endpoint": endpoint, "s3.path-style-access": "true"}
    return {
        "config.properties": config,
        f"catalog/{TABLES}.properties": {"connector.name": "hudi", **storage},
        f"catalog/{VIEWS}.properties": {"connector.name": "hive", "hive.hudi-catalog-name": TABLES, **storage},
    }


def format_settings(values: Mapping[str, object]) -> str:
    """A file of settings as Java reads it."""
    return "".join(f"{name}={value}\n" for name, value in values.items())


def _trino_error() -> type[Exception]:
    from trino.exceptions import Error

    error: type[Exception] = Error
    return error
