"""The entry ``source`` of a lake spec: the columns that its events have."""

from __future__ import annotations

from typing import Any

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.places import Entries, Items
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType, Nulls, NumberUnit, OriginRule, SourceSpec
from spark_jobs.spec_files.documents import build, choice, mapping, section, sequence
from spark_jobs.spec_files.mistakes import Mistakes

_UNKNOWN = ColumnSpec(name="unknown", source="unknown", type=ColumnType.STRING)


def find_source(document: Entries, found: Mistakes) -> SourceSpec:
    """The source; when something is wrong with it, which is added to ``found``, what is right of it."""
    entry, columns, kept = Entries(), tuple[ColumnSpec, ...](), Items()
    with found.of(document, lost="columns"):
        entry = section(document, "source", "source") if "source" in document else mapping(None, "source")
        with found.of(entry, lost="columns"):
            listed = sequence(entry.get("columns", []), "columns", at=("columns",))
            columns, kept = found.each("columns", listed, column_of)
        nulls: dict[str, Any] = {"nulls": Nulls.UNKNOWN}
        nulls |= {name: value for name, value in read_nulls(entry, found, "source").items() if value is not None}
        if "null_columns" in entry:
            error = ContractError("source: unknown entries ['null_columns']; write nulls", at=("null_columns",))
            found.add(error, entry)
        rule = OriginRule.ONE
        if "origins" in entry:
            with found.of(entry):
                rule = choice(OriginRule, entry["origins"], "source", at=("origins",))
        try:
            where = entry.having({"columns": kept})
            parts = {"columns": columns, "origins": rule, **nulls}
            source: SourceSpec = build(SourceSpec, entry.having(parts), "source", where=where)
        except ContractError as error:
            found.add(error, where)
            return _right_of(columns, entry.get("key"), error, found)
        return source
    return _right_of((), None, ContractError(), found)


def _right_of(columns: tuple[ColumnSpec, ...], key: Any, error: ContractError, found: Mistakes) -> SourceSpec:
    """A source of the columns without mistakes, so that what refers to them can be looked at."""
    wrong = {each.at[1] for each in error.each if len(each.at) > 1 and each.at[0] == "columns"}
    for number in wrong:
        found.leave_out("columns", columns[number].name)
    right = tuple(column for number, column in enumerate(columns) if number not in wrong) or (_UNKNOWN,)
    if key not in [column.name for column in right]:
        found.leave_out("source", "key")
        key = right[0].name
    return SourceSpec(topics=("*",), key=key, columns=right)


def read_nulls(entry: Entries, found: Mistakes, what: str) -> dict[str, Any]:
    """What null means: one word for all columns, or ``{default: …, columns: {name: …}}``."""
    if "nulls" not in entry:
        return {}
    parts: dict[str, Any] = {"nulls": None}
    with found.of(entry):
        if isinstance(entry["nulls"], str):
            return {"nulls": choice(Nulls, entry["nulls"], what, at=("nulls",))}
        named = section(entry, "nulls", f"{what}: nulls")
        if unknown := sorted({*named} - {"default", "columns"}, key=str):
            raise ContractError(
                f"{what}: nulls has {show(unknown[0])}; known are default and columns", at=("nulls", unknown[0])
            )
        if "default" in named:
            parts["nulls"] = choice(Nulls, named["default"], what, at=("nulls", "default"))
        columns = section(named, "columns", f"{what}: nulls: columns")
        of_columns = [(c, choice(Nulls, rule, what, at=("nulls", "columns", c))) for c, rule in columns.items()]
        parts["null_columns"] = tuple(of_columns)
    return parts


def column_of(document: Any) -> ColumnSpec:
    """A column that an entry declares."""
    entry, found = mapping(document, "a source column"), Mistakes()
    what, parts = f"column {show(entry.get('name'))}", dict[str, Any]()
    parts["type"] = None
    with found.of(entry):
        parts["type"] = choice(ColumnType, entry.get("type"), what, at=("type",))
    if "unit" in entry:
        with found.of(entry):
            units = mapping(entry["unit"], "unit", at=("unit",))
            parts["unit"] = tuple((k, choice(NumberUnit, v, what, at=("unit", k))) for k, v in units.items())
    column: ColumnSpec = build(ColumnSpec, entry.having(parts), what, found=found)
    return column
