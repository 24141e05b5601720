"""A real Kafka broker for tests, and what fills its topics: librdkafka's own producer and admin client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, ResourceType

from local_stack.servers.kafka import KafkaBroker
from local_stack.servers.services import RunFolder

_SECONDS = 30.0


@dataclass(kw_only=True)
class Topics:
    """The topics of a broker, for a test to make, fill and break."""

    servers: str
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def _client(self) -> dict[str, Any]:
        return {**self.properties, "bootstrap.servers": self.servers, "log_level": 2}

    @cached_property
    def _admin(self) -> AdminClient:
        return AdminClient(self._client)  # kept: its requests end with it

    def create(self, topic: str, *, partitions: int = 1, **settings: str) -> None:
        """Make a topic; ``settings`` are the topic's, with underscores for dots."""
        config = {name.replace("_", "."): value for name, value in settings.items()}
        new = NewTopic(topic, num_partitions=partitions, replication_factor=1, config=config)
        self._admin.create_topics([new])[topic].result(_SECONDS)

    def delete(self, topic: str) -> None:
        """Delete a topic, and wait until the broker knows it no more."""
        self._admin.delete_topics([topic])[topic].result(_SECONDS)
        while topic in self._admin.list_topics(timeout=_SECONDS).topics:
            pass

    def delete_all(self) -> None:
        """Delete every topic but Kafka's own."""
        for topic in self._admin.list_topics(timeout=_SECONDS).topics:
            if not topic.startswith("__"):
                self.delete(topic)

    def widen(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        self._admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(_SECONDS)

    def forget(self, topic: str, partition: int, before: int) -> None:
        """Have the broker delete what is before an offset, as retention does."""
        place = TopicPartition(topic, partition, before)
        self._admin.delete_records([place])[place].result(_SECONDS)

    def settings_of(self, topic: str) -> dict[str, str]:
        """How a topic is set up."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        entries = self._admin.describe_configs([resource])[resource].result(_SECONDS)
        return {name: each.value for name, each in entries.items()}

    def send(
        self,
        topic: str,
        values: Iterable[bytes | None],
        *,
        partition: int = 0,
        keys: Iterable[bytes] | None = None,
        timestamps: Sequence[int] = (),
    ) -> None:
        """Append messages in this order; ``timestamps`` are milliseconds since 1970."""
        producer = Producer({**self._client, "message.max.bytes": 8_000_000})
        self._send(producer, topic, values, partition=partition, keys=keys, timestamps=timestamps)
        producer.flush(_SECONDS)

    @contextmanager
    def transaction(self, name: str, topic: str, values: Iterable[bytes], *, commits: bool = True) -> Iterator[None]:
        """Append messages that count when the block has ended, or never."""
        producer = Producer({**self._client, "transactional.id": name})
        producer.init_transactions(_SECONDS)
        producer.begin_transaction()
        self._send(producer, topic, values)
        producer.flush(_SECONDS)
        yield
        if commits:
            producer.commit_transaction(_SECONDS)
        else:
            producer.abort_transaction(_SECONDS)

    def _send(
        self,
        producer: Producer,
        topic: str,
        values: Iterable[bytes | None],
        *,
        partition: int = 0,
        keys: Iterable[bytes] | None = None,
        timestamps: Sequence[int] = (),
    ) -> None:
        failures: list[object] = []

        def on_delivery(error: object, _message: object) -> None:
            if error is not None:
                failures.append(error)

        key = iter(keys) if keys is not None else None
        for at, value in enumerate(values):
            more: dict[str, Any] = {"timestamp": timestamps[at]} if timestamps else {}
            producer.produce(topic, value, next(key) if key else b"k", partition, on_delivery=on_delivery, **more)
            producer.poll(0)
        assert not failures, failures


@contextmanager
def running_kafka(folder: Path, **facts: Any) -> Iterator[KafkaBroker]:
    """A broker with its files in ``folder``, which ends with the block; ``facts`` are those of KafkaBroker."""
    broker = KafkaBroker(folder=RunFolder(folder), **facts)
    with broker.folder.stopping():
        broker.start()
        yield broker
