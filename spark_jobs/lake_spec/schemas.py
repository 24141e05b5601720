"""The columns of a source's tables as its events had them, and what happens to a column that changes.

| at the source | in the lake |
|---|---|
| a column more | a column more |
| a type that holds all that the old one held | that type, for the old rows too |
| a column less | it stays, null in what comes from then on |
| any other type | events of it go to the quarantine; the table stays as it is |

An event is read by the type that it came with, so one of an older type that arrives late is no change: it comes from
before the change in the source's own order.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import reduce

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.column_types import agree, holds, reads
from spark_jobs.lake_spec.table_spec import lake_name

SCHEMAS_KEY = "schemas"
"""In the metadata of the log's commits: what is known of tables at the source."""
UNKNOWN_TYPE = ""
"""Of a column that was null in everything that came so far, without a schema that names its type."""
SOURCE = "the source"
"""Who made a change that was not reviewed."""


class Kind(StrEnum):
    """What can become of a column."""

    ADDED = "added"
    WIDENED = "widened"
    DROPPED = "dropped"
    RETURNED = "returned"
    REFUSED = "refused"
    RENAMED = "renamed"
    CHANGED = "changed"
    REKEYED = "rekeyed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its name at the source and in the lake, its SQL type, and the event order from which it is as it is.

    Before the order ``added`` there was no such column, as far as events show.
    """

    source: str
    name: str
    type: str
    added: str
    since: str
    is_gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What happened to a column: by whom, when (the run's clock), from which event on, and where that was read."""

    kind: Kind
    column: str
    before: str = ""
    after: str = ""
    order: str = ""
    place: str = ""
    at: str = ""
    by: str = SOURCE


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchema:
    """The columns of a table, in the order in which they came, and everything that ever happened to them.

    ``key`` is the first that its records had. ``name`` is that of the table in the lake which was made of it because a
    pattern found it; then both are for good.
    """

    columns: tuple[Column, ...] = ()
    changes: tuple[Change, ...] = ()
    key: tuple[str, ...] = ()
    name: str = ""

    def column(self, source: str) -> Column | None:
        """The column with this name at the source."""
        return next((column for column in self.columns if column.source == source), None)


SchemaBook = Mapping[str, TableSchema]
"""By table of the source, as :attr:`spark_jobs.lake_spec.table_spec.TableSpec.origin` names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSpan:
    """Events of one table in which a column had one type: from the ``first`` order to the ``last``.

    ``type`` is ``UNKNOWN_TYPE`` where nothing says what it is; ``place`` is where the first one was read, ``number`` is
    the column's place in the row.
    """

    column: str
    type: str
    first: str
    last: str
    place: str = ""
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSchema:
    """What came of one table: from the ``first`` order to the ``last``, with these columns.

    ``names`` are the lake's names of columns that the spec declares. Deletes are no part of it: of their rows the key
    alone counts. ``keys`` are the keys that records had, in the order of their events. ``shard_of`` are tables of the
    lake that it becomes together with others, with whose types its own have to agree.
    """

    origin: str
    first: str
    last: str
    seen: tuple[TypeSpan, ...]
    names: Mapping[str, str] = field(default_factory=dict)
    keys: tuple[tuple[str, ...], ...] = ()
    shard_of: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Events that cannot be ingested: those in which ``column`` came as ``type``, from the order ``since`` on."""

    origin: str
    column: str
    type: str
    since: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evolution:
    """What is known of the tables after some events, what of them is refused, what changed, and which are new."""

    book: SchemaBook
    refusals: tuple[Refusal, ...] = ()
    changes: tuple[tuple[str, Change], ...] = ()
    added: tuple[str, ...] = ()


def evolve(
    book: SchemaBook, arrived: Iterable[BatchSchema], *, at: str, shards: Mapping[str, Sequence[str]] | None = None
) -> Evolution:
    """Take in what the events of a batch have for columns.

    Args:
        book: what is known.
        arrived: what came.
        at: the run's clock.
        shards: by table of the lake that several at the source become, those that are known.
    """
    known, refusals, changes = dict(book), list[Refusal](), list[tuple[str, Change]]()
    types = {name: widest_types(known[each] for each in origins) for name, origins in (shards or {}).items()}
    for of_table in sorted(arrived, key=lambda each: each.origin):
        before = known.get(of_table.origin, TableSchema())
        beside = {source: type_ for name in of_table.shard_of for source, type_ in types.get(name, {}).items()}
        after, refused = _take_in(before, of_table, at, beside)
        for name in of_table.shard_of:
            types[name] = _wider(types.get(name, {}), after)
        refusals += refused
        changes += [(of_table.origin, change) for change in after.changes[len(before.changes) :]]
        known[of_table.origin] = after
    added = tuple(sorted({*known} - {*book}))
    return Evolution(book=known, refusals=tuple(refusals), changes=tuple(changes), added=added)


def pack_book(book: SchemaBook) -> str:
    """As text for commit metadata, the same for the same book."""
    stored = {origin: asdict(book[origin]) for origin in sorted(book)}
    content = json.dumps(stored, separators=(",", ":"), sort_keys=True).encode()
    return base64.b64encode(zlib.compress(content, 9)).decode()


