"""Rows of a database as a delivery: decoded like change events, from the bytes that such events would have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.snapshots import Snapshots, pack_snapshots
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.python_tasks import Batches, map_batches
from spark_jobs.sources.decoding import LINES, RecordDecoder, decoded_schema, line_batches
from spark_jobs.sources.delivery import SNAPSHOTS_KEY
from spark_jobs.sources.jdbc.envelopes import EnvelopeBuilder

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcDelivery:
    """Some parts of a table, read once.

    Args:
        rows_df: what ``JdbcDatabase.read`` gives, pinned: read again, the table might be another one.
        builder: makes the event of a row, and its key.
        origin: server, schema and table.
        first: the number of the first part.
        records: rows of ``rows_df``.
        snapshots: how far all of them have come once this is committed.
        has_more: parts are left.
        may_be_known: a run that died may have read them before, or a person may have replayed what it quarantined.
    """

    rows_df: DataFrame
    builder: EnvelopeBuilder
    origin: str
    first: int
    records: int
    snapshots: Snapshots
    has_more: bool
    may_be_known: bool
    messages: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Never: that a part has no rows has to be kept as well."""
        return False

    @property
    def most_records(self) -> int:
        return self.records

    @property
    def counters(self) -> dict[str, int]:
        return {"rows_read": self.records}

    @property
    def checkpoint(self) -> dict[str, str]:
        return {SNAPSHOTS_KEY: pack_snapshots(self.snapshots)}

    def decode(self, spark: SparkSession, spec: LakeSpec) -> DataFrame:
        builder, origin, first = self.builder, self.origin, self.first

        def decode(batches: Batches) -> Batches:
            decoder = RecordDecoder(spec)
            for batch in batches:
                for part, place, *values in rows_of(batch):
                    line, key = builder.build(values), builder.build_key(values)
                    decoder.add(place_of(origin, first + part), place, line, key=key)
                    if decoder.is_full:
                        yield decoder.flush()
            yield decoder.flush()

        return map_batches(self.rows_df, decode, decoded_schema(spec))

    def lines(self, spark: SparkSession, places: Mapping[str, frozenset[int]]) -> DataFrame:
        builder, origin, first = self.builder, self.origin, self.first

        def build(batches: Batches) -> Batches:
            for batch in batches:
                yield from line_batches(
                    (name, place, builder.build(values))
                    for part, place, *values in rows_of(batch)
                    if place in places.get(name := place_of(origin, first + part), ())
                )

        return map_batches(self.rows_df, build, LINES)

    def count_read(self, messages: int) -> int:
        """Counted as the database gave them, before anything was decoded."""
        return self.records


def place_of(origin: str, part: int) -> str:
    """``jdbc:<server>.<schema>.<table>/<part>``: ``read_from`` of rows, whose ``read_offset`` counts them as read."""
    return f"jdbc:{origin}/{part}"


def rows_of(batch: pyarrow.RecordBatch) -> Iterator[tuple[Any, ...]]:
    """The rows of a batch as tuples of its columns' values."""
    return zip(*(column.to_pylist() for column in batch.columns), strict=True)
