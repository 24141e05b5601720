"""Messages of Kafka to a DataFrame of decoded records, read on the executors: a client a task, for its spans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.python_tasks import Batches, map_tasks
from spark_jobs.sources.decoding import LINES, RecordDecoder, decoded_schema, line_batches
from spark_jobs.sources.kafka import iter_messages
from spark_jobs.sources.kafka_plan import Span
from spark_jobs.sources.kafka_spans import share_out


def decode_spans(
    spark: SparkSession, spec: LakeSpec, properties: Mapping[str, str], spans: Sequence[Span]
) -> DataFrame:
    """A row for each message of ``spans``; one without a value, which marks a deleted key, is no event.

    Read again, the same offsets give the same messages: what Spark computes twice is the same twice.
    """
    tasks = share_out(spans)

    def decode(numbers: Iterable[int]) -> Batches:
        decoder = RecordDecoder(spec)
        for number in numbers:
            for span, message in iter_messages(properties, tasks[number]):
                decoder.add(span.place, message.offset(), message.value() or b"", key=message.key() or b"")
                if decoder.is_full:
                    yield decoder.flush()
        yield decoder.flush()

    return map_tasks(spark, len(tasks), decode, decoded_schema(spec))


def read_messages(
    spark: SparkSession,
    properties: Mapping[str, str],
    spans: Sequence[Span],
    wanted: Mapping[str, frozenset[int]],
) -> DataFrame:
    """The bytes of single messages: read_from, read_offset, raw. ``wanted`` are offsets by place."""
    among = {
        Span(topic=span.topic, partition=span.partition, start=min(places), end=max(places) + 1): places
        for span in spans
        if (places := frozenset(at for at in wanted.get(span.place, ()) if span.start <= at < span.end))
    }
    tasks = share_out([*among])

    def read(numbers: Iterable[int]) -> Batches:
        for number in numbers:
            found = iter_messages(properties, tasks[number])
            yield from line_batches(
                (span.place, m.offset(), m.value()) for span, m in found if m.offset() in among[span]
            )

    return map_tasks(spark, len(tasks), read, LINES)
