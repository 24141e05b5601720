"""The row image of a mirrored table to the columns of the log that hold it: types, values, what did not travel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from spark_jobs.contracts.mirrors import MASK, MirrorSpec
from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.contracts.schemas import UNKNOWN_TYPE, reads
from spark_jobs.contracts.tables import ColumnSpec, ColumnType
from spark_jobs.sources.source_types import Reader, column_by_value, column_of
from spark_jobs.sources.values import build_converter, build_schema_converter

UNAVAILABLE = "__debezium_unavailable_value"
"""In place of a large value that did not change and that the database does not send again: it is not known."""
UNAVAILABLE_BYTES = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="
"""The same in a column of bytes."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_SCHEMAS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredRow:
    """What an event says of a row: by name at the source the SQL types, and the values as text.

    Of the columns in ``unknown`` the value did not travel.
    """

    origin: str
    types: tuple[tuple[str, str], ...]
    values: tuple[tuple[str, str | None], ...]
    unknown: tuple[str, ...] | None


class MirrorReader:
    """Reads row images of one mirrored table; keeps how records of the schemas that it met are read."""

    def __init__(self, mirror: MirrorSpec) -> None:
        self._mirror = mirror
        self._declared = {column.source: column for column in mirror.columns}
        self._by_schema: dict[str, dict[str, tuple[str, Reader]]] = {}
        self._by_connector: dict[str, dict[str, tuple[str, Reader]]] = {}

    def read(self, image: dict[str, Any], connector: str, fields: Mapping[str, Mapping[str, Any]]) -> MirroredRow:
        """The row in ``image``, by the ``fields`` of its Connect schema, which are none where it has no schema.

        Raises:
            RejectedRecordError: a value cannot be read, or a column of the key has none.
        """
        self._check_key(image)
        readers = self._readers(connector, fields)
        types, values, unknown = list[tuple[str, str]](), list[tuple[str, str | None]](), list[str]()
        for name, value in image.items():
            if name in self._mirror.drop:
                continue
            type_, text = self._column(name, value, readers)
            types.append((name, type_))
            if value in (UNAVAILABLE, UNAVAILABLE_BYTES):
                unknown.append(name)
            else:
                values.append((name, text))
        return MirroredRow(
            origin=self._mirror.origin,
            types=tuple(types),
            values=tuple(values),
            unknown=tuple(unknown) or None,
        )

    def read_key(self, image: dict[str, Any], connector: str, fields: Mapping[str, Mapping[str, Any]]) -> MirroredRow:
        """Of a row that is deleted: its key alone, since nothing else of it counts."""
        return self.read({name: image.get(name) for name in self._mirror.key}, connector, fields)

    def _check_key(self, image: dict[str, Any]) -> None:
        for name in self._mirror.key:
            if image.get(name) is None:
                raise RejectedRecordError(Reason.MISSING_KEY, f"{name} is missing")

    def _column(self, name: str, value: Any, readers: Mapping[str, tuple[str, Reader]]) -> tuple[str, str | None]:
        """Type and text of a value, null or not known when there is no text."""
        is_there = value is not None and value not in (UNAVAILABLE, UNAVAILABLE_BYTES)
        if name in self._mirror.mask:
            return "string", MASK if is_there else None
        if name in readers:
            type_, read = readers[name]
            return type_, read(value) if is_there else None
        return column_by_value(name, value) if is_there else (UNKNOWN_TYPE, None)

    def _readers(self, connector: str, fields: Mapping[str, Mapping[str, Any]]) -> Mapping[str, tuple[str, Reader]]:
        if not fields:
            if connector not in self._by_connector:
                declared = self._declared.values()
                self._by_connector[connector] = {
                    column.source: (column.sql_type, _to_text(build_converter(column, connector)))
                    for column in declared
                }
            return self._by_connector[connector]
        known = repr(fields)
        if known not in self._by_schema:
            if len(self._by_schema) >= _MOST_SCHEMAS:
                self._by_schema.clear()
            self._by_schema[known] = {name: self._of_field(name, field, connector) for name, field in fields.items()}
        return self._by_schema[known]

    def _of_field(self, name: str, field: Mapping[str, Any], connector: str) -> tuple[str, Reader]:
        own_type, own = column_of(name, field)
        if name not in self._declared:
            return own_type, own
        column: ColumnSpec = self._declared[name]
        if column.type is ColumnType.STRING and own_type != "string":
            # Text of anything else would be read as if it were the text of the column.
            return ("string" if reads("string", own_type) else own_type), own
        chosen = build_schema_converter(column, dict(field)) or build_converter(column, connector)
        return column.sql_type, _to_text(chosen)


def _to_text(convert: Callable[[Any], Any]) -> Reader:
    return lambda value: as_text(convert(value))


def as_text(value: Any) -> str:
    """The text of a value of a declared column."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        return str((value - _EPOCH) // timedelta(microseconds=1))
    return str(value)
