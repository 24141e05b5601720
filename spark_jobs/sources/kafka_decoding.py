"""Messages of Kafka to a DataFrame of decoded records, read on the executors: one task a span."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.python_tasks import Batches, map_tasks
from spark_jobs.sources.decoding import LINES, RecordDecoder, decoded_schema, line_batches
from spark_jobs.sources.kafka import iter_messages
from spark_jobs.sources.kafka_plan import Span

if TYPE_CHECKING:
    pass


def decode_spans(
    spark: SparkSession, spec: LakeSpec, properties: Mapping[str, str], spans: Sequence[Span]
) -> DataFrame:
    """A row for each message of ``spans``; one without a value, which marks a deleted key, is no event.

    Read again, the same offsets give the same messages: what Spark computes twice is the same twice.
    """

    def decode(numbers: Iterable[int]) -> Batches:
        decoder = RecordDecoder(spec)
        for number in numbers:
            span = spans[number]
            for message in iter_messages(properties, span):
                decoder.add(span.place, message.offset(), message.value() or b"", key=message.key() or b"")
                if decoder.is_full:
                    yield decoder.flush()
        yield decoder.flush()

    return map_tasks(spark, len(spans), decode, decoded_schema(spec))


def read_messages(
    spark: SparkSession,
    properties: Mapping[str, str],
    spans: Sequence[Span],
    wanted: Mapping[str, frozenset[int]],
) -> DataFrame:
    """The bytes of single messages: read_from, read_offset, raw. ``wanted`` are offsets by place."""
    parts = [
        (span.place, Span(topic=span.topic, partition=span.partition, start=min(among), end=max(among) + 1), among)
        for span in spans
        if (among := frozenset(at for at in wanted.get(span.place, ()) if span.start <= at < span.end))
    ]

    def read(numbers: Iterable[int]) -> Batches:
        for number in numbers:
            place, span, among = parts[number]
            messages = iter_messages(properties, span)
            yield from line_batches((place, m.offset(), m.value()) for m in messages if m.offset() in among)

    return map_tasks(spark, len(parts), read, LINES)
