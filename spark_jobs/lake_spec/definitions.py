"""What decides the rows of a mart or a table, part by part, and which parts differ between two states of it.

The parts are kept in the commits that they made, so that a changed file is noticed before it changes a row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.rules import RuleBook
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import Deletes, TableSpec

Parts = Mapping[str, str]
"""What a definition says, by the name of its entry; entries that say nothing are left out."""

_FIXED = frozenset({"from", "key", "partition", "nulls", "null_columns"})
"""Parts of a table that decide which rows it has, what is in them and where they are stored: rows by two of them, side
by side, would be of no definition."""


def mart_parts(mart: MartSpec, spec: LakeSpec) -> dict[str, str]:
    """What decides the rows of a mart.

    How it is stored and when it is refreshed are no parts, nor is the time zone of a mart that uses none. What decides
    the versions that it reads is one, because they are found when they are read: with another meaning of null, those of
    long ago are others.
    """
    reads = [[read.table, read.scope, read.by, read.partition, *filter(None, [read.at])] for read in mart.reads]
    versions = [_of_versions(table, spec) for read in mart.reads if (table := spec.versions_of(read.table))]
    uses_zone = mart.window or ":time_zone" in mart.sql or ":time_zone" in json.dumps(reads)
    return _given(
        mode=mart.mode.value,
        grain=", ".join(mart.grain),
        scope=mart.scope,
        partition=mart.partition,
        time=f"{mart.time.column} by {mart.time.unit}" if mart.time else "",
        window=f"{mart.window.length} {mart.window.unit}" if mart.window else "",
        rules="by month" if mart.rules else "",
        reads=_digest(reads),
        sql=_digest(mart.sql_words),
        time_zone=spec.time_zone if uses_zone else "",
        versions=_digest(versions) if versions else "",
    )


def table_parts(table: TableSpec, spec: LakeSpec) -> dict[str, str]:
    """What decides the rows of a table that is merged from events."""
    return _given(
        **{"shards" if table.shards else "from": table.origin},
        key=", ".join(table.key),
        columns=", ".join(table.columns),
        partition=table.partitioned_by,
        deletes=table.deletes.value if table.deletes else "",
        nulls=spec.nulls_of(table).value,
        null_columns=", ".join(f"{column} {nulls}" for column, nulls in sorted(table.null_columns)),
        drop=", ".join(sorted(table.drop)),
        mask=", ".join(sorted(table.mask)),
    )


def changed_parts(stored: Parts, now: Parts) -> tuple[str, ...]:
    """Names of the parts in which two definitions differ."""
    return tuple(sorted(name for name in {*stored, *now} if stored.get(name) != now.get(name)))


def fixed_parts(stored: Parts, now: Parts) -> tuple[str, ...]:
    """Those of a table that concern the rows that are there: it is not written until it was rebuilt."""
    fixed = {*_FIXED, *(["deletes"] if _removes(stored, now) else [])}
    return tuple(name for name in changed_parts(stored, now) if name in fixed)


def is_rebuildable(stored: Parts, now: Parts) -> bool:
    """False when the log cannot make the other table in this one's place: what was deleted is kept apart by its key."""
    return not (_removes(stored, now) and {"key", "from"} & {*changed_parts(stored, now)})


def _removes(stored: Parts, now: Parts) -> bool:
    return Deletes.REMOVE.value in (stored.get("deletes"), now.get("deletes"))


def digest_of(spec: LakeSpec, book: RuleBook | None) -> str:
    """A digest of all definitions of a lake, and of its rules: another one, and a plan is of other files."""
    marts = {mart.name: mart_parts(mart, spec) for mart in spec.marts}
    tables = {table.name: table_parts(table, spec) for table in spec.tables if not table.is_found}
    tables |= {pattern.name: table_parts(pattern.like, spec) for pattern in spec.patterns}
    loads = {load.name: [load.record_key, load.partition_column] for load in spec.loads}
    rules = {rules.version: rules.content for rules in book.versions} if book else {}
    return _digest([marts, tables, loads, rules])


def _of_versions(table: TableSpec, spec: LakeSpec) -> dict[str, str]:
    """What decides the versions of a table's rows, given its history. Stored columns do, of one at the source."""
    parts = table_parts(table, spec)
    found: dict[str, str] = {name: parts[name] for name in ("key", "nulls", "null_columns") if name in parts}
    return found if table.is_mirror else {**found, "columns": ", ".join(sorted(table.columns))}


def _given(**parts: str) -> dict[str, str]:
    return {name: text for name, text in parts.items() if text}


def _digest(facts: object) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
