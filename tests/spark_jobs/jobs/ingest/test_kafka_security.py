"""A broker that authenticates by SASL over TLS: the job is let in with a password, and shows it nowhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from local_stack.servers.kafka import KafkaBroker
from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.certificates import make_certificates
from tests.support.commands import init
from tests.support.envelopes import SQLSERVER_TOPIC, line, sqlserver
from tests.support.kafka import Topics, running_kafka

pytestmark = [pytest.mark.hudi, pytest.mark.services]

USER, PASSWORD = "reader", "canary-p4ss"
WRONG = "canary-wr0ng"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    return make_certificates()


@pytest.fixture(scope="module")
def broker(authority: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    settings = {
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.clients.scram-sha-512.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": authority["certificate"].replace("\n", "\\n"),
        "ssl.keystore.key": authority["key"].replace("\n", "\\n"),
    }
    user = ["--add-scram", f"SCRAM-SHA-512=[name={USER},password={PASSWORD}]"]
    folder = tmp_path_factory.mktemp("kafka")
    with running_kafka(folder, settings=settings, protocol="SASL_SSL", format_options=user) as started:
        properties = properties_of(PASSWORD, authority)
        topics = Topics(servers=started.address, properties=properties)
        topics.create(SQLSERVER_TOPIC)
        topics.send(SQLSERVER_TOPIC, [line(sqlserver("c", {"SaleId": n, "UnitId": 1}, n)) for n in (1, 2)])
        yield started


def properties_of(password: str, authority: Mapping[str, str]) -> dict[str, str]:
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": USER,
        "sasl.password": password,
        "ssl.ca.pem": authority["authority"],
    }


def ingest(folder: Path, broker: KafkaBroker, properties: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """The command line, as Airflow runs it."""
    environment = {
        **os.environ,
        "LAKEHOUSE_BASE_PATH": str(folder / "lake"),
        "LAKEHOUSE_LANDING_PATH": str(folder / "landing"),
        "LAKEHOUSE_SPARK_MASTER": "local[2]",
        "LAKEHOUSE_DRIVER_MEMORY": "1g",
        "LAKEHOUSE_KAFKA_SERVERS": broker.address,
        "LAKEHOUSE_KAFKA_PROPERTIES": json.dumps(properties),
    }
    init(environment)
    command = [sys.executable, "-m", "spark_jobs.entrypoint", "ingest"]
    return subprocess.run(command, env=environment, cwd=PROJECT_ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.slice(name="databases")
def test_the_right_password_lets_in_and_is_written_nowhere(broker, authority, tmp_path):
    done = ingest(tmp_path, broker, properties_of(PASSWORD, authority))
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1])
    assert result["counters"]["events_new"] == 2
    assert "canary" not in done.stdout + done.stderr
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) > 5
    assert [file for file in files if b"canary" in file.read_bytes()] == []


@pytest.mark.parametrize("what", ["password", pytest.param("authority", marks=pytest.mark.slice(name="databases"))])
def test_who_is_not_let_in_can_read_what_to_correct(broker, authority, tmp_path, what):
    other = make_certificates()
    properties = properties_of(WRONG if what == "password" else PASSWORD, authority if what == "password" else other)
    done = ingest(tmp_path, broker, properties)
    assert done.returncode == 2
    assert f"Kafka at {broker.address} refuses access" in done.stderr
    assert "correct the connection lakehouse_kafka" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert "canary" not in done.stdout + done.stderr
