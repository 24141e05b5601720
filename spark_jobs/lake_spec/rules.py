"""Business rules by version: values that marts use, each an SQL expression over a mart's input (docs/rules.md)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.identifiers import wrong_identifier
from spark_jobs.contracts.names import plain, show

VERSION = "version"
"""The value that every version has by itself: its name."""

_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")
_DECIMAL = re.compile(r"decimal\(([0-9]{1,2}),([0-9]{1,2})\)")
_CONTENT = re.compile(r"[0-9a-f]{16}")
_MOST_DIGITS = 38
_OTHER_TYPES = frozenset({"bigint", "boolean", "string"})
_SQL_PARTS = re.compile(
    r"""(?P<quoted>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`)|(?P<comment>--[^\n]*|/\*.*?\*/)|[\w.]+|\S""", re.DOTALL
)
"""Quoted text and names, comments, words and numbers, single signs."""


def first_day(month: str) -> date:
    """The first day of a month written ``yyyy-MM``; ContractError when it is none."""
    if not _MONTH.fullmatch(month) or month < "0001":
        raise ContractError(f"{show(month)} is not a month; give yyyy-MM, for example 2026-01")
    return date.fromisoformat(f"{month}-01")


def decimal_digits(type_: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal type; None for another one."""
    found = _DECIMAL.fullmatch(type_)
    return (int(found[1]), int(found[2])) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleValue:
    """A value that marts use by ``name``: an SQL expression over one row, and the type that it has exactly."""

    name: str
    type: str
    sql: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "type", "".join(self.type.lower().split()))
        raise_all(self._mistakes())

    def _mistakes(self) -> Iterator[ContractError]:
        yield from wrong_identifier(self.name, "rule value", at=("name",))
        if self.name == VERSION:
            yield ContractError(f"value {VERSION} is the version's name, which is there by itself; rename this one")
        digits = decimal_digits(self.type)
        is_decimal = digits is not None and 1 <= digits[0] <= _MOST_DIGITS and digits[1] <= digits[0]
        if not is_decimal and self.type not in _OTHER_TYPES:
            yield ContractError(
                f"value {plain(self.name)}: type {show(self.type)} is unknown; give decimal(9,6) with digits of your "
                f"own, or one of {sorted(_OTHER_TYPES)}",
                at=("type",),
            )

    @property
    def line(self) -> str:
        """The expression on one line, without comments."""
        return " ".join(_SQL_PARTS.sub(lambda found: " " if found["comment"] else found.group(), self.sql).split())

    @property
    def facts(self) -> tuple[str, ...]:
        """What decides its results: without comments, the same in upper and lower case and however it is spaced."""
        parts = [
            found.group() if found["quoted"] else found.group().lower()
            for found in _SQL_PARTS.finditer(self.sql)
            if not found["comment"]
        ]
        return (self.name, self.type, *parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleVersion:
    """One way to count. ``formerly`` are fingerprints of other contents that a person knows to count the same."""

    version: str
    valid_from: date
    promoted: bool
    description: str
    values: tuple[RuleValue, ...]
    formerly: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        raise_all(self._mistakes())

    def _mistakes(self) -> Iterator[ContractError]:
        yield from wrong_identifier(self.version, "rule version", at=("version",))
        what = f"rules {plain(self.version)}"
        if not isinstance(self.valid_from, date) or isinstance(self.valid_from, datetime):
            yield ContractError(
                f"{what}: valid_from is {show(self.valid_from)}; give a day, for example 2026-01-01", at=("valid_from",)
            )
        names = [value.name for value in self.values]
        if not names or len(set(names)) != len(names):
            yield ContractError(f"{what}: values are needed, each once; correct values", at=("values",))
        for text in self.formerly:
            if not _CONTENT.fullmatch(text):
                yield ContractError(
                    f"{what}: formerly has {show(text)}, which is no fingerprint; give the 16 digits (0-9, a-f) that "
                    f"the refused run named",
                    at=("formerly",),
                )

    @property
    def content(self) -> str:
        """A fingerprint of what it counts: the same as long as no value's expression or type is another one."""
        facts = sorted(value.facts for value in self.values)
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]

    def counts_as(self, content: str) -> bool:
        """True when months that were counted by a content of this fingerprint come out the same."""
        return content == self.content or content in self.formerly

    def find(self, name: str) -> RuleValue | None:
        """The value of this name; None when there is none."""
        return next((value for value in self.values if value.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleBook:
    """Every version there is."""

    versions: tuple[RuleVersion, ...]

    def __post_init__(self) -> None:
        raise_all(self._mistakes())

    def _mistakes(self) -> Iterator[ContractError]:
        names: set[str] = set()
        promoted: dict[date, str] = {}
        types: dict[str, tuple[str, str]] = {}
        for rules in self.versions:
            if rules.version in names:
                yield ContractError(f"rules {rules.version} are there twice; give each version a name of its own")
            names.add(rules.version)
            if rules.promoted and (other := promoted.setdefault(rules.valid_from, rules.version)) != rules.version:
                yield ContractError(
                    f"rules {other} and {rules.version} are both promoted from {rules.valid_from} on; "
                    f"promote one of them, or give them different days"
                )
            for value in rules.values:
                first, type_ = types.setdefault(value.name, (rules.version, value.type))
                if type_ != value.type:
                    yield ContractError(
                        f"value {value.name} is {type_} in rules {first} and {value.type} in rules {rules.version}; "
                        f"give it one type in all versions",
                        at=("rules", rules.version, "values", value.name, "type"),
                    )

    @property
    def names(self) -> list[str]:
        """What the versions are called."""
        return [rules.version for rules in self.versions]

    @property
    def types(self) -> dict[str, str]:
        """The types of all values by name, in the order in which the versions have them."""
        return {value.name: value.type for rules in self.versions for value in rules.values}

    def version(self, name: str) -> RuleVersion:
        """The version called ``name``; ContractError when there is none, with those there are."""
        for rules in self.versions:
            if rules.version == name:
                return rules
        raise ContractError(f"there are no rules {show(name)}; there are {self.names}")

    def in_force(self, month: str) -> RuleVersion | None:
        """The promoted version that counts in ``month``: the latest valid from its first day or before."""
        day = first_day(month)
        valid = (rules for rules in self.versions if rules.promoted and rules.valid_from <= day)
        return max(valid, key=lambda rules: rules.valid_from, default=None)

    def by_month(self, months: Iterable[str]) -> dict[str, str]:
        """The name of the version in force in each month; without months in which none is."""
        found = ((month, self.in_force(month)) for month in sorted(set(months)))
        return {month: rules.version for month, rules in found if rules is not None}
