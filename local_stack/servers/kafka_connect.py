"""A Kafka Connect worker on this machine, with Debezium's connectors, and the connectors that it runs."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Template
from typing import Any
from urllib.parse import quote

from local_stack.errors import SetupError
from local_stack.layout import PROJECT_ROOT
from local_stack.servers.databases import PASSWORD, USER, Server
from local_stack.servers.kafka import kafka_program
from local_stack.servers.ports import free_port
from local_stack.servers.services import LOOPBACK, POLL_SECONDS, RunFolder, Service, wait_for_server

START_SECONDS = 600.0
NAME = "kafka-connect"
CONNECTORS = PROJECT_ROOT / "include" / "connectors"
"""Configurations of connectors, one for each kind of database, with ``${NAMES}`` for what is a user's own."""


@dataclass(frozen=True, kw_only=True)
class ConnectWorker:
    """A worker that keeps how far its connectors are in topics of ``kafka``, so that another one goes on for it.

    ``settings`` are added to the worker's own.
    """

    folder: RunFolder
    kafka: str
    settings: Mapping[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def start(self) -> Service:
        """Start it and wait until it takes orders. SetupError when it ends, or hangs."""
        home = self.folder.path / NAME
        home.mkdir(exist_ok=True)
        configuration = home / "worker.properties"
        configuration.write_text("".join(f"{name}={value}\n" for name, value in self._settings().items()))
        command = ["org.apache.kafka.connect.cli.ConnectDistributed", str(configuration)]
        program = kafka_program(NAME, command, cwd=home, port=self.port, memory="512m", environ=self.environ)
        service = program.start(self.folder)
        wait_for_server(service, what="Kafka Connect", seconds=START_SECONDS)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                self._request("GET", "/connectors")
            except (urllib.error.URLError, ConnectionError):
                time.sleep(POLL_SECONDS)
            else:
                return service
        raise SetupError(f"Kafka Connect takes no orders after {START_SECONDS:.0f} s; look at {service.log}")

    def run(self, name: str, configuration: Mapping[str, str]) -> None:
        """Have it run a connector, and wait until its task does. SetupError with what the connector says."""
        self._request("PUT", f"/connectors/{quote(name)}/config", dict(configuration))
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            states = self.states(name)
            if failed := next((trace for state, trace in states if state == "FAILED"), None):
                raise SetupError(f"connector {name} failed: {failed.splitlines()[0] if failed else 'no reason given'}")
            if len(states) > 1 and all(state == "RUNNING" for state, _ in states):
                return
            time.sleep(POLL_SECONDS)
        raise SetupError(f"connector {name} does not run after {START_SECONDS:.0f} s")

    def remove(self, name: str) -> None:
        """Have it run a connector no more."""
        self._request("DELETE", f"/connectors/{quote(name)}")

    def is_past_snapshot(self, name: str) -> bool:
        """True when it is kept that a connector has read its tables whole: it goes on from there if it is lost now."""
        kept = [each["offset"] or {} for each in self._request("GET", f"/connectors/{quote(name)}/offsets")["offsets"]]
        return bool(kept) and all(each.get("snapshot_completed", not each.get("snapshot")) for each in kept)

    def states(self, name: str) -> list[tuple[str, str]]:
        """State and trace of a connector and of its tasks; nothing while it is not known yet."""
        try:
            status = self._request("GET", f"/connectors/{quote(name)}/status")
        except urllib.error.HTTPError:
            return []
        return [(each["state"], each.get("trace", "")) for each in (status["connector"], *status["tasks"])]

    def _request(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:
        request = urllib.request.Request(
            f"http://{LOOPBACK}:{self.port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def _settings(self) -> dict[str, str]:
        converter = "org.apache.kafka.connect.json.JsonConverter"
        topics = {
            f"{what}.storage.{name}": value
            for what in ("config", "offset", "status")
            for name, value in {"topic": f"connect.{what}", "replication.factor": "1"}.items()
        }
        return {
            "bootstrap.servers": self.kafka,
            "group.id": "connect",
            "key.converter": converter,
            "value.converter": converter,
            "key.converter.schemas.enable": "false",
            "value.converter.schemas.enable": "false",
            **topics,
            "offset.storage.partitions": "1",
            "status.storage.partitions": "1",
            "offset.flush.interval.ms": "1000",
            # It is the only one: no other could take over what a lost worker had.
            "scheduled.rebalance.max.delay.ms": "0",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "2000",
            "listeners": f"http://{LOOPBACK}:{self.port}",
            "plugin.discovery": "service_load",
            "topic.creation.enable": "true",
            **self.settings,
        }


def connector_of(server: Server, *, database: str, tables: str, kafka: str, **own: str) -> dict[str, str]:
    """The configuration for a database of this machine, from the file that users begin with.

    ``tables`` are patterns as the connector takes them; ``own`` are further settings, with underscores for dots.
    """
    facts = {
        "HOST": LOOPBACK,
        "PORT": str(server.port),
        "USER": USER,
        "PASSWORD": PASSWORD,
        "DATABASE": database,
        "TABLES": tables,
        "KAFKA": kafka,
    }
    shipped = json.loads((CONNECTORS / f"{server.name}.json").read_text(encoding="utf-8"))
    filled = {name: Template(value).substitute(facts) for name, value in shipped.items()}
    return {
        **filled,
        "topic.creation.default.replication.factor": "1",
        "topic.creation.default.partitions": "1",
        **{name.replace("_", "."): value for name, value in own.items()},
    }
