"""What one run takes in, wherever it was delivered: files of the landing path, messages of Kafka's topics, tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.kafka import TopicProgress, pack_progress
from spark_jobs.frames import union
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.sources.decoding import decode_chunks, read_lines
from spark_jobs.sources.kafka_decoding import decode_spans, read_messages
from spark_jobs.sources.kafka_plan import KafkaPlan
from spark_jobs.sources.landing import pack_ledger
from spark_jobs.sources.landing_plan import LandingPlan

LEDGER_KEY, PROGRESS_KEY, SNAPSHOTS_KEY = "landing_ledger", "kafka_progress", "jdbc_snapshots"
"""In the metadata of the log's commits: what was read of landing files, of topics, and of tables of databases."""


class Delivery(Protocol):
    """Records that were delivered and are read now."""

    @property
    def is_empty(self) -> bool:
        """True when nothing is to be read, and nothing to be kept."""

    @property
    def has_more(self) -> bool:
        """True when more is waiting than is read now."""

    @property
    def may_be_known(self) -> bool:
        """False when the log can have no event of it, so that no lookup is needed."""

    @property
    def most_records(self) -> int:
        """How many records there are at most, without what is broken; known before any is decoded."""

    @property
    def counters(self) -> dict[str, int]:
        """For the job's result: what was looked at."""

    @property
    def messages(self) -> tuple[str, ...]:
        """For the job's result: what a person should know."""

    @property
    def checkpoint(self) -> dict[str, str]:
        """For the commit that holds the rows: what was read."""

    def decode(self, spark: SparkSession, spec: LakeSpec) -> DataFrame:
        """A row for each record, usable or not, with the columns of ``decoding.decoded_schema``."""

    def lines(self, spark: SparkSession, places: Mapping[str, frozenset[int]]) -> DataFrame:
        """The bytes of single records by ``read_from`` and ``read_offset``: read_from, read_offset, raw."""

    def count_read(self, messages: int) -> int:
        """How many records there were; ``messages`` of Kafka were decoded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingDelivery:
    """What is new in the landing path."""

    plan: LandingPlan
    root: str
    files: int
    messages: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        return not self.plan.chunks and not self.plan.broken

    @property
    def has_more(self) -> bool:
        return self.plan.has_more

    @property
    def may_be_known(self) -> bool:
        return True

    @property
    def most_records(self) -> int:
        return self.plan.records

    @property
    def counters(self) -> dict[str, int]:
        return {"files_listed": self.files, "records_read": self.plan.records}

    @property
    def checkpoint(self) -> dict[str, str]:
        return {LEDGER_KEY: pack_ledger(self.plan.ledger)}

    def decode(self, spark: SparkSession, spec: LakeSpec) -> DataFrame:
        return decode_chunks(spark, spec, self.root, self.plan.chunks, self.plan.broken)

    def lines(self, spark: SparkSession, places: Mapping[str, frozenset[int]]) -> DataFrame:
        return read_lines(spark, self.root, self.plan.chunks, places)

    def count_read(self, messages: int) -> int:
        """Counted while the files were looked through, before anything was decoded."""
        return self.plan.records + len(self.plan.broken)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaDelivery:
    """What is new in the topics."""

    plan: KafkaPlan
    topics: int
    others: Mapping[str, TopicProgress]
    """How far topics were read that are not the lake's at the moment."""
    messages: tuple[str, ...]
    properties: Mapping[str, str] = field(repr=False)
    """How a client gets in; it may hold a password."""

    @property
    def is_empty(self) -> bool:
        return not self.plan.is_news

    @property
    def has_more(self) -> bool:
        return self.plan.has_more

    @property
    def may_be_known(self) -> bool:
        return True

    @property
    def most_records(self) -> int:
        return sum(span.end - span.start for span in self.plan.spans)

    @property
    def counters(self) -> dict[str, int]:
        return {"topics": self.topics, "offsets_read": self.most_records}

    @property
    def checkpoint(self) -> dict[str, str]:
        return {PROGRESS_KEY: pack_progress({**self.others, **self.plan.progress})}

    def decode(self, spark: SparkSession, spec: LakeSpec) -> DataFrame:
        return decode_spans(spark, spec, self.properties, self.plan.spans)

    def lines(self, spark: SparkSession, places: Mapping[str, frozenset[int]]) -> DataFrame:
        return read_messages(spark, self.properties, self.plan.spans, places)

    def count_read(self, messages: int) -> int:
        """As many as executors read, each of which reads to the end of its span or fails.

        Offsets do not give that number: some are marks of transactions.
        """
        return messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliveries:
    """What is new in several places, ingested by one commit."""

    parts: tuple[Delivery, ...]

    @property
    def is_empty(self) -> bool:
        return all(part.is_empty for part in self.parts)

    @property
    def has_more(self) -> bool:
        return any(part.has_more for part in self.parts)

    @property
    def may_be_known(self) -> bool:
        return any(part.may_be_known for part in self.parts)

    @property
    def most_records(self) -> int:
        return sum(part.most_records for part in self.parts)

    @property
    def counters(self) -> dict[str, int]:
        return {name: count for part in self.parts for name, count in part.counters.items()}

    @property
    def messages(self) -> tuple[str, ...]:
        return tuple(message for part in self.parts for message in part.messages)

    @property
    def checkpoint(self) -> dict[str, str]:
        return {key: text for part in self.parts for key, text in part.checkpoint.items()}

    def decode(self, spark: SparkSession, spec: LakeSpec) -> DataFrame:
        return self._of_all(lambda part: part.decode(spark, spec))

    def lines(self, spark: SparkSession, places: Mapping[str, frozenset[int]]) -> DataFrame:
        return self._of_all(lambda part: part.lines(spark, places))

    def count_read(self, messages: int) -> int:
        return sum(part.count_read(messages) for part in self.parts)

    def _of_all(self, read: Callable[[Delivery], DataFrame]) -> DataFrame:
        return union(map(read, self.parts))
