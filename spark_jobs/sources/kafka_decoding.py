"""Messages of Kafka to a DataFrame of decoded records, read on the executors: one task a span."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.sources.decoding import LINES, RecordDecoder, decoded_schema
from spark_jobs.sources.kafka import iter_messages
from spark_jobs.sources.kafka_plan import Span
from spark_jobs.sources.python_tasks import map_batches

if TYPE_CHECKING:
    import pyarrow


def decode_spans(
    spark: SparkSession, spec: LakeSpec, properties: Mapping[str, str], spans: Sequence[Span]
) -> DataFrame:
    """A row for each message of ``spans``; one without a value, which marks a deleted key, is no event.

    Read again, the same offsets give the same messages: what Spark computes twice is the same twice.
    """

    def decode(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        decoder = RecordDecoder(spec)
        for batch in batches:
            for task in batch.column(0).to_pylist():
                span, place = spans[task], spans[task].place
                for message in iter_messages(properties, span):
                    decoder.add(place, message.offset(), message.value() or b"")
                    yield from decoder.full()
        yield decoder.flush()

    return map_batches(spark.range(0, len(spans), 1, max(1, len(spans))), decode, decoded_schema(spec))


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

    def read(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            for task in batch.column(0).to_pylist():
                place, span, among = parts[task]
                found = [(m.offset(), m.value()) for m in iter_messages(properties, span) if m.offset() in among]
                columns = {
                    "read_from": pa.array([place] * len(found), pa.string()),
                    "read_offset": pa.array([offset for offset, _ in found], pa.int64()),
                    "raw": pa.array([value for _, value in found], pa.binary()),
                }
                yield pa.RecordBatch.from_pydict(columns)

    return map_batches(spark.range(0, len(parts), 1, max(1, len(parts))), read, LINES)
