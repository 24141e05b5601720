"""The columns of mirrored tables in a batch of events: what is new is ingested, what does not fit is quarantined."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import reduce

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.names import plain
from spark_jobs.contracts.rejections import Reason
from spark_jobs.lake_spec.resolving import resolve, settle
from spark_jobs.lake_spec.schemas import (
    SCHEMAS_KEY,
    BatchSchema,
    Change,
    Evolution,
    Kind,
    Refusal,
    TypeSpan,
    evolve,
    pack_book,
)
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.sources.decoding import KEY_COLUMNS
from spark_jobs.storage.lake_specs import read_book
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.log import is_usable, with_reason

_MESSAGES = {
    Kind.ADDED: "column {column} ({after}) was added",
    Kind.WIDENED: "column {column} is {after} now, was {before}",
    Kind.DROPPED: "column {column} is gone at the source; it stays, and is null in later rows",
    Kind.RETURNED: "column {column} is there again",
    Kind.REFUSED: "column {column} came as {after} and is {before}: those events are in the quarantine",
    Kind.REKEYED: "records say that its key is {after}; its table keeps {before}",
}


def column_queries(decoded_df: DataFrame, spec: LakeSpec) -> dict[str, DataFrame]:
    """What :func:`evolve_columns` is to be given of decoded records: columns and types, and keys, of their tables."""
    if not (spec.mirrors or spec.patterns):
        return {}
    is_row = is_usable() & F.col("source_table").isNotNull() & (F.col("op") != "d")
    columns_df = decoded_df.where(is_row).select(
        *("source_table", "event_order", "read_from", "read_offset"),
        F.posexplode("row_types").alias("number", "column", "type"),
    )
    typed_df = columns_df.groupBy("source_table", "column", "type").agg(
        F.min(F.struct("event_order", "read_from", "read_offset")).alias("first"),
        F.max("event_order").alias("last"),
        F.min("number").alias("number"),
    )
    if not spec.patterns:
        return {"columns": typed_df}
    keyed_df = decoded_df.where(is_usable() & F.col(KEY_COLUMNS).isNotNull())
    keys_df = keyed_df.groupBy("source_table", KEY_COLUMNS).agg(F.min("event_order").alias("first"))
    return {"columns": typed_df, "keys": keys_df}


def evolve_columns(
    rows: Mapping[str, Sequence[Row]], spec: LakeSpec, log_timeline: Timeline, clock: datetime
) -> Evolution:
    """The columns of a batch, by the rows of :func:`column_queries`, compared with and added to what is known.

    Names and keys of tables that a pattern found before are settled first: what comes now takes none of them.
    """
    book = settle(spec, read_book(log_timeline))
    arrived = _arrived(rows, spec)
    shards = {table.name: table.origins for table in resolve(spec, book).mirrors if table.shards}
    evolution = evolve(book, arrived, at=format_clock(clock), shards=shards)
    return replace(evolution, book=settle(spec, evolution.book))


def quarantine_types(decoded_df: DataFrame, refusals: Sequence[Refusal]) -> DataFrame:
    """The records, with those that have a refused column as rejected ones; their bytes are still to be found."""
    if not refusals:
        return decoded_df
    reason = F.coalesce(*(F.when(_is_refused(refusal), F.lit(refusal.reason)) for refusal in refusals))
    return with_reason(decoded_df, is_usable() & reason.isNotNull(), Reason.OTHER_TYPE, reason)


def column_metadata(evolution: Evolution) -> dict[str, str]:
    """For the log's next commit, what is known of columns then."""
    return {SCHEMAS_KEY: pack_book(evolution.book)} if evolution.book else {}


