"""A Kafka broker on this machine (KRaft: it is its own controller), for this machine alone."""

from __future__ import annotations

import base64
import os
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from local_stack.errors import SetupError, find_reason
from local_stack.install.installation import fetch_when_wrong
from local_stack.install.java import find_java
from local_stack.install.kafka_jars import KAFKA_JARS
from local_stack.servers.connect_server import spark_home
from local_stack.servers.ports import free_port
from local_stack.servers.services import LOOPBACK, Program, RunFolder, Service, wait_for_server

START_SECONDS = 120.0
_LOGGING = ("slf4j-api-*.jar", "log4j-slf4j2-impl-*.jar", "log4j-api-*.jar", "log4j-core-*.jar")
_LOG4J = """status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d %p %c{1} %m%n
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
"""


@dataclass(frozen=True, kw_only=True)
class KafkaBroker:
    """A broker with its files in ``folder``/kafka, which may be stopped and started again on the same port.

    ``settings`` are added to the broker's own; ``protocol`` is how clients speak to it, and ``format_options`` go to
    the first format of its storage, for example users with their passwords.
    """

    folder: RunFolder
    settings: Mapping[str, str] = field(default_factory=dict)
    protocol: str = "PLAINTEXT"
    format_options: Sequence[str] = ()
    port: int = field(default_factory=free_port)
    broker_port: int = field(default_factory=free_port)
    controller_port: int = field(default_factory=free_port)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @property
    def address(self) -> str:
        """``host:port`` for clients."""
        return f"{LOOPBACK}:{self.port}"

    @property
    def _home(self) -> Path:
        return self.folder.path / "kafka"

    def start(self) -> Service:
        """Start it and wait until it listens; the first call fetches Kafka's jars.

        Raises:
            DownloadError: the jars cannot be had.
            SetupError: it ended, or hangs.
        """
        fetch_when_wrong(KAFKA_JARS)
        home = self._home
        home.mkdir(exist_ok=True)
        configuration = home / "server.properties"
        configuration.write_text("".join(f"{name}={value}\n" for name, value in self._settings().items()))
        if not (home / "data" / "meta.properties").exists():
            self._format(configuration)
        program = kafka_program(
            "kafka", ["kafka.Kafka", str(configuration)], cwd=home, port=self.port, environ=self.environ
        )
        service = program.start(self.folder)
        wait_for_server(service, what="Kafka", seconds=START_SECONDS)
        return service

    def _format(self, configuration: Path) -> None:
        # Joined by "=": one id in 64 begins with a dash, and would be taken for an option.
        command = ["kafka.tools.StorageTool", "format", f"--cluster-id={_cluster_id()}", f"--config={configuration}"]
        program = kafka_program(
            "format", [*command, *self.format_options], cwd=self._home, port=0, environ=self.environ
        )
        done = subprocess.run(
            program.command, env=dict(program.environment), cwd=program.cwd, capture_output=True, text=True
        )
        if done.returncode:
            raise SetupError(f"Kafka's storage cannot be made: {find_reason(done.stderr or done.stdout)}")

    def _settings(self) -> dict[str, str]:
        own = {"BROKERS": self.broker_port, "CONTROLLER": self.controller_port}
        addresses = {"CLIENTS": self.address, **{name: f"{LOOPBACK}:{port}" for name, port in own.items()}}
        return {
            "node.id": "1",
            "process.roles": "broker,controller",
            "controller.quorum.voters": f"1@{LOOPBACK}:{self.controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": ",".join(f"{name}://{address}" for name, address in addresses.items()),
            "listener.security.protocol.map": f"CLIENTS:{self.protocol},BROKERS:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "BROKERS",
            "log.dirs": str(self._home / "data"),
            # There is one broker to keep its own topics.
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            **self.settings,
        }


def kafka_program(
    name: str,
    command: Sequence[str],
    *,
    cwd: Path,
    port: int,
    memory: str = "384m",
    environ: Mapping[str, str] = os.environ,
) -> Program:
    """A program of Kafka's: a main class and its arguments; what it says is on its standard output."""
    logging = cwd / "log4j2.properties"
    logging.write_text(_LOG4J)
    jars = [KAFKA_JARS.folder / name for name in KAFKA_JARS.file_names]
    jars += [jar for pattern in _LOGGING for jar in (spark_home() / "jars").glob(pattern)]
    options = [f"-Xmx{memory}", "-XX:TieredStopAtLevel=1", f"-Dlog4j2.configurationFile={logging}"]
    java = str(find_java(environ).home / "bin" / "java")
    return Program(
        name=name,
        command=[java, *options, "-cp", ":".join(map(str, jars)), *command],
        environment=environ,
        port=port,
        cwd=cwd,
    )


def _cluster_id() -> str:
    """A new id as Kafka writes them: 16 bytes in base64 without padding."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
