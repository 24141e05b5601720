"""What an event of the wide log has beside the declared columns: kept by name at the source, as text with its type.

Nothing here refuses a record: what is none of its type is kept as JSON, and of what is too long it is kept that it was
there. A value that did not travel is not there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.lake_spec.schemas import UNKNOWN_TYPE
from spark_jobs.lake_spec.tables import SourceSpec
from spark_jobs.lake_spec.undeclared_columns import JSON_TYPE, LONG_TYPE
from spark_jobs.sources.placeholders import build_detector
from spark_jobs.sources.source_types import MOST_TEXT, Reader, column_by_value, column_of


class Beside(NamedTuple):
    """By name at the source the types and the texts; a text is None for null, and for what is not kept."""

    types: tuple[tuple[str, str], ...]
    values: tuple[tuple[str, str | None], ...]


class UndeclaredReader:
    """Finds what row images have beside the columns of a source, without those that it drops."""

    def __init__(self, source: SourceSpec) -> None:
        self._declared = frozenset(column.source for column in source.columns)
        self._drop, self._is_dropped = source.drop, dict[str, bool]()
        self._did_not_travel = build_detector(source.placeholder)
        self._readers: dict[str, tuple[Mapping[str, Any], str, tuple[str, Reader]]] = {}

    def read(self, image: Mapping[str, Any], connector: str, fields: Mapping[str, Mapping[str, Any]]) -> Beside | None:
        """What the image has; None when it has nothing. ``fields`` are those of its Connect schema, if it has one."""
        names = image.keys() - self._declared
        if not names:
            return None
        types, values = list[tuple[str, str]](), list[tuple[str, str | None]]()
        for name in sorted(names):
            if self._drops(name) or not _is_text(name) or self._did_not_travel(value := image[name]):
                continue
            type_, text = self._column(name, value, fields.get(name))
            types.append((name, f"{connector}:{type_}"))
            values.append((name, text))
        return Beside(types=tuple(types), values=tuple(values)) if types else None

    def _drops(self, name: str) -> bool:
        if name not in self._is_dropped:
            self._is_dropped[name] = any(fnmatchcase(name, pattern) for pattern in self._drop)
        return self._is_dropped[name]

    def _column(self, name: str, value: Any, field: Mapping[str, Any] | None) -> tuple[str, str | None]:
        try:
            if field is None:
                return column_by_value(name, value) if value is not None else (UNKNOWN_TYPE, None)
            type_, read = self._reader(name, field)
            return type_, None if value is None else read(value)
        except RejectedRecordError as error:
            return _as_json(value) if error.reason is not Reason.TOO_LONG else (LONG_TYPE, None)
        except (AttributeError, KeyError, TypeError, ValueError):  # a schema that is none
            return _as_json(value)

    def _reader(self, name: str, field: Mapping[str, Any]) -> tuple[str, Reader]:
        """How a field is read; kept for each name, as long as its field stays the same."""
        if name in self._readers and self._readers[name][0] is field:
            return self._readers[name][2]
        known = repr(field)
        if name not in self._readers or self._readers[name][1] != known:
            self._readers[name] = field, known, column_of(name, field)
        return self._readers[name][2]


def _as_json(value: Any) -> tuple[str, str | None]:
    if value is None:
        return UNKNOWN_TYPE, None
    text = json.dumps(value, separators=(",", ":"), default=str)  # in ASCII: any text can be written so
    return (JSON_TYPE, text) if len(text) <= MOST_TEXT else (LONG_TYPE, None)


def _is_text(name: str) -> bool:
    """False for a name that cannot be written."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)