def column_messages(evolution: Evolution, spec: LakeSpec) -> tuple[str, ...]:
    """A line for each new table and each change, and for each refusal and each table that is not made, once more.

    Their events are no less missing.
    """
    new = evolution.added
    lines = [f"{plain(origin)}: is new, with {len(evolution.book[origin].columns)} columns" for origin in new]
    lines += [f"{plain(origin)}: {_line(change)}" for origin, change in evolution.changes if origin not in new]
    known = {(origin, change.column, change.after) for origin, change in evolution.changes}
    again = [each for each in evolution.refusals if (each.origin, each.column, each.type) not in known]
    lines += [f"{plain(each.origin)}: {each.reason}: those events are in the quarantine" for each in again]
    return (*lines, *unresolved_lines(resolve(spec, evolution.book)))


def unresolved_lines(spec: LakeSpec) -> tuple[str, ...]:
    """A line for each table at the source that a pattern found and none of the lake's is made of."""
    return tuple(f"{plain(origin)}: {line}" for origin, line in spec.unresolved)


def column_alerts(evolution: Evolution, spec: LakeSpec) -> tuple[str, ...]:
    """What a person has to decide, each reported once.

    That is about columns that came as their table cannot take them, keys that are other ones, and tables that are new
    and not made.
    """
    changed = [
        f"{plain(origin)}: {_line(change)}; docs/schemas.md says what to do"
        for origin, change in evolution.changes
        if change.kind in (Kind.REFUSED, Kind.REKEYED)
    ]
    unresolved = resolve(spec, evolution.book).unresolved
    return (*changed, *(f"{plain(origin)}: {line}" for origin, line in unresolved if origin in evolution.added))


def _line(change: Change) -> str:
    return _MESSAGES[change.kind].format(column=plain(change.column), before=change.before, after=change.after)


def _arrived(rows: Mapping[str, Sequence[Row]], spec: LakeSpec) -> list[BatchSchema]:
    names: dict[str, dict[str, str]] = defaultdict(dict)
    for mirror in spec.mirrors:
        for origin in mirror.origins:
            names[origin] |= mirror.names
    seen: dict[str, list[TypeSpan]] = defaultdict(list)
    for row in rows.get("columns", ()):
        first = row["first"]
        place = f"{first['read_from']}:{first['read_offset']}"
        seen[row["source_table"]].append(
            TypeSpan(
                column=row["column"],
                type=row["type"],
                first=first["event_order"],
                last=row["last"],
                place=place,
                number=row["number"],
            )
        )
    keys = _keys(rows.get("keys", ()))
    shards = [table for table in spec.mirrors if table.shards]
    of = {origin: [table for table in shards if table.is_from(origin)] for origin in seen}
    return [
        BatchSchema(
            origin=origin,
            first=min(each.first for each in of_table),
            last=max(each.last for each in of_table),
            seen=tuple(of_table),
            names=names.get(origin, {}) | _names_of_new(spec, origin, of[origin]),
            keys=tuple(keys.get(origin, ())),
            shard_of=tuple(table.name for table in of[origin]),
        )
        for origin, of_table in seen.items()
    ]


def _names_of_new(spec: LakeSpec, origin: str, shards: Sequence[TableSpec]) -> dict[str, str]:
    """The lake's names of declared columns of a table at the source that none of the lake's is made of yet."""
    pattern = spec.pattern_of(origin)
    declared = [*shards, *([pattern.like] if pattern else ())]
    return {source: name for table in declared for source, name in table.names.items()}


def _keys(rows: Sequence[Row]) -> dict[str, list[tuple[str, ...]]]:
    """By table at the source, the keys that records have, in the order of their first events."""
    keys: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["first"], *row[KEY_COLUMNS])):
        keys[row["source_table"]].append(tuple(row[KEY_COLUMNS]))
    return keys


def _is_refused(refusal: Refusal) -> Column:
    parts = [
        F.col("source_table") == refusal.origin,
        F.col("op") != "d",
        F.element_at("row_types", F.lit(refusal.column)) == refusal.type,
        F.col("event_order") >= refusal.since,
    ]
    return F.coalesce(reduce(operator.and_, parts), F.lit(False))
