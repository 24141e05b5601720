"""Read rule versions from ``include/rules/<version>.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

from spark_jobs.contracts.documents import build, mapping, read_document, sequence
from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.mistakes import Mistakes
from spark_jobs.contracts.names import plain, show, show_path
from spark_jobs.contracts.places import Entries, Place
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
    rules, values, found = None, Entries(place=Place(file=str(path))), Mistakes()
    document = read_document(path, what="rules", then="correct it", found=found)
    with found.of(values):
        values = mapping(document, "the file")
        with found.of(values):
            if values.get("version") != path.stem:
                raise ContractError(
                    f"version is {show(values.get('version'))}; give the file's own name, {show(path.stem)}",
                    at=("version",),
                )
        rules = parse_rules(values.having({"version": path.stem}))
    return found.checked(rules)


def parse_rules(document: Mapping[str, Any]) -> RuleVersion:
    """Build a :class:`RuleVersion`; ContractError for unknown, missing or wrong entries."""
    entry, what, found = mapping(document, "the file"), f"rules {plain(document.get('version'))}", Mistakes()
    parts: dict[str, Any] = {}
    for name, key, number in (("shares", "status_id", "share"), ("bonuses", "project_id", "factor")):
        if name in entry:
            parts[name] = ()
            with found.of(entry):
                pairs = sequence(entry[name], f"{what}: {name}", at=(name,))
                read = partial(_pair, key=key, number=number, what=f"{what}: {name}: an entry")
                parts[name], _ = found.each(name, pairs, read)
    rules: RuleVersion = build(RuleVersion, entry.having(parts), what, found=found)
    return rules


def _pair(document: Any, key: str, number: str, what: str) -> tuple[int, Decimal]:
    entry = mapping(document, what)
    if set(entry) != {key, number}:
        raise ContractError(f"entry {show(dict(entry))}: give {key} and {number}, and nothing else; correct it")
    if type(entry[key]) is not int or not 0 <= entry[key] < 2**63:
        raise ContractError(f"{key} is {show(entry[key])}; give a whole number", at=(key,))
    return entry[key], _decimal(entry[number], f"{key} {entry[key]}: {number}")


def _decimal(value: Any, what: str) -> Decimal:
    if not isinstance(value, str):
        raise ContractError(f'{what} is {show(value)} without quotes, which is no exact number; write "{plain(value)}"')
    if not _NUMBER.fullmatch(value):
        raise ContractError(f'{what} is {show(value)}; give a decimal number in quotes, for example "0.25"')
    return Decimal(value)
