"""YAML documents into frozen classes, with one clear line for every mistake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.names import show, show_all, show_path

_PLAIN_TYPES: dict[type, str] = {int: "a whole number", str: "text", bool: "true or false"}
_MOST_REASON = 300
Choice = TypeVar("Choice", bound=StrEnum)


def read_document(path: Path, *, what: str, then: str) -> Any:
    """The parsed YAML file; SettingsError when it cannot be read: ``what`` it is, and what to do ``then``."""
    import yaml

    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:  # dates and numbers that are none, too
        reason = " ".join((getattr(error, "strerror", None) or str(error)).split())[:_MOST_REASON]
        raise SettingsError(f"{what} {show_path(path)} cannot be read ({reason}); {then}") from error


def choice(kind: type[Choice], value: Any, what: str) -> Choice:
    """One of the words of ``kind``, else ContractError."""
    try:
        return kind(str(value))
    except ValueError as error:
        raise ContractError(
            f"{what}: {show(str(value))} is not a valid {kind.__name__}; choose one of {[word.value for word in kind]}"
        ) from error


def build(cls: Any, values: Mapping[str, Any], what: str) -> Any:
    """An instance of the dataclass ``cls``; ContractError for entries that are unknown, missing or of a wrong type."""
    known = {field.name for field in fields(cls) if field.init}
    if unknown := sorted(set(values) - known, key=str):
        raise ContractError(f"{what}: unknown entries {show_all(unknown)}; known are {sorted(known)}")
    frozen = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    _check_types(cls, frozen, what)
    try:
        return cls(**frozen)
    except TypeError as error:
        raise ContractError(f"{what}: {str(error).split('.__init__() ')[-1]}") from error


def _check_types(cls: Any, values: Mapping[str, Any], what: str) -> None:
    hints = get_type_hints(cls)
    for name, value in values.items():
        if hints[name] in _PLAIN_TYPES and type(value) is not hints[name]:
            raise ContractError(f"{what}: {name} is {show(value)}; give {_PLAIN_TYPES[hints[name]]}")
        is_names = isinstance(value, tuple) and all(isinstance(part, str) for part in value)
        if hints[name] == tuple[str, ...] and not is_names:
            raise ContractError(f"{what}: {name} is {show(value)}; give a list of names")


def mapping(value: Any, what: str) -> Mapping[str, Any]:
    """``value`` when it is a mapping, else ContractError."""
    if not isinstance(value, Mapping):
        raise ContractError(f"{what} must be a mapping of names to values")
    return value


def sequence(value: Any, what: str) -> list[Any]:
    """``value`` when it is a list, else ContractError."""
    if not isinstance(value, list):
        raise ContractError(f"{what} must be a list")
    return value
