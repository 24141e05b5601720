"""A topic of a real broker with generated sales events, which gets more of them on each call."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bench.race import say
from spark_jobs.generator.delivery import TOMBSTONE, Delivery
from spark_jobs.generator.life import Life
from spark_jobs.generator.plan import DEFAULT_TOPIC, Plan, Rates

START, DAYS = datetime(2026, 6, 1, tzinfo=UTC), 10
END = START + timedelta(days=DAYS)
_AT_A_TIME = 1_000
_ANSWER_SECONDS = 60.0
_MOST_BYTES = 8_000_000
"""Of a message: one of the broken ones is larger than topics take by default."""
_PRODUCER = {
    "linger.ms": 50,
    "batch.num.messages": 10_000,
    "queue.buffering.max.messages": 200_000,
    "message.max.bytes": _MOST_BYTES,
    "log_level": 2,
}


@dataclass(kw_only=True)
class SalesTopic:
    """Events of one life in turn on the partitions, as Debezium's JSON without schemas.

    With the generator's usual share of late, partial, repeated, corrected and broken ones.
    """

    servers: str
    partitions: int
    total_events: int
    name: str = DEFAULT_TOPIC
    ends: list[int] = field(init=False)
    """Of each partition the offset of the next message."""

    def __post_init__(self) -> None:
        self.ends = [0] * self.partitions
        admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 2})
        config = {"max.message.bytes": str(_MOST_BYTES)}
        new = NewTopic(self.name, num_partitions=self.partitions, replication_factor=1, config=config)
        admin.create_topics([new])[self.name].result(_ANSWER_SECONDS)

    @property
    def messages(self) -> int:
        """How many there are."""
        return sum(self.ends)

    @cached_property
    def _delivery(self) -> Delivery:
        rates = Rates(added_column_at=0.0)
        plan = Plan(seed=1, total_events=self.total_events, start=START, end=END, rates=rates)
        return Delivery(plan, Life.begin(plan))

    def go_on(self, events: int) -> int:
        """Append the next ``events`` and whatever comes with them; gives how many messages that were."""
        producer, before = Producer({**_PRODUCER, "bootstrap.servers": self.servers}), self.messages
        for done in range(0, events, _AT_A_TIME):
            for text in self._delivery.deliver(min(_AT_A_TIME, events - done)):
                partition = self.messages % self.partitions
                value = None if text == TOMBSTONE else text.encode("utf-8", "surrogateescape")
                producer.produce(self.name, value, str(self.messages), partition)
                self.ends[partition] += 1
            producer.poll(0)
        if left := producer.flush(_ANSWER_SECONDS):
            raise RuntimeError(f"{left} messages did not reach the broker")
        say(f"{self.messages - before:,} messages in {self.partitions} partitions")
        return self.messages - before
