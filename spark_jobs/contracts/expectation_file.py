"""Read expectations: ``<table>.yaml``, a mapping of each expectation's name to its entry."""

from __future__ import annotations

import os
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from spark_jobs.contracts.documents import build, choice, mapping, read_document
from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.expectations import Action, Expectation, Figure, Kind
from spark_jobs.contracts.names import plain, show, show_path

_TRUE = frozenset({Kind.NOT_NULL, Kind.UNIQUE})
_RANGES = frozenset({Kind.BETWEEN, Kind.ROWS, Kind.MEAN})
_TEXTS = {Kind.MATCHES: "pattern", Kind.HOLDS: "condition", Kind.REFERS_TO: "refers_to"}
_OTHERS = frozenset({"action", "says", "column", "columns", "where", "tolerate_percent", "from_rows"})


def load_expectations(folder: Path) -> tuple[Expectation, ...]:
    """Every expectation in ``folder``, table by table.

    Raises:
        SettingsError: the folder or a file cannot be read.
        ContractError: an entry contradicts itself; the message names its file.
    """
    if not os.path.isdir(folder):  # unlike Path's own: False for a name that no folder can have
        raise SettingsError(
            f"expectations: there is no folder {show_path(folder)}; correct the lake spec's entry expectations"
        )
    return tuple(each for path in sorted(folder.glob("*.yaml")) for each in read_expectations(path))


def read_expectations(path: Path) -> tuple[Expectation, ...]:
    """Those of one table, in the file that has its name; raises as :func:`load_expectations` does."""
    document = read_document(path, what="expectations", then="correct them")
    try:
        entries = mapping({} if document is None else document, "the file")
        return tuple(
            parse_expectation(path.stem, name, mapping(entry, f"expectation {show(name)}"))
            for name, entry in entries.items()
        )
    except ContractError as error:
        raise ContractError(f"{plain(path.name)}: {error}") from error


def parse_expectation(table: str, name: object, entry: Mapping[str, Any]) -> Expectation:
    """Build an :class:`Expectation`; ContractError for unknown, missing or wrong entries."""
    what = f"expectation {show(name)}"
    kinds = [kind for kind in Kind if kind.value in entry]
    if len(kinds) != 1:
        raise ContractError(f"{what}: give one of {[kind.value for kind in Kind]}, not {len(kinds)}")
    kind = kinds[0]
    if unknown := sorted(set(map(str, entry)) - _OTHERS - {kind.value}):
        raise ContractError(f"{what}: unknown entries {show(unknown)}; known are {sorted({*_OTHERS, kind.value})}")
    values: dict[str, Any] = {"table": table, "name": name, "kind": kind, **_asked(kind, entry[kind.value], what)}
    values["columns"] = _columns(entry, what)
    values["action"] = choice(Action, entry.get("action", Action.WARN), what)
    if "tolerate_percent" in entry:
        values["tolerate_percent"] = _percent(entry["tolerate_percent"], what)
    values |= {key: entry[key] for key in ("says", "where", "from_rows") if key in entry}
    expectation: Expectation = build(Expectation, values, what)
    return expectation


def _columns(entry: Mapping[str, Any], what: str) -> tuple[str, ...]:
    columns = entry.get("columns", [entry["column"]] if "column" in entry else [])
    is_names = isinstance(columns, list) and all(isinstance(each, str) for each in columns)
    if not is_names or ("column" in entry and "columns" in entry):
        raise ContractError(f"{what}: give column: name, or columns: [name, …]")
    return tuple(columns)


def _asked(kind: Kind, value: Any, what: str) -> dict[str, Any]:
    """What stands under the kind's word, as fields of an expectation."""
    if kind in _TRUE:
        if value is not True:
            raise ContractError(f"{what}: {kind} is {show(value)}; give true, or take the expectation out")
        return {}
    if kind in _RANGES:
        if not isinstance(value, list) or len(value) != 2:
            raise ContractError(f"{what}: {kind} is {show(value)}; give [least, most], one of them may be null")
        least, most = (None if each is None else _text(each, what) for each in value)
        return {"least": least, "most": most}
    if kind is Kind.ONE_OF:
        if not isinstance(value, list) or not value:
            raise ContractError(f"{what}: one_of is {show(value)}; give a list of values")
        return {"values": tuple(_text(each, what) for each in value)}
    if kind is Kind.USUAL:
        return {"usual": choice(Figure, value, what)}
    return {_TEXTS[kind]: value}


def _text(value: Any, what: str) -> str:
    """A number, a text or a day as text; of what YAML makes of words, true and false are no values to compare with."""
    if isinstance(value, bool) or not (isinstance(value, str | int | float) or hasattr(value, "isoformat")):
        raise ContractError(f"{what}: {show(value)} is no value; give a number or a text in quotes")
    return str(value)


def _percent(value: Any, what: str) -> Decimal:
    try:
        percent = Decimal(str(value))
    except InvalidOperation:
        percent = Decimal("NaN")
    if isinstance(value, bool) or not percent.is_finite():
        raise ContractError(f"{what}: tolerate_percent is {show(value)}; give a number")
    return percent
