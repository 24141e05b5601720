"""What envelopes have in common that name the same columns of one table: read by one decoder that is made for them.

A layout is learnt from a record that was decoded already. Its decoder (msgspec) takes records that have all the keys of
that one, no other, and values of the types that its columns are sent in; whatever differs is no record of the layout.
It keeps the last of equal keys, so the colons of each record are counted: of these keys there are just so many, and
what is left over has to be in texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from spark_jobs.sources.connect_schemas import RowSchema
from spark_jobs.sources.source_blocks import EventTable

_NAMED = frozenset({"connector", "name", "db", "schema", "table"})
"""Of a source block: the same in all records of a layout, so that they are of one table."""
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999."""
_MOST_NAMES = 300
_NOT_IN_NAMES = frozenset('":\\')


class Kind(Enum):
    """What the values of a column are in JSON, beside null."""

    WHOLE = "whole numbers of 64 bits"
    TEXT = "texts"
    TRUTH = "true and false"


_KINDS = {int: Kind.WHOLE, str: Kind.TEXT, bool: Kind.TRUTH}
Kinds = Mapping[str, Kind]
"""By name at the source, in the order of a record."""
Expected = Callable[[str], Kind | None]
"""What the values of a column are that are null in a record; None where that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A record that was decoded: its payload, its table, what its schema says, and the bytes before the payload."""

    payload: dict[str, Any]
    table: EventTable
    schema: RowSchema
    prefix: bytes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """How records are read that are like an example.

    Attributes:
        prefix: what each begins with; one that has a prefix ends in one more brace.
        decode: the envelope, with ``before``, ``after``, ``source``, ``op`` and ``transaction``; an error for others.
        before: the columns of the image before the change; their values are read in this order.
        after: those of the image after it; the same object when they are the same.
        source: the names in the source block.
        keys: how many keys there are without those in images and transaction.
        transaction_keys: how many it has, where it is none.
    """

    prefix: bytes
    decode: Callable[[bytes], Any]
    before: Kinds
    after: Kinds
    source: tuple[str, ...]
    keys: int
    transaction_keys: int
    table: EventTable
    schema: RowSchema

    def content_of(self, line: bytes) -> bytes | None:
        """The bytes of the envelope on a line; None when it cannot be of this layout."""
        if not self.prefix:
            return line
        return line[len(self.prefix) : -1] if line.startswith(self.prefix) and line.endswith(b"}") else None


def learn(example: Example, expected: Expected) -> Layout | None:
    """The layout of records like this one; None where each has to be looked at by itself."""
    import msgspec

    payload, source = example.payload, example.payload["source"]
    images = payload.get("before", ""), payload.get("after", "")
    kinds = [_kinds_of(image, expected) for image in images if image is not None]
    transaction = payload.get("transaction")
    parts = [part for part in (payload, source, transaction) if part is not None]
    if not all(kinds) or not all(type(part) is dict and _are_plain(part) for part in parts):
        return None
    before, after = (kinds * 2)[:2]
    if before is None or after is None or not _is_usual(source):
        return None
    before = after if _are_same(before, after) else before
    types = _Types(msgspec)
    image_types = types.image(before), types.image(after)
    if before is after:
        image_types = (image_types[1],) * 2
    own = {"before": image_types[0] | None, "after": image_types[1] | None, "source": types.source(source)}
    own |= {"op": types.op, "transaction": types.transaction(transaction)}
    envelope = types.struct({name: own.get(name, types.scalar) for name in payload}, named=own)
    return Layout(
        prefix=example.prefix,
        decode=msgspec.json.Decoder(envelope).decode,
        before=before,
        after=after,
        source=tuple(source),
        keys=len(payload) + len(source),
        transaction_keys=len(transaction or ()),
        table=example.table,
        schema=example.schema,
    )


class _Types:
    """Types of msgspec, which is imported where it is used."""

    def __init__(self, msgspec: Any) -> None:
        from typing import Annotated, Literal

        self._msgspec = msgspec
        whole = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
        self.scalar: Any = whole | str | bool | None
        self.moment: Any = Annotated[int, msgspec.Meta(ge=0, le=_LAST_MS)]
        self.op: Any = Literal["c", "d", "r", "u"]
        self._only: Any = Literal
        self._kinds = {Kind.WHOLE: whole | None, Kind.TEXT: str | None, Kind.TRUTH: bool | None}

    def struct(self, types: Mapping[str, Any], named: Mapping[str, Any] = {}) -> Any:
        """A type with all of these keys and no other; those of ``named`` keep their names as attributes."""
        fields = [
            (name if name in named else f"at{place}", type_, self._msgspec.field(name=name))
            for place, (name, type_) in enumerate(types.items())
        ]
        return self._msgspec.defstruct("Part", fields, forbid_unknown_fields=True, gc=False)

    def image(self, kinds: Kinds) -> Any:
        return self.struct({name: self._kinds[kind] for name, kind in kinds.items()})

    def source(self, source: Mapping[str, Any]) -> Any:
        return self.struct({name: self._in_source(name, value) for name, value in source.items()})

    def transaction(self, transaction: Mapping[str, Any] | None) -> Any:
        return self.struct(dict.fromkeys(transaction, self.scalar)) | None if transaction else None

    def _in_source(self, name: str, value: Any) -> Any:
        if name in _NAMED:
            return None if value is None else self._only[value]
        return self.moment if name == "ts_ms" else self.scalar


def _is_usual(source: Mapping[str, Any]) -> bool:
    """True for a source block with a time, and with names that are names."""
    names = [source[name] for name in _NAMED & source.keys()]
    return type(source.get("ts_ms")) is int and all(
        name is None or (type(name) is str and name.isprintable()) for name in names
    )


def _kinds_of(image: Any, expected: Expected) -> dict[str, Kind] | None:
    if type(image) is not dict or not _are_plain(image):
        return None
    kinds = {name: expected(name) if value is None else _KINDS.get(type(value)) for name, value in image.items()}
    return {name: kind for name, kind in kinds.items() if kind} if all(kinds.values()) else None


def _are_plain(names: Sequence[str] | Mapping[str, Any]) -> bool:
    """True for some names that are written as they are, in JSON too."""
    is_plain = all(name.isascii() and name.isprintable() and _NOT_IN_NAMES.isdisjoint(name) for name in names)
    return is_plain and 0 < len(names) <= _MOST_NAMES


def _are_same(before: Kinds, after: Kinds) -> bool:
    return list(before.items()) == list(after.items())
