"""A Kafka cluster: which topics and offsets it has, and the messages of a span, by librdkafka.

Only committed messages count: those of a transaction that is open are awaited, those of an aborted one are none.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from spark_jobs.contracts.errors import LakehouseError, SettingsError, TransientError
from spark_jobs.contracts.kafka import Start, parse_properties
from spark_jobs.contracts.names import plain
from spark_jobs.contracts.settings import Settings
from spark_jobs.sources.kafka_plan import Bounds, Span, TopicState, first_offsets
from spark_jobs.sources.kafka_spans import SpansLeft
from spark_jobs.sources.topics import is_topic

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

ANSWER_SECONDS = 30.0
_TRY_SECONDS, _STALLED_SECONDS = 2.0, 120.0
_BATCH, _FIRST_BATCH = 2_000, 100
_BATCH_BYTES = 16 * 1024 * 1024
"""Of messages requested at a time, by the size of those before them."""
_POLL_SECONDS = 0.2
_TIME_UNKNOWN = -1
READ_FAILED = "messages could not be read from Kafka"
"""How the errors of :func:`iter_messages` begin, which reach the driver as text."""

log = logging.getLogger(__name__)


class KafkaReadError(Exception):
    """A span cannot be read to its end; never leaves the executor as anything but text."""


def client_properties(settings: Settings) -> dict[str, str]:
    """How every client of the cluster gets in."""
    given = parse_properties(settings.kafka_properties)
    return {"client.id": "lakehouse", **given, "bootstrap.servers": settings.kafka_servers}


@dataclass(kw_only=True)
class KafkaCluster:
    """Queries what a cluster has.

    Raises:
        SettingsError: it does not let us in.
        TransientError: it does not answer.
    """

    properties: Mapping[str, str] = field(repr=False)
    _reported: list[KafkaError] = field(default_factory=list)

    def topics(self, patterns: Sequence[str], start: Start) -> dict[str, TopicState]:
        """The topics whose names match, without case, with where they begin by ``start``; Kafka's own are none."""
        from confluent_kafka import KafkaException, TopicCollection

        admin = self._admin()
        try:
            known = self._list_topics(admin)
            names = [name for name in known if not name.startswith("__") and is_topic(name, patterns)]
            if not names:
                return {}
            described = admin.describe_topics(TopicCollection(names), request_timeout=ANSWER_SECONDS)
            facts = {name: described[name].result() for name in names}
            numbers = {name: [each.id for each in facts[name].partitions] for name in names}
            earliest, latest = self._offsets(admin, numbers, "earliest"), self._offsets(admin, numbers, "latest")
            begin = {name: first_offsets(start, name, earliest[name], latest[name]) for name in names}
            if start.moment is not None:
                at = self._offsets(admin, numbers, start.moment)
                begin = {n: {p: latest[n][p] if o < 0 else o for p, o in of.items()} for n, of in at.items()}
        except KafkaException as error:
            raise self._translated(error.args[0]) from error
        return {
            name: TopicState(
                topic_id=str(facts[name].topic_id),
                partitions={
                    p: Bounds(earliest=earliest[name][p], latest=latest[name][p], start=begin[name][p])
                    for p in numbers[name]
                },
            )
            for name in names
        }

    def oldest_message(self, spans: Sequence[Span]) -> datetime | None:
        """The earliest time that the first message of a span has; None when there are none, or none has a time."""
        moments = []
        with reading():
            for _, first in iter_messages(self.properties, spans, most=1):
                kind, milliseconds = first.timestamp()
                if kind and milliseconds > _TIME_UNKNOWN:
                    moments.append(datetime.fromtimestamp(milliseconds / 1000, tz=UTC))
        return min(moments, default=None)

    def _list_topics(self, admin: Any) -> list[str]:
        """Names of all topics; fails at once when we are not let in, which only a callback reports."""
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + ANSWER_SECONDS
        while True:
            try:
                return [*admin.list_topics(timeout=_TRY_SECONDS).topics]
            except KafkaException as error:
                admin.poll(0)
                failure = self._translated(error.args[0])
                if isinstance(failure, SettingsError) or time.monotonic() > deadline:
                    raise failure from error

    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        try:
            configuration: dict[str, Any] = {**self.properties, "error_cb": self._reported.append, "logger": log}
            return AdminClient(configuration)
        except Exception as error:  # what it says quotes names of properties, not their values
            raise SettingsError(
                f"Kafka's client cannot be made ({_reason(error)}); correct LAKEHOUSE_KAFKA_SERVERS and "
                f"LAKEHOUSE_KAFKA_PROPERTIES, or the connection lakehouse_kafka"
            ) from error

    def _offsets(
        self, admin: Any, numbers: Mapping[str, Sequence[int]], at: str | datetime
    ) -> dict[str, dict[int, int]]:
        """Of each partition the offset at a place; -1 where no message is as late as a time."""
        from confluent_kafka import IsolationLevel, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        if isinstance(at, datetime):
            spec = OffsetSpec.for_timestamp(int(at.timestamp() * 1000))
        else:
            spec = OffsetSpec.earliest() if at == "earliest" else OffsetSpec.latest()
        wanted = {TopicPartition(name, number): spec for name, of in numbers.items() for number in of}
        answers = admin.list_offsets(
            wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=ANSWER_SECONDS
        )
        found: dict[str, dict[int, int]] = {name: {} for name in numbers}
        for place, answer in answers.items():
            found[place.topic][place.partition] = answer.result().offset
        return found

    def _translated(self, error: KafkaError) -> SettingsError | TransientError:
        from confluent_kafka import KafkaError as Codes

        refused = {
            Codes._AUTHENTICATION, Codes._SSL, Codes.SASL_AUTHENTICATION_FAILED, Codes.TOPIC_AUTHORIZATION_FAILED,
            Codes.CLUSTER_AUTHORIZATION_FAILED, Codes.UNSUPPORTED_SASL_MECHANISM,
        }  # fmt: skip
        servers = self.properties["bootstrap.servers"]
        if refusal := next((each for each in (error, *self._reported) if each.code() in refused), None):
            return SettingsError(
                f"Kafka at {servers} refuses access ({plain(refusal.name())}); correct the connection lakehouse_kafka "
                f"or LAKEHOUSE_KAFKA_PROPERTIES, and what its user may read"
            )
        return TransientError(
            f"Kafka at {servers} does not answer ({plain(error.name())}); see whether it runs, or correct "
            f"LAKEHOUSE_KAFKA_SERVERS, and run the job again"
        )


