"""Read expectations: ``<table>.yaml``, a mapping of each expectation's name to its entry."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.names import nearest, show, show_all, show_path
from spark_jobs.contracts.places import DocumentPlace, Entries, Steps
from spark_jobs.lake_spec.expectations import Action, Expectation, Figure, Kind
from spark_jobs.spec_files.documents import build, choice, mapping, read_document, section
from spark_jobs.spec_files.mistakes import Mistakes

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
    return tuple(each for path in expectation_files(folder) for each in read_expectations(path))


def expectation_files(folder: Path) -> list[Path]:
    """The files with the expectations of a table each; SettingsError when there is no such folder."""
    if not os.path.isdir(folder):  # unlike Path's own: False for a name that no folder can have
        raise SettingsError(
            f"expectations: there is no folder {show_path(folder)}; correct the lake spec's entry expectations"
        )
    return sorted(folder.glob("*.yaml"))


def read_expectations(path: Path) -> tuple[Expectation, ...]:
    """Those of one table, in the file that has its name; raises as :func:`load_expectations` does."""
    found = Mistakes()
    expectations, _ = find_expectations(path, found)
    return found.checked(expectations)


def find_expectations(path: Path, found: Mistakes) -> tuple[tuple[Expectation, ...], Entries]:
    """Those of one table that are right, and what the file says; what is wrong is added to ``found``."""
    document, right = Entries(place=DocumentPlace(file=str(path))), []
    with found.of_file():
        read = read_document(path, what="expectations", then="correct them", found=found)
        with found.of(document):
            document = mapping(document if read is None else read, "the file")
        for name in document:
            with found.of(document):
                entry = section(document, name, f"expectation {show(name)}")
                with found.of(entry):
                    right.append(parse_expectation(path.stem, name, entry))
    return tuple(right), document


def parse_expectation(table: str, name: object, entry: Mapping[str, Any]) -> Expectation:
    """Build an :class:`Expectation`; ContractError for unknown, missing or wrong entries."""
    what, found, entry = f"expectation {show(name)}", Mistakes(), mapping(entry, f"expectation {show(name)}")
    kinds = [kind for kind in Kind if kind.value in entry]
    if len(kinds) != 1:
        raise _refused_kinds(entry, len(kinds), what)
    kind = kinds[0]
    known = sorted({*_OTHERS, kind.value})
    for word in sorted(set(entry) - set(known), key=str):
        reason = f"unknown entries {show_all([word])}; {_instead(word, set(known) - set(entry))}; known are {known}"
        found.add(ContractError(f"{what}: {reason}", at=(word,)), entry)
    values: dict[str, Any] = {"table": table, "name": name, "kind": kind}
    with found.of(entry):
        values |= _kind_fields(kind, entry[kind.value], what)
    with found.of(entry):
        values["columns"] = _columns(entry, what)
    with found.of(entry):
        values["action"] = choice(Action, entry.get("action", Action.WARN), what, at=("action",))
    if "tolerate_percent" in entry:
        with found.of(entry):
            values["tolerate_percent"] = _percent(entry["tolerate_percent"], what)
    values |= {key: entry[key] for key in ("says", "where", "from_rows") if key in entry}
    expectation: Expectation = build(Expectation, _placed(entry, kind, values), what, found=found)
    return expectation


def _refused_kinds(entry: Entries, count: int, what: str) -> ContractError:
    """What is wrong with an entry of no kind, or of several; a word may just be misspelt."""
    kinds = [kind.value for kind in Kind]
    for word in sorted(set(entry) - _OTHERS, key=str):
        if count == 0 and (near := nearest(word, kinds)):
            return ContractError(f"{what}: unknown entries {show_all([word])}; write {near}", at=(word,))
    return ContractError(f"{what}: give one of {kinds}, not {count}; correct it")


def _instead(word: object, known: Collection[str]) -> str:
    near = nearest(word, known)
    return f"write {near}" if near else "take it out"


def _placed(entry: Entries, kind: Kind, values: dict[str, Any]) -> Entries:
    """The fields of an expectation, each with the place of the word that it comes from."""
    places = dict(entry.places)
    if kind.value in places:
        places |= {name: places[kind.value] for name in values if name not in (*_OTHERS, "table", "name")}
    return Entries(values, entry.place, places)


def _columns(entry: Mapping[str, Any], what: str) -> tuple[str, ...]:
    columns = entry.get("columns", [entry["column"]] if "column" in entry else [])
    is_names = isinstance(columns, list) and all(isinstance(each, str) for each in columns)
    if not is_names or ("column" in entry and "columns" in entry):
        at = ("columns",) if "columns" in entry else ("column",)
        raise ContractError(f"{what}: give column: name, or columns: [name, …]; correct it", at=at)
    return tuple(columns)


def _kind_fields(kind: Kind, value: Any, what: str) -> dict[str, Any]:
    """What is under the kind's word, as fields of an expectation."""
    at = (kind.value,)
    if kind in _TRUE:
        if value is not True:
            raise ContractError(f"{what}: {kind} is {show(value)}; give true, or take the expectation out", at=at)
        return {}
    if kind in _RANGES:
        if not isinstance(value, list) or len(value) != 2:
            raise ContractError(f"{what}: {kind} is {show(value)}; give [least, most], one of them may be null", at=at)
        least, most = (None if each is None else _text(each, what, at) for each in value)
        return {"least": least, "most": most}
    if kind is Kind.ONE_OF:
        if not isinstance(value, list) or not value:
            raise ContractError(f"{what}: one_of is {show(value)}; give a list of values", at=at)
        return {"values": tuple(_text(each, what, at) for each in value)}
    if kind is Kind.USUAL:
        return {"usual": choice(Figure, value, what, at=at)}
    return {_TEXTS[kind]: value}


def _text(value: Any, what: str, at: Steps) -> str:
    """A number, a text or a day as text; of what YAML makes of words, true and false are no values to compare with."""
    if isinstance(value, bool) or not (isinstance(value, str | int | float) or hasattr(value, "isoformat")):
        raise ContractError(f"{what}: {show(value)} is no value; give a number or a text in quotes", at=at)
    return str(value)


def _percent(value: Any, what: str) -> Decimal:
    try:
        percent = Decimal(str(value))
    except InvalidOperation:
        percent = Decimal("NaN")
    if isinstance(value, bool) or not percent.is_finite():
        raise ContractError(f"{what}: tolerate_percent is {show(value)}; give a number", at=("tolerate_percent",))
    return percent
