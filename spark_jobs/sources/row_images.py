"""The row image of an event of the wide log to the values of its columns.

Most images are in a usual form: numbers where a column has numbers, texts where it has texts, nulls. By the names and
types of an image it is known which values are right as they are; they are looked at together. Whenever one of them may
not be right, each value of the row is looked at by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple

from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.tables import ColumnType
from spark_jobs.sources.connect_schemas import UNREADABLE, Fields, RowSchema
from spark_jobs.sources.identity import Look, Shape
from spark_jobs.sources.placeholders import build_detector, build_screen
from spark_jobs.sources.undeclared_columns import Beside, UndeclaredReader
from spark_jobs.sources.values import INT64, Converter, build_converter, build_schema_converter

_MOST_WAYS = 128
_MOST_PLANS = 500
_CONTAINERS = (list, dict)
_AS_IT_IS = {ColumnType.BIGINT: int, ColumnType.STRING: str}
"""Types of values that are the value of a column, when a number is not too large and a text not too long."""


Row = tuple[tuple[Any, ...], tuple[str, ...] | None, Beside | None]
"""The values of the columns; of which columns it did not travel, None for none; what the image has beside them."""


class _Plan(NamedTuple):
    """How images of a shape are read: together, or each value by itself.

    ``numbers`` picks whole numbers that are right as they are, ``converted`` are the places of columns that are not.
    """

    numbers: Callable[[dict[str, Any]], tuple[int, ...]] | None
    converted: tuple[tuple[int, Converter], ...]
    unknown: tuple[str, ...] | None
    has_undeclared: bool
    is_together: bool = True


_EACH = _Plan(None, (), None, has_undeclared=True, is_together=False)


class _Way(NamedTuple):
    """How images of a connector and a schema are read: the converter of each column, and plans by shape."""

    converters: tuple[Converter, ...]
    has_own: frozenset[int]
    """Places of the columns whose converter is that of the schema."""
    plans: dict[Shape, _Plan]


class RowReader:
    """Reads row images of the wide log; keeps how those of each connector, schema and shape are read."""

    def __init__(self, spec: LakeSpec) -> None:
        self._columns = spec.source.columns
        self._names, self._sources = [c.name for c in self._columns], [c.source for c in self._columns]
        self._did_not_travel = build_detector(spec.source.placeholder)
        self._may_be_placeholders = build_screen(spec.source.placeholder)
        self._shortest = min((c.max_length for c in self._columns if c.type is ColumnType.STRING), default=INT64)
        key = spec.columns_by_name.get(spec.source.key)
        self._key = key.source if key else ""
        self._no_key = (None, "") if key and key.type is ColumnType.STRING else (None,)
        self._undeclared = UndeclaredReader(spec.source)
        self._ways: dict[tuple[str, RowSchema | str], _Way] = {}

    def check_key(self, image: dict[str, Any]) -> None:
        """RejectedRecordError when the key is missing."""
        if image.get(self._key) in self._no_key:
            raise RejectedRecordError(Reason.MISSING_KEY, f"{self._key} is missing")

    def read(self, image: dict[str, Any], look: Look, connector: str, schema: RowSchema) -> Row:
        """The row in ``image``, which ``look`` is of; RejectedRecordError when a value cannot be read."""
        way = self._ways.get((connector, schema)) or self._other_way(connector, schema)
        shape, texts, joined = look
        plan = way.plans.get(shape) or self._add_plan(way, shape)
        if plan.is_together and self._is_usual(image, plan, texts, joined):
            values = [*map(image.get, self._sources)]
            for at, convert in plan.converted:
                values[at] = convert(values[at])
            unknown = plan.unknown
        else:
            values, unknown = self._read_each(image, way.converters), self._unknown(image)
        beside = self._undeclared.read(image, connector, schema.fields) if plan.has_undeclared else None
        return tuple(values), unknown, beside

    def _is_usual(self, image: dict[str, Any], plan: _Plan, texts: tuple[str, ...], joined: str) -> bool:
        """True when the values that are right as they are for their type are so for what they hold, too."""
        if len(joined) > self._shortest or not (joined.isascii() or _is_utf8(joined)):
            return False
        if self._may_be_placeholders(joined, texts):
            return False
        if plan.numbers is None:
            return True
        numbers = plan.numbers(image)
        return min(numbers) >= -INT64 and max(numbers) < INT64

    def _read_each(self, image: dict[str, Any], converters: Iterable[Converter]) -> list[Any]:
        get, did_not_travel = image.get, self._did_not_travel
        return [
            None if (value := get(name)) is None or did_not_travel(value) else convert(value)
            for name, convert in zip(self._sources, converters, strict=True)
        ]

    def _unknown(self, image: dict[str, Any]) -> tuple[str, ...] | None:
        """Columns that the image lacks, or whose value did not travel."""
        named = zip(self._names, self._sources, strict=True)
        return (
            tuple(name for name, source in named if source not in image or self._did_not_travel(image[source])) or None
        )

    def _other_way(self, connector: str, schema: RowSchema) -> _Way:
        """The way of a schema that is not kept, or of one that was not met before."""
        key = (connector, schema if schema.is_kept else repr(schema.fields))
        way = self._ways.get(key)
        if way is None:
            way = self._build_way(connector, schema.fields)
            if len(self._ways) >= _MOST_WAYS:
                self._ways.clear()
            self._ways[key] = way
        return way

    def _build_way(self, connector: str, fields: Fields) -> _Way:
        converters, has_own = list[Converter](), set[int]()
        try:
            for at, column in enumerate(self._columns):
                field = fields.get(column.source)
                own = build_schema_converter(column, field) if field else None
                converters.append(own or build_converter(column, connector))
                if own:
                    has_own.add(at)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise RejectedRecordError(Reason.NOT_AN_ENVELOPE, UNREADABLE) from None
        return _Way(tuple(converters), frozenset(has_own), {})

    def _add_plan(self, way: _Way, shape: Shape) -> _Plan:
        if len(way.plans) >= _MOST_PLANS:
            way.plans.clear()
        way.plans[shape] = plan = self._plan_of(way, shape.types)
        return plan

    def _plan_of(self, way: _Way, types: Mapping[str, type]) -> _Plan:
        """Of images with lists or objects in columns each value is looked at."""
        numbers, converted = list[str](), list[tuple[int, Converter]]()
        for at, column in enumerate(self._columns):
            type_ = types.get(column.source, type(None))
            if type_ in _CONTAINERS:
                return _EACH
            if type_ is type(None):
                continue
            if at in way.has_own or type_ is not _AS_IT_IS.get(column.type):
                converted.append((at, way.converters[at]))
            elif type_ is int:
                numbers.append(column.source)
        return _Plan(
            numbers=_picker(numbers),
            converted=tuple(converted),
            unknown=tuple(c.name for c in self._columns if c.source not in types) or None,
            has_undeclared=not types.keys() <= {*self._sources},
        )


def _picker(names: list[str]) -> Callable[[dict[str, Any]], tuple[int, ...]] | None:
    if not names:
        return None
    return itemgetter(*names) if len(names) > 1 else itemgetter(names[0], names[0])


def _is_utf8(text: str) -> bool:
    """False for half a surrogate pair."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
