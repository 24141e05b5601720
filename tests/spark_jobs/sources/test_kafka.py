"""Messages of a span, all of them or an error; and a client that is not let in and shows nothing of what it was given.

A real broker is read in tests/spark_jobs/jobs/test_ingest_kafka.py; this one begins every partition at offset 0.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace

import confluent_kafka
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka.admin import AdminClient

from local_stack.servers.ports import free_port
from spark_jobs.contracts.errors import LakehouseError, SettingsError, TransientError
from spark_jobs.contracts.kafka import Start
from spark_jobs.contracts.secrets import find_secrets
from spark_jobs.contracts.settings import Settings
from spark_jobs.sources import kafka
from spark_jobs.sources.kafka import (
    KafkaCluster,
    KafkaReadError,
    client_properties,
    iter_messages,
    next_batch,
    reading,
)
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
    return [(message.offset(), message.value()) for _, message in iter_messages(broker.properties, [span])]


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
    messages = iter_messages(broker.properties, [Span(topic="one", partition=partition, start=start, end=end)])
    with pytest.raises(KafkaReadError, match=f"^{kafka.READ_FAILED}: kafka:one/{partition} {why}"):
        read.extend(message.offset() for _, message in messages)
    assert read == [*range(start, (9, 4)[partition])]


def test_spans_of_several_partitions_are_read_side_by_side_each_as_it_is_alone(broker):
    spans = [
        Span(topic=topic, partition=partition, start=start, end=end)
        for topic, partition, start, end in (("one", 0, 2, 9), ("other", 0, 0, 4), ("one", 1, 1, 2), ("other", 1, 0, 0))
    ]
    found = dict[Span, list[int]]()
    for span, message in iter_messages(broker.properties, spans):
        assert (message.topic(), message.partition()) == (span.topic, span.partition)
        found.setdefault(span, []).append(message.offset())
    assert found == {span: [*range(span.start, span.end)] for span in spans[:3]}


def test_one_span_of_several_that_is_not_there_to_its_end_is_an_error(broker):
    """The others are read to their ends meanwhile, and count for nothing."""
    spans = [Span(topic="one", partition=partition, start=0, end=end) for partition, end in ((0, 9), (1, 5))]
    with pytest.raises(KafkaReadError, match=r"kafka:one/1 gives nothing after offset 4$"):
        [*iter_messages(broker.properties, spans)]


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_secret_is_hidden_whatever_property_it_was_given_by(name, caplog: pytest.LogCaptureFixture):
    """A password may be where it does not belong: it is in no message, no log, no traceback, no repr."""
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
    shown = [str(caught.value), repr(cluster), repr(settings), caplog.text, str(settings)]
    assert "canary" not in " ".join(shown)
    if isinstance(caught.value, SettingsError):
        assert "LAKEHOUSE_KAFKA_PROPERTIES" in str(caught.value)
    # What librdkafka says of a value is in the traceback, which a log shows without the secrets that are known as such.
    lines = "".join(traceback.format_exception(caught.value))
    for secret in find_secrets({"LAKEHOUSE_KAFKA_PROPERTIES": settings.kafka_properties}):
        lines = lines.replace(secret, "***")
    if "password" in name or "secret" in name or name.endswith((".pem", ".config")):
        assert "canary" not in lines


def cluster_of(broker: SmallBroker) -> KafkaCluster:
    return KafkaCluster(properties=broker.properties)


def test_a_pattern_that_no_topic_matches_finds_none(broker):
    assert cluster_of(broker).topics(("others*", "x"), Start.parse("earliest")) == {}


@pytest.mark.parametrize("call", ["describe_topics", "list_offsets"])
@pytest.mark.parametrize(
    ("code", "kind", "text"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, SettingsError, "refuses access (TOPIC_AUTHORIZATION_FAILED)"),
        (KafkaError._TIMED_OUT, TransientError, "does not answer (_TIMED_OUT)"),
    ],
)
def test_a_cluster_that_names_its_topics_may_still_refuse_what_they_hold(broker, monkeypatch, call, code, kind, text):
    def refuse(*_given: object, **_waits: object) -> None:
        raise KafkaException(KafkaError(code))

    topic = SimpleNamespace(topic_id="1", partitions=[SimpleNamespace(id=0)])
    described = {"one": SimpleNamespace(result=lambda: topic)}
    monkeypatch.setattr(AdminClient, "describe_topics", lambda *_given, **_waits: described)
    monkeypatch.setattr(AdminClient, call, refuse)
    with pytest.raises(kind) as caught:
        cluster_of(broker).topics(("one",), Start.parse("earliest"))
    assert str(caught.value).startswith(f"Kafka at {broker.properties['bootstrap.servers']} {text}")


def test_a_cluster_that_does_not_answer_at_first_is_tried_again(broker, monkeypatch):
    failures = [KafkaException(KafkaError(KafkaError._TRANSPORT))]
    list_topics = AdminClient.list_topics

    def list_or_fail(admin: AdminClient, *, timeout: float) -> object:
        if failures:
            raise failures.pop()
        return list_topics(admin, timeout=timeout)

    monkeypatch.setattr(kafka, "ANSWER_SECONDS", 60.0)
    monkeypatch.setattr(AdminClient, "list_topics", list_or_fail)
    assert cluster_of(broker).topics(("nothing",), Start.parse("earliest")) == {}
    assert not failures


def test_the_oldest_message_is_that_of_the_spans_that_have_one(broker):
    empty, *some = (
        Span(topic="one", partition=n, start=at, end=end) for n, at, end in ((0, 4, 4), (0, 2, 9), (1, 1, 4))
    )
    times = [next(iter_messages(broker.properties, [span]))[1].timestamp()[1] for span in some]
    oldest = datetime.fromtimestamp(min(times) / 1000, tz=UTC)
    assert cluster_of(broker).oldest_message([empty, *some]) == oldest
    assert cluster_of(broker).oldest_message([empty]) is None
    assert cluster_of(broker).oldest_message([]) is None


def test_an_error_that_passes_costs_no_message_and_doubles_none(broker, monkeypatch):
    class Shaken(Consumer):
        """Says between any two answers that it has lost the broker for a moment."""

        def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
            lost = Message(topic="one", partition=0, error=KafkaError(KafkaError._TRANSPORT, retriable=True))
            return [lost, *super().consume(num_messages, timeout), lost]

    monkeypatch.setattr(confluent_kafka, "Consumer", Shaken)
    assert offsets(broker, "one", 0, 2, 9) == [(n, b"%d" % n) for n in range(2, 9)]


def test_errors_that_pass_and_nothing_else_are_given_up(broker, monkeypatch):
    class Lost(Consumer):
        """Answers every call at once with the error that it has lost the broker for a moment."""

        def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
            return [Message(topic="one", partition=0, error=KafkaError(KafkaError._TRANSPORT, retriable=True))]

    monkeypatch.setattr(confluent_kafka, "Consumer", Lost)
    with pytest.raises(KafkaReadError, match=r"kafka:one/0 gives nothing after offset 2$"):
        offsets(broker, "one", 0, 2, 9)


@pytest.mark.parametrize("error", [RuntimeError("a mistake of ours"), SettingsError("correct it")])
def test_what_is_no_failure_of_reading_is_raised_as_it_is(error):
    with pytest.raises(type(error)) as caught, reading():
        raise error
    assert caught.value is error


def test_a_failure_of_reading_on_an_executor_may_be_tried_again():
    message = f"Job aborted: \n  KafkaReadError: {kafka.READ_FAILED}: kafka:t/0 from 7: _FAIL\n\tat a.b"
    with pytest.raises(TransientError) as caught, reading():
        raise RuntimeError(message)
    assert str(caught.value) == f"{kafka.READ_FAILED}: kafka:t/0 from 7: _FAIL; nothing was written: run the job again"


@pytest.mark.parametrize(
    ("sizes", "most"),
    [([0] * 5, 2_000), ([1_000] * 100, 2_000), ([430_000] * 100, 39), ([2**20] * 3, 16), ([64 * 2**20], 1)],
)
def test_messages_are_requested_by_the_size_of_those_before_them(sizes: list[int], most: int):
    """Two thousand of a megabyte would wait in memory at once."""
    assert next_batch(sizes) == most