def unpack_book(text: str | None) -> SchemaBook:
    """Read what :func:`pack_book` wrote; empty for None."""
    stored = json.loads(zlib.decompress(base64.b64decode(text))) if text else {}
    return {
        origin: TableSchema(
            columns=tuple(Column(**column) for column in of["columns"]),
            changes=tuple(Change(**{**change, "kind": Kind(change["kind"])}) for change in of["changes"]),
            key=tuple(of.get("key", ())),
            name=of.get("name", ""),
        )
        for origin, of in stored.items()
    }


def widest_types(schemas: Iterable[TableSchema]) -> dict[str, str]:
    """By column at the source, the type that holds those that it has in several tables, which agree."""
    return reduce(_wider, schemas, {})


def _wider(types: Mapping[str, str], schema: TableSchema) -> dict[str, str]:
    wider = dict(types)
    for column in schema.columns:
        known = wider.get(column.source, column.type)
        wider[column.source] = column.type if holds(column.type, known) else known
    return wider


def _take_in(
    schema: TableSchema, arrived: BatchSchema, at: str, beside: Mapping[str, str]
) -> tuple[TableSchema, list[Refusal]]:
    columns = {column.source: column for column in schema.columns}
    changes, refusals = list(schema.changes), list[Refusal]()
    for seen in sorted(arrived.seen, key=lambda each: (each.first, each.number, each.last, each.column, each.type)):
        source, type_, column = seen.column, seen.type, columns.get(seen.column)
        change = Change(kind=Kind.ADDED, column=source, after=type_, order=seen.first, place=seen.place, at=at)
        if type_ == UNKNOWN_TYPE:
            continue
        fits = source not in beside or agree(type_, beside[source])
        if column is None and fits:
            name = _name_of(source, arrived.names, columns.values())
            columns[source] = Column(source=source, name=name, type=type_, added=seen.first, since=seen.first)
            changes.append(change)
        elif column and (column.type == type_ or (reads(column.type, type_) and seen.last < column.since)):
            continue
        elif column and fits and holds(type_, column.type):
            columns[source] = replace(column, type=type_, since=seen.first)
            changes.append(replace(change, kind=Kind.WIDENED, before=column.type))
        else:
            is_type = column.type if column else beside[source]
            since = column.since if column and reads(is_type, type_) else ""
            reason = f"{source} came as {type_} and is {is_type}"
            refusals.append(Refusal(origin=arrived.origin, column=source, type=type_, since=since, reason=reason))
            changes.append(replace(change, kind=Kind.REFUSED, before=is_type))
    changes += _gone_or_back(columns, arrived, at)
    key = schema.key or next(iter(arrived.keys), ())
    for other in (other for other in arrived.keys if {*other} != {*key}):
        before, after = ", ".join(key), ", ".join(other)
        changes.append(Change(kind=Kind.REKEYED, column=before, before=before, after=after, order=arrived.first, at=at))
    return replace(schema, columns=tuple(columns.values()), changes=_without_repeats(changes), key=key), refusals


def _gone_or_back(columns: dict[str, Column], arrived: BatchSchema, at: str) -> list[Change]:
    """Columns that the newest events lack and older ones had, and those that are there again."""
    last_seen, changes = dict[str, str](), list[Change]()
    for seen in arrived.seen:
        last_seen[seen.column] = max(seen.last, last_seen.get(seen.column, ""))
    for source, column in list(columns.items()):
        last = last_seen.get(source, "")
        is_gone = last < arrived.last
        if is_gone != column.is_gone and column.since < arrived.last:
            order = max(last, arrived.first) if is_gone else last
            columns[source] = replace(column, is_gone=is_gone, since=max(order, column.since))
            kind = Kind.DROPPED if is_gone else Kind.RETURNED
            changes.append(Change(kind=kind, column=source, order=order, at=at))
    return changes


def _without_repeats(changes: Sequence[Change]) -> tuple[Change, ...]:
    """The changes without refusals and other keys that were reported before."""
    reported, kept = set[tuple[str, str, str]](), list[Change]()
    for change in changes:
        what = (change.column, change.before, change.after)
        is_reported_once = change.kind in (Kind.REFUSED, Kind.REKEYED)
        if not is_reported_once or what not in reported:
            kept.append(change)
        if is_reported_once:
            reported.add(what)
    return tuple(kept)


def _name_of(source: str, declared: Mapping[str, str], columns: Iterable[Column]) -> str:
    """The lake's name of a new column: as declared, or made of its own; none is in a table twice.

    Names that are declared wait for their columns. A column that is there keeps its name, also when it was declared for
    another one later; ``schema plan`` reports that.
    """
    taken = {column.name for column in columns} | {name for of, name in declared.items() if of != source}
    name = declared.get(source) or _made_name(source)
    while name in taken:
        name += "_"
    return name


def _made_name(source: str) -> str:
    try:
        return lake_name(source)
    except ContractError:  # of letters that no engine takes in a name
        return f"column_{hashlib.sha256(source.encode()).hexdigest()[:8]}"
