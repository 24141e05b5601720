"""Read rule versions from ``include/rules/<version>.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from spark_jobs.contracts.documents import build, mapping, read_document, sequence
from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.names import plain, show, show_path
from spark_jobs.contracts.rules import RuleBook, RuleVersion

_NUMBER = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?")


def load_rules(folder: str) -> RuleBook:
    """Every version in ``folder``, by name.

    Raises:
        SettingsError: the folder or a file cannot be read, or there is no version in it.
        ContractError: a version contradicts itself or another one.
    """
    files = sorted(Path(folder).glob("*.yaml"))
    if not files:
        raise SettingsError(
            f"there are no rules in {show_path(folder)}; write <version>.yaml there or set LAKEHOUSE_RULES_PATH"
        )
    return RuleBook(versions=tuple(_load(path) for path in files))


def _load(path: Path) -> RuleVersion:
    document = read_document(path, what="rules", then="correct it")
    try:
        values = mapping(document, "the file")
        if values.get("version") != path.stem:
            raise ContractError(
                f"version is {show(values.get('version'))}; give the file's own name, {show(path.stem)}"
            )
        return parse_rules(values)
    except ContractError as error:
        raise ContractError(f"{plain(path.name)}: {error}") from error


def parse_rules(document: Mapping[str, Any]) -> RuleVersion:
    """Build a :class:`RuleVersion`; ContractError for unknown, missing or wrong entries."""
    values, what = dict(document), f"rules {plain(document.get('version'))}"
    for name, key, number in (("shares", "status_id", "share"), ("bonuses", "project_id", "factor")):
        if name in values:
            entries = sequence(values[name], f"{what}: {name}")
            values[name] = tuple(_pair(mapping(entry, f"{what}: {name}: an entry"), key, number) for entry in entries)
    rules: RuleVersion = build(RuleVersion, values, what)
    return rules


def _pair(entry: Mapping[str, Any], key: str, number: str) -> tuple[int, Decimal]:
    if set(entry) != {key, number}:
        raise ContractError(f"entry {show(dict(entry))}: give {key} and {number}, and nothing else")
    if type(entry[key]) is not int or not 0 <= entry[key] < 2**63:
        raise ContractError(f"{key} is {show(entry[key])}; give a whole number")
    return entry[key], _decimal(entry[number], f"{key} {entry[key]}: {number}")


def _decimal(value: Any, what: str) -> Decimal:
    if not isinstance(value, str):
        raise ContractError(f'{what} is {show(value)} without quotes, which is no exact number; write "{plain(value)}"')
    if not _NUMBER.fullmatch(value):
        raise ContractError(f'{what} is {show(value)}; give a decimal number in quotes, for example "0.25"')
    return Decimal(value)
