"""A broker of a few topics in this process, which librdkafka brings along: it starts in no time.

It takes messages and gives them out. What a real one has besides (transactions, retention, logins) is tried with a
real one (tests/spark_jobs/jobs/test_ingest_kafka.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from confluent_kafka import Producer

_SECONDS = 10.0


class SmallBroker:
    """Topics that are there once something was sent to them, with four partitions each."""

    def __init__(self) -> None:
        self._producer = Producer({"test.mock.num.brokers": 1, "log_level": 2})
        (broker,) = self._producer.list_topics(timeout=_SECONDS).brokers.values()
        self.properties = {"bootstrap.servers": f"{broker.host}:{broker.port}"}

    def send(self, topic: str, partition: int, values: Iterable[bytes | None], *, key: bytes | None = None) -> None:
        """Append messages in this order, all with one key; the first offset is 0."""
        for value in values:
            self._producer.produce(topic, value, key, partition=partition)
        assert self._producer.flush(_SECONDS) == 0


@contextmanager
def small_broker() -> Iterator[SmallBroker]:
    """A broker that is there until the end of the block."""
    yield SmallBroker()
