"""Read rule versions from ``include/rules/<version>.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.names import plain, show, show_path
from spark_jobs.contracts.places import DocumentPlace, Entries
from spark_jobs.lake_spec.rules import RuleBook, RuleValue, RuleVersion
from spark_jobs.spec_files.documents import build, mapping, read_document, section
from spark_jobs.spec_files.mistakes import Mistakes
from spark_jobs.sql_analysis.rule_sql import check_value

_OLD_ENTRIES = ("shares", "bonuses")
"""What versions had before they had values."""


def load_rules(folder: str) -> RuleBook:
    """Every version in ``folder``, by name.

    Raises:
        SettingsError: the folder or a file cannot be read, or there is no version in it.
        ContractError: a version contradicts itself or another one; with ``each`` mistake and its place.
    """
    found = Mistakes()
    book, _ = read_rules(folder, found)
    return found.checked(book)


def read_rules(folder: str, found: Mistakes) -> tuple[RuleBook | None, Entries]:
    """Every version, None when something is wrong, which is added to ``found``; and what the files say by version."""
    before, says = len(found.errors), Entries(place=DocumentPlace(file=folder))
    files = sorted(Path(folder).glob("*.yaml"))
    if not files:
        raise SettingsError(
            f"there are no rules in {show_path(folder)}; write <version>.yaml there or set LAKEHOUSE_RULES_PATH"
        )
    versions = list[RuleVersion]()
    for path in files:
        version, document = _read(path, found)
        says = says.holding(path.stem, document)
        versions += [version] if version else []
    if len(found.errors) > before:
        return None, says
    with found.of(Entries(place=says.place).holding("rules", says)):
        return RuleBook(versions=tuple(versions)), says
    return None, says


def _read(path: Path, found: Mistakes) -> tuple[RuleVersion | None, Entries]:
    document = Entries(place=DocumentPlace(file=str(path)))
    with found.of_file():
        read = read_document(path, what="rules", then="correct it", found=found)
        with found.of(document):
            document = mapping(read, "the file")
            with found.of(document):
                if document.get("version") != path.stem:
                    raise ContractError(
                        f"version is {show(document.get('version'))}; give the file's own name, {show(path.stem)}",
                        at=("version",),
                    )
            with found.of(document):
                return parse_rules(document.having({"version": path.stem})), document
    return None, document


def parse_rules(document: Mapping[str, Any]) -> RuleVersion:
    """Build a :class:`RuleVersion`; ContractError for unknown, missing or wrong entries and for wrong expressions."""
    entry, what, found = mapping(document, "the file"), f"rules {plain(document.get('version'))}", Mistakes()
    if old := [name for name in _OLD_ENTRIES if name in entry]:
        raise ContractError(
            f"{what}: {old[0]} is of a form that is read no more; write each number that counts as an expression below "
            f'values, such as values: {{share: {{type: "decimal(9,6)", sql: CASE kind WHEN 1 THEN 0.5 ELSE 0 END}}}} '
            f"(docs/rules.md, From shares and bonuses)",
            at=(old[0],),
        )
    parts: dict[str, Any] = {}
    if "values" in entry:
        parts["values"] = _values(entry, what, found)
    rules: RuleVersion = build(RuleVersion, entry.having(parts), what, found=found)
    return rules


def _values(document: Entries, what: str, found: Mistakes) -> tuple[RuleValue, ...]:
    made = list[RuleValue]()
    with found.of(document):
        values = section(document, "values", f"{what}: values")
        for name in values:
            with found.of(values):
                entry = section(values, name, each := f"{what}: {plain(name)}")
                with found.of(entry):
                    value: RuleValue = build(RuleValue, entry.having({"name": name}), each)
                    check_value(value, what)
                    made.append(value)
    return tuple(made)
