"""Columns of the wide log's source that no entry of the lake spec declares: kept beside the others, known by name.

Their values are in the log's ``row_values`` by name at the source, as text that is typed in ``row_types``. A type is
written ``<connector>:<type>``: without a schema, what a number means depends on who sent it. What is known of such
columns is in the log's commits: since when each is there and as what, and whether it was declared and filled since.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType

UNDECLARED_KEY = "undeclared_columns"
"""In the metadata of the log's commits: what is known of columns that are not declared."""
JSON_TYPE, LONG_TYPE = "json", "too long"
"""What is kept of a value that is none of its type (as JSON), and of one too long to keep (that it was there)."""
_WHOLE = frozenset({"int", "bigint"})


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptColumn:
    """A column that is kept although it was not declared when its first event came.

    ``types`` as the events had them; ``order`` and ``place`` are of its first event, ``at`` is when that was read.
    ``declared`` is the clock of the first run that had it declared: events that were read before that have its value
    beside the declared columns alone. ``filled`` is what it was declared as when the tables were filled from them, by
    whom and when.
    """

    types: tuple[str, ...]
    order: str
    place: str
    at: str
    declared: str = ""
    filled: str = ""
    filled_by: str = ""
    filled_at: str = ""


KeptColumns = Mapping[str, KeptColumn]
"""By name at the source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndeclaredValues:
    """Events of a batch in which a column that is not declared had a type; ``order`` and ``place`` of the first."""

    column: str
    type: str
    order: str
    place: str


def take_in(
    known: KeptColumns, found: Iterable[UndeclaredValues], declared: Iterable[str], *, at: str
) -> dict[str, KeptColumn]:
    """What is known after a batch.

    Args:
        known: what was.
        found: what it had; later batches may have earlier events.
        declared: names at the source of the columns that the lake spec declares.
        at: the run's clock.
    """
    columns = dict(known)
    for each in sorted(found, key=lambda one: (one.order, one.place, one.type)):
        before = columns.get(each.column)
        if before is None:
            columns[each.column] = KeptColumn(types=(each.type,), order=each.order, place=each.place, at=at)
            continue
        first = min((before.order, before.place), (each.order, each.place))
        types = tuple(sorted({*before.types, each.type}))
        columns[each.column] = replace(before, types=types, order=first[0], place=first[1])
    for name in {*declared} & {*columns}:
        columns[name] = replace(columns[name], declared=columns[name].declared or at)
    return columns


def pack_kept(columns: KeptColumns) -> str:
    """As text for commit metadata, the same for the same columns."""
    content = {name: asdict(columns[name]) for name in sorted(columns)}
    text = json.dumps(content, separators=(",", ":"), sort_keys=True).encode()
    return base64.b64encode(zlib.compress(text, 9)).decode()


def unpack_kept(text: str | None) -> dict[str, KeptColumn]:
    """Read what :func:`pack_kept` wrote; none for None."""
    content: dict[str, dict[str, Any]] = json.loads(zlib.decompress(base64.b64decode(text))) if text else {}
    return {name: KeptColumn(**{**of, "types": tuple(of["types"])}) for name, of in content.items()}


def form_of(column: ColumnSpec) -> str:
    """A declared column as ``filled`` has it: its name and all that decides how its kept values are read."""
    units = ", ".join(f"{connector}: {unit}" for connector, unit in sorted(column.unit))
    return f"{column.name} {column.sql_type}{f' {{{units}}}' if column.type is ColumnType.TIMESTAMP else ''}"


def to_fill(known: KeptColumns, declared: Iterable[ColumnSpec]) -> tuple[ColumnSpec, ...]:
    """The declared columns that tables are to be filled with from what was kept of them."""
    return tuple(
        column for column in declared if column.source in known and known[column.source].filled != form_of(column)
    )


def unfit_types(column: ColumnSpec, types: Iterable[str]) -> tuple[str, ...]:
    """Those of the types that values were kept with of which none can become one of a declared column."""
    return tuple(type_ for type_ in types if not _fits(column, type_.partition(":")[2]))


def _fits(column: ColumnSpec, kind: str) -> bool:
    """False where no value fits; of the others each value is looked at."""
    if not kind:
        return True  # null in every event
    number = kind in _WHOLE or kind.startswith("decimal")
    if column.type is ColumnType.BIGINT:
        return number or kind == "string"
    if column.type is ColumnType.DECIMAL:
        return (number or kind == "string") and not (column.packed and kind == "string")
    if column.type is ColumnType.TIMESTAMP:
        return kind in {"timestamp", "date", "bigint", "int", "string"}
    if column.type is ColumnType.BOOLEAN:
        return kind == "boolean" or kind in _WHOLE
    return number or kind in {"string", "boolean"}


def filled(known: KeptColumns, columns: Iterable[ColumnSpec], *, by: str, at: str) -> dict[str, KeptColumn]:
    """What is known once the tables have what was kept of these columns."""
    changed = {
        each.source: replace(
            known[each.source],
            filled=form_of(each),
            filled_by=by,
            filled_at=at,
            declared=known[each.source].declared or at,
        )
        for each in columns
    }
    return {**known, **changed}
