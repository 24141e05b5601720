"""The row image of a mirrored table to the columns of the log that hold it: types, values, what did not travel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.lake_spec.column_types import reads
from spark_jobs.lake_spec.schemas import UNKNOWN_TYPE
from spark_jobs.lake_spec.table_patterns import NO_KEY
from spark_jobs.lake_spec.table_sources import ORIGIN
from spark_jobs.lake_spec.table_spec import MASK, TableSpec
from spark_jobs.lake_spec.tables import PLACEHOLDER, ColumnSpec, ColumnType
from spark_jobs.sources.connect_schemas import Fields, RowSchema
from spark_jobs.sources.identity import Look
from spark_jobs.sources.placeholders import build_detector, build_screen
from spark_jobs.sources.source_types import Reader, column_by_value, column_of
from spark_jobs.sources.values import build_converter, build_schema_converter

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_SCHEMAS = 64
_MAY_NOT_TRAVEL = (str, list, dict)
"""Types that placeholders come in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MirroredRow:
    """What an event says of a row: by name at the source the SQL types, and the values as text.

    Of the columns in ``unknown`` the value did not travel. ``key`` are the columns of its key, where only its record
    has them.
    """

    origin: str
    types: tuple[tuple[str, str], ...]
    values: tuple[tuple[str, str | None], ...]
    unknown: tuple[str, ...] | None
    key: tuple[str, ...] | None = None


class MirrorReader:
    """Reads row images of one table at the source; keeps how records of the schemas that it met are read.

    ``mirrors`` are the tables of the lake that are made of it, without a key where it is not known yet. What one of
    them drops or masks reaches none. ``placeholder`` is what the connector sends for a value that did not travel.
    """

    def __init__(self, origin: str, mirrors: Sequence[TableSpec], *, placeholder: str = PLACEHOLDER) -> None:
        self._did_not_travel, self._may_be_placeholders = build_detector(placeholder), build_screen(placeholder)
        self._origin, self._keys = origin, tuple(mirror.key for mirror in mirrors if mirror.key != NO_KEY)
        self._key_columns = frozenset(name for key in self._keys for name in key if name != ORIGIN)
        self._drop = frozenset(name for mirror in mirrors for name in mirror.drop)
        self._mask = frozenset(name for mirror in mirrors for name in mirror.mask)
        self._declared = {column.source: column for mirror in mirrors for column in mirror.declared}
        self._by_schema: dict[tuple[str, RowSchema | str], dict[str, tuple[str, Reader]]] = {}

    def read(self, op: str, image: dict[str, Any], look: Look, connector: str, schema: RowSchema) -> MirroredRow:
        """The row in ``image``, which ``look`` is of, by the fields of its schema: none where it has no schema.

        Of a row that is deleted only the keys count: what else is in its image is kept where it can be read, for tables
        that get another key.

        Raises:
            RejectedRecordError: a value cannot be read, or every table lacks a column of its key.
        """
        self._check_key(image)
        readers = self._readers(connector, schema)
        types, values, unknown = list[tuple[str, str]](), list[tuple[str, str | None]](), list[str]()
        _, texts, joined = look
        suspects = _MAY_NOT_TRAVEL if self._may_be_placeholders(joined, texts) else _MAY_NOT_TRAVEL[1:]
        for name, value in image.items():
            if name in self._drop:
                continue
            is_unknown = type(value) in suspects and self._did_not_travel(value)
            try:
                type_, text = self._column(name, None if is_unknown else value, readers)
            except RejectedRecordError:
                if op != "d" or name in self._key_columns:
                    raise
                continue
            types.append((name, type_))
            if is_unknown:
                unknown.append(name)
            else:
                values.append((name, text))
        return MirroredRow(
            origin=self._origin,
            types=tuple(types),
            values=tuple(values),
            unknown=tuple(unknown) or None,
        )

    def _check_key(self, image: dict[str, Any]) -> None:
        missing = [_missing_of(key, image) for key in self._keys]
        if missing and all(missing):
            raise RejectedRecordError(Reason.MISSING_KEY, f"{missing[0]} is missing")

    def _column(self, name: str, value: Any, readers: Mapping[str, tuple[str, Reader]]) -> tuple[str, str | None]:
        """Type and text of a value; no text for null, which one that did not travel counts as."""
        is_there = value is not None
        if name in self._mask:
            return "string", MASK if is_there else None
        if name in readers:
            type_, read = readers[name]
            return type_, read(value) if is_there else None
        return column_by_value(name, value) if is_there else (UNKNOWN_TYPE, None)

    def _readers(self, connector: str, schema: RowSchema) -> Mapping[str, tuple[str, Reader]]:
        known = (connector, schema if schema.is_kept else repr(schema.fields))
        if known not in self._by_schema:
            if len(self._by_schema) >= _MOST_SCHEMAS:
                self._by_schema.clear()
            self._by_schema[known] = self._build_readers(connector, schema.fields)
        return self._by_schema[known]

    def _build_readers(self, connector: str, fields: Fields) -> dict[str, tuple[str, Reader]]:
        if fields:
            return {name: self._of_field(name, field, connector) for name, field in fields.items()}
        return {
            column.source: (column.sql_type, _to_text(build_converter(column, connector)))
            for column in self._declared.values()
        }

    def _of_field(self, name: str, field: dict[str, Any], connector: str) -> tuple[str, Reader]:
        own_type, own = column_of(name, field)
        if name not in self._declared:
            return own_type, own
        column: ColumnSpec = self._declared[name]
        if column.type is ColumnType.STRING and own_type != "string":
            # Text of anything else would be read as if it were the text of the column.
            return ("string" if reads("string", own_type) else own_type), own
        chosen = build_schema_converter(column, field) or build_converter(column, connector)
        return column.sql_type, _to_text(chosen)


def _missing_of(key: tuple[str, ...], image: Mapping[str, Any]) -> str | None:
    """The first column of a key that the image lacks. Alone, an empty text is no key: no table can store it."""
    none = (None, "") if len(key) == 1 else (None,)
    return next((name for name in key if name != ORIGIN and image.get(name) in none), None)


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
