"""Rules by version: which share of a contract counts for an agent, when a sale reaches which status (docs/rules.md)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import column_names, show
from spark_jobs.contracts.places import Steps
from spark_jobs.contracts.tables import check_identifier

SHARES, BONUSES = "rule_shares", "rule_bonuses"
"""Tables of the versions in force, which a mart with ``rules: true`` reads by these names."""
SHARES_SCHEMA = "month string, rules_version string, status_id bigint, share decimal(9,6)"
BONUSES_SCHEMA = "month string, project_id bigint, factor decimal(9,6)"
RULE_TABLES = {name: column_names(schema) for name, schema in ((SHARES, SHARES_SCHEMA), (BONUSES, BONUSES_SCHEMA))}
"""Columns of the tables that a mart with ``rules: true`` may read besides its reads."""

ShareRow = tuple[str, str, int, Decimal]
BonusRow = tuple[str, int, Decimal]

_MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")
_LARGEST, _DIGITS = Decimal(1000), 6


def first_day(month: str) -> date:
    """The first day of a month written ``yyyy-MM``; ContractError when it is none."""
    if not _MONTH.fullmatch(month) or month < "0001":
        raise ContractError(f"{show(month)} is not a month; give yyyy-MM, for example 2026-01")
    return date.fromisoformat(f"{month}-01")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleVersion:
    """One way to count: the share of the subtotal per status first reached, and factors on everything of a project."""

    version: str
    valid_from: date
    promoted: bool
    description: str
    shares: tuple[tuple[int, Decimal], ...]
    bonuses: tuple[tuple[int, Decimal], ...] = ()

    def __post_init__(self) -> None:
        check_identifier(self.version, "rule version", at=("version",))
        what = f"rules {self.version}"
        if not isinstance(self.valid_from, date) or isinstance(self.valid_from, datetime):
            raise ContractError(
                f"{what}: valid_from is {show(self.valid_from)}; give a day, for example 2026-01-01", at=("valid_from",)
            )
        for entries, key, at in ((self.shares, "status_id", "shares"), (self.bonuses, "project_id", "bonuses")):
            keys = [number for number, _ in entries]
            if twice := sorted({number for number in keys if keys.count(number) > 1}):
                raise ContractError(f"{what}: {key} {twice} is given twice; give each once", at=(at,))
            for place, (number, value) in enumerate(entries):
                _check_factor(value, f"{what}: {key} {number}", at=(at, place))
        if useless := [status_id for status_id, share in self.shares if share == 0]:
            raise ContractError(f"{what}: status_id {useless} has a share of 0; leave it out", at=("shares",))
        if (total := sum((share for _, share in self.shares), Decimal(0))) != 1:
            raise ContractError(f"{what}: its shares sum to {total}; make them sum to 1", at=("shares",))

    @property
    def content(self) -> str:
        """A fingerprint of what it counts: the same as long as every month it counts in comes out the same."""
        facts = [sorted((number, str(value.normalize())) for number, value in rows) for rows in self._counted]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]

    @property
    def _counted(self) -> tuple[tuple[tuple[int, Decimal], ...], ...]:
        return self.shares, tuple((project_id, factor) for project_id, factor in self.bonuses if factor != 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleBook:
    """Every version there is."""

    versions: tuple[RuleVersion, ...]

    def __post_init__(self) -> None:
        names: set[str] = set()
        promoted: dict[date, str] = {}
        for rules in self.versions:
            if rules.version in names:
                raise ContractError(f"rules {rules.version} are there twice; give each version a name of its own")
            names.add(rules.version)
            if rules.promoted and (other := promoted.setdefault(rules.valid_from, rules.version)) != rules.version:
                raise ContractError(
                    f"rules {other} and {rules.version} are both promoted from {rules.valid_from} on; "
                    f"promote one of them, or give them different days"
                )

    @property
    def names(self) -> list[str]:
        """What the versions are called."""
        return [rules.version for rules in self.versions]

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

    def share_rows(self, months: Iterable[str], overrides: Mapping[str, str] | None = None) -> list[ShareRow]:
        """Rows of ``rule_shares`` for ``months``; ``overrides`` says which months count by another version."""
        return [
            (month, rules.version, status_id, share)
            for month, rules in self._counting(months, overrides or {})
            for status_id, share in rules.shares
        ]

    def bonus_rows(self, months: Iterable[str], overrides: Mapping[str, str] | None = None) -> list[BonusRow]:
        """Rows of ``rule_bonuses`` for ``months``, as :meth:`share_rows`."""
        return [
            (month, project_id, factor)
            for month, rules in self._counting(months, overrides or {})
            for project_id, factor in rules.bonuses
        ]

    def _counting(self, months: Iterable[str], overrides: Mapping[str, str]) -> list[tuple[str, RuleVersion]]:
        chosen = [
            (month, self.version(overrides[month]) if month in overrides else self.in_force(month))
            for month in sorted(set(months))
        ]
        return [(month, rules) for month, rules in chosen if rules is not None]


def _check_factor(value: Decimal, what: str, at: Steps) -> None:
    if not value.is_finite() or not 0 <= value < _LARGEST:
        raise ContractError(f"{what}: {value} is not between 0 and {_LARGEST - 1}; correct it", at=at)
    if value != round(value, _DIGITS):
        raise ContractError(f"{what}: {value} has more than {_DIGITS} digits after the point; round it", at=at)
