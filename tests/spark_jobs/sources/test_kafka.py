"""Messages of a span, all of them or an error; and a client that is not let in and tells nothing of what it was given.

A real broker is asked in tests/spark_jobs/jobs/test_ingest_kafka.py; this one begins every partition at offset 0.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator

import pytest

from local_stack.ports import free_port
from spark_jobs.contracts.errors import LakehouseError, SettingsError
from spark_jobs.contracts.kafka import Start
from spark_jobs.contracts.secrets import find_secrets
from spark_jobs.contracts.settings import Settings
from spark_jobs.sources import kafka
from spark_jobs.sources.kafka import KafkaCluster, KafkaReadError, client_properties, iter_messages
from spark_jobs.sources.kafka_plan import Span
from tests.support.small_broker import SmallBroker, small_broker

CANARY = 'canary-5e1f/+@:"'
PROPERTIES = (
    *("security.protocol", "sasl.mechanisms", "sasl.username", "sasl.password", "sasl.oauthbearer.config"),
    *("ssl.key.pem", "ssl.key.password", "ssl.certificate.pem", "ssl.ca.location"),
    *("ssl.keystore.password", "ssl.keystore.location", "sasl.oauthbearer.client.secret", "sasl.oauthbearer.method"),
    *("ssl.endpoint.identification.algorithm", "ssl.sigalgs.list"),
    *("enable.ssl.certificate.verification", "broker.address.family", "socket.timeout.ms", "client.rack"),
)  # fmt: skip
"""Properties of every kind: words, numbers, files, keys, and what is one of a few."""


@pytest.fixture(scope="module")
def broker() -> Iterator[SmallBroker]:
    with small_broker() as started:
        started.send("one", 0, [b"%d" % n for n in range(9)])
        started.send("one", 1, [b"x%d" % n for n in range(4)])
        started.send("other", 0, [b"y%d" % n for n in range(9)])
        yield started


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "_STALLED_SECONDS", 0.5)
    monkeypatch.setattr(kafka, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(kafka, "_TRY_SECONDS", 0.2)


def offsets(broker: SmallBroker, topic: str, partition: int, start: int, end: int) -> list[tuple[int, bytes | None]]:
    span = Span(topic=topic, partition=partition, start=start, end=end)
    return [(message.offset(), message.value()) for message in iter_messages(broker.properties, span)]


@pytest.mark.parametrize(("start", "end"), [(0, 9), (0, 1), (8, 9), (3, 6), (4, 4)])
def test_a_span_has_its_messages_and_no_others(broker, start, end):
    assert offsets(broker, "one", 0, start, end) == [(n, b"%d" % n) for n in range(start, end)]
    assert offsets(broker, "other", 0, start, end) == [(n, b"y%d" % n) for n in range(start, end)]


@pytest.mark.parametrize(
    ("partition", "start", "end", "why"),
    [
        (1, 0, 5, "gives nothing after offset 4"),
        (0, 9, 10, "gives nothing after offset 9"),
        (1, 17, 18, "from 17: _AUTO_OFFSET_RESET"),
        (0, 10, 11, "from 10: _AUTO_OFFSET_RESET"),
    ],
)
def test_a_span_that_is_not_there_to_its_end_is_an_error(broker, partition, start, end, why):
    """One offset too many, or all: what there is does not count as all, and no other offset takes another's place."""
    read: list[int] = []
    messages = iter_messages(broker.properties, Span(topic="one", partition=partition, start=start, end=end))
    with pytest.raises(KafkaReadError, match=f"^{kafka.READ_FAILED}: kafka:one/{partition} {why}"):
        read.extend(message.offset() for message in messages)
    assert read == [*range(start, (9, 4)[partition])]


@pytest.mark.parametrize("name", PROPERTIES)
def test_whatever_property_a_secret_was_given_by_nobody_is_told(name, caplog: pytest.LogCaptureFixture):
    """A password may stand where it does not belong: it is in no message, no log, no traceback, no repr."""
    caplog.set_level(logging.DEBUG)
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "PLAIN",
        "sasl.username": "me",
        name: CANARY,
    }
    settings = Settings(kafka_servers=f"127.0.0.1:{free_port()}", kafka_properties=json.dumps(properties))
    cluster = KafkaCluster(properties=client_properties(settings))
    with pytest.raises(LakehouseError) as caught:
        cluster.topics(("*",), Start.parse("earliest"))
    told = [str(caught.value), repr(cluster), repr(settings), caplog.text, str(settings)]
    assert "canary" not in " ".join(told)
    if isinstance(caught.value, SettingsError):
        assert "LAKEHOUSE_KAFKA_PROPERTIES" in str(caught.value)
    # What librdkafka says of a value is in the traceback, which a log shows without the secrets that are known as such.
    lines = "".join(traceback.format_exception(caught.value))
    for secret in find_secrets({"LAKEHOUSE_KAFKA_PROPERTIES": settings.kafka_properties}):
        lines = lines.replace(secret, "***")
    if "password" in name or "secret" in name or name.endswith((".pem", ".config")):
        assert "canary" not in lines
