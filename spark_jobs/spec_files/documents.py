"""YAML documents into frozen classes, with one clear line for every mistake and the place of each."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from spark_jobs.contracts.errors import ContractError, SettingsError, raise_all
from spark_jobs.contracts.names import nearest, show, show_all, show_path
from spark_jobs.contracts.places import DocumentPlace, Entries, Items, Steps, find_place
from spark_jobs.spec_files.mistakes import Mistakes, placed_text
from spark_jobs.spec_files.placed_yaml import load_yaml

_PLAIN_TYPES: dict[type, str] = {int: "a whole number", str: "text", bool: "true or false"}
_MOST_REASON = 300
Choice = TypeVar("Choice", bound=StrEnum)


def read_document(path: Path, *, what: str, then: str, found: Mistakes | None = None) -> Any:
    """The parsed YAML file: ``what`` it is, and what to do ``then`` when it cannot be read.

    Raises:
        SettingsError: it cannot be read.
        ContractError: a mapping has a name twice; with ``found`` that is added there, and the first one is taken.
    """
    import yaml

    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        document, twice = load_yaml(text, str(path))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = " ".join((getattr(error, "strerror", None) or str(error)).split())[:_MOST_REASON]
        refusal = SettingsError(f"{what} {show_path(path)} cannot be read ({reason}); {then}")
        refusal.place = DocumentPlace(file=str(path), line=_line(error, text))
        raise refusal from error
    if found is None:
        raise_all(ContractError(placed_text(each), at=each.at) for each in twice)
    else:
        found.errors += twice
    return document


def choice(kind: type[Choice], value: Any, what: str, *, at: Steps = ()) -> Choice:
    """One of the words of ``kind``, else ContractError; ``at`` is where the value is in its entry."""
    try:
        return kind(str(value))
    except ValueError as error:
        name = at[-1] if at else "it"
        wrong = f"{name} is not given" if value is None else f"{name} {show(str(value))} is unknown"
        words = [word.value for word in kind]
        raise ContractError(f"{what}: {wrong}; choose one of {words}", at=at) from error


def build(
    cls: Any, values: Mapping[str, Any], what: str, *, found: Mistakes | None = None, where: Entries | None = None
) -> Any:
    """An instance of the dataclass ``cls``; ``where`` is the entry that the values come from, by default themselves.

    Raises:
        ContractError: for each entry that is unknown, missing or of a wrong type, and for what was ``found`` in this
            entry before; else what the class refuses.
    """
    found = found or Mistakes()
    frozen = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    written = _written(values)
    found.forget(set(misspelt(cls, written).values()))
    for error in wrong_entries(cls, frozen, what, written):
        found.add(error, where or values)
    raise_all(found.errors)
    try:
        return cls(**frozen)
    except ContractError as error:
        for each in error.each:
            each.place = each.place or find_place(where or values, each.at)
        raise


def wrong_entries(cls: Any, values: Mapping[str, Any], what: str, written: Collection[Any]) -> Iterator[ContractError]:
    """Entries that the dataclass does not know, misses, or wants of another type; ``written`` are those of the file."""
    known = {field.name: field for field in fields(cls) if field.init}
    meant, names = misspelt(cls, written), ", ".join(sorted(known))
    for name in sorted(set(values) - set(known), key=str):
        way = f"write {meant[name]}; known" if name in meant else "take it out; known"
        yield ContractError(f"{what}: unknown entries {show_all([name])}; {way} are {names}", at=(name,))
    for name, field in known.items():
        if name not in values and _is_required(field) and name not in meant.values():
            yield ContractError(f"{what}: missing 1 required keyword-only argument: {name!r}; add the entry {name}")
    yield from _wrong_types(cls, {name: value for name, value in values.items() if name in known}, what)


def misspelt(cls: Any, written: Collection[Any]) -> dict[Any, str]:
    """Names that the dataclass does not know, with the one each was probably meant to be: one that is not there."""
    known = {field.name for field in fields(cls) if field.init}
    near = {name: nearest(name, known.difference(written)) for name in written if name not in known}
    return {name: meant for name, meant in near.items() if meant}


def _written(values: Mapping[str, Any]) -> Collection[Any]:
    """Names that are in the file; code may have added others."""
    return values.places if isinstance(values, Entries) and values.places else values


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _wrong_types(cls: Any, values: Mapping[str, Any], what: str) -> Iterator[ContractError]:
    hints = _type_hints(cls)
    for name, value in values.items():
        if hints[name] in _PLAIN_TYPES and type(value) is not hints[name]:
            yield ContractError(f"{what}: {name} is {show(value)}; give {_PLAIN_TYPES[hints[name]]}", at=(name,))
        is_names = isinstance(value, tuple) and all(isinstance(part, str) for part in value)
        if hints[name] == tuple[str, ...] and not is_names:
            yield ContractError(f"{what}: {name} is {show(value)}; give a list of names", at=(name,))


@cache
def _type_hints(cls: Any) -> dict[str, Any]:
    return get_type_hints(cls)


def mapping(value: Any, what: str, *, at: Steps = ()) -> Entries:
    """``value`` when it is a mapping, else ContractError; ``at`` is where it is in its entry."""
    if not isinstance(value, Mapping):
        raise ContractError(f"{what} must be a mapping of names to values; write a line name: value for each", at=at)
    return value if isinstance(value, Entries) else Entries(value)


def section(parent: Mapping[str, Any], name: Any, what: str) -> Entries:
    """The mapping below a name, empty where there is no such name; its place is that of its name."""
    entry = mapping(parent.get(name, {}), what, at=(name,))
    place = parent.places.get(name) if isinstance(parent, Entries) else None
    return Entries(entry, place or entry.place, entry.places)


def sequence(value: Any, what: str, *, at: Steps = ()) -> Items:
    """``value`` when it is a list, else ContractError; ``at`` is where it is in its entry."""
    if not isinstance(value, list):
        raise ContractError(f"{what} must be a list; write [a, b], or a line - a for each", at=at)
    return value if isinstance(value, Items) else Items(value)


def _line(error: Exception, text: str) -> int:
    """The line that a reader stopped at; the first when it does not say."""
    if isinstance(error, UnicodeDecodeError):
        return error.object.count(b"\n", 0, error.start) + 1
    if (mark := getattr(error, "problem_mark", None)) is not None:
        return int(mark.line) + 1
    return text.count("\n", 0, getattr(error, "position", 0)) + 1