@contextmanager
def reading() -> Iterator[None]:
    """Turn what :func:`iter_messages` says on an executor into a TransientError."""
    try:
        yield
    except LakehouseError:
        raise
    except Exception as error:
        if match := re.search(rf"{READ_FAILED}: [^\n]*", str(error)):
            raise TransientError(f"{match.group()}; nothing was written: run the job again") from error
        raise


def iter_messages(
    properties: Mapping[str, str], spans: Sequence[Span], *, most: int | None = None
) -> Iterator[tuple[Span, Any]]:
    """The committed messages of spans of different partitions, each with its span, those of a span in their order.

    One client reads them side by side, so that its threads, its connections and its wait at the end of a partition are
    there once. Of each span no more than the first ``most`` messages, if that is given.

    Raises:
        KafkaReadError: a span cannot be read to its end.
    """
    from confluent_kafka import TopicPartition

    left = SpansLeft(spans, most=most)
    if not left.offsets:
        return
    with _client(properties) as consumer:
        consumer.assign([TopicPartition(span.topic, span.partition, span.start) for span in left.spans])
        deadline, count = time.monotonic() + _STALLED_SECONDS, _FIRST_BATCH
        while before := left.offsets:
            messages = consumer.consume(min(count, before), timeout=_POLL_SECONDS)
            if messages:
                count = next_batch([len(message) for message in messages])
            for message in messages:
                place = message.topic(), message.partition()
                if left.is_done(*place) or not _is_answer(message, left):
                    continue
                if span := left.take(*place, message.offset(), is_message=message.error() is None):
                    yield span, message
                if left.offsets and left.is_done(*place):
                    consumer.pause([TopicPartition(*place)])  # what else it has is not wanted
            if left.offsets < before:  # errors that pass are no progress: a broker may give nothing else for ever
                deadline = time.monotonic() + _STALLED_SECONDS
            elif time.monotonic() > deadline:
                name, position = left.place_of(None, None)
                raise KafkaReadError(f"{READ_FAILED}: {name} gives nothing after offset {position}")


@contextmanager
def _client(properties: Mapping[str, str]) -> Iterator[Any]:
    """A client that reads what it is assigned, for the block."""
    from confluent_kafka import Consumer

    configuration: dict[str, Any] = {
        **properties,
        "group.id": "lakehouse",  # required by the client, but no group is joined: the plan assigns partitions
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",  # an offset that is not there must not become another one
        "isolation.level": "read_committed",
        "queued.max.messages.kbytes": 16_384,
        "fetch.queue.backoff.ms": 20,  # a second by default: the decoder is done with what is queued long before
        "logger": log,
    }
    consumer = Consumer(configuration)
    try:
        yield consumer
    finally:
        consumer.close()


def _is_answer(message: Any, left: SpansLeft) -> bool:
    """True for a message and for the end of a partition, False for an error that passes; KafkaReadError for others."""
    from confluent_kafka import KafkaError

    error = message.error()
    if error is None or error.code() == KafkaError._PARTITION_EOF:
        return True
    if error.retriable():
        return False
    name, position = left.place_of(message.topic(), message.partition())
    raise KafkaReadError(f"{READ_FAILED}: {name} from {position}: {error.name()}")


def next_batch(sizes: Sequence[int]) -> int:
    """How many messages to request after some of these sizes: they wait in memory, and may be a megabyte each."""
    return max(1, min(_BATCH, _BATCH_BYTES * len(sizes) // max(sum(sizes), 1)))


def _reason(error: Exception) -> str:
    code = error.args[0] if error.args else error
    return plain(code.name() if hasattr(code, "name") else type(error).__name__)
