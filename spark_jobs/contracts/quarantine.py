"""Quarantined records: their states, which of them a command is about, and what was tried with each."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from enum import StrEnum

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.identifiers import check_identifier
from spark_jobs.contracts.names import show
from spark_jobs.contracts.rejections import Reason

DECIDED_KEY = "decided"
"""In the metadata of a commit of the quarantine: how many records a command decided about."""
_PREFIX = re.compile(r"[0-9a-f]{4,64}")
_WAYS = ("record", "reason", "rule", "all")


class State(StrEnum):
    """The state of a record. The table has null for an open one, and for all from before there were states."""

    OPEN = "open"
    REPLAYED = "replayed"
    DISCARDED = "discarded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One thing that was done with a record; ``outcome`` has words of this project, never values of the record."""

    at: str
    by: str
    action: str
    because: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    """Numbers of records about which a person decided; ``repaired`` are those replayed with other bytes."""

    replayed: int = 0
    repaired: int = 0
    discarded: int = 0

    def __add__(self, other: Decisions) -> Decisions:
        return Decisions(
            replayed=self.replayed + other.replayed,
            repaired=self.repaired + other.repaired,
            discarded=self.discarded + other.discarded,
        )

    def to_json(self) -> str:
        """Short text for a commit's metadata."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | None) -> Decisions:
        """Read what :meth:`to_json` gave; nothing was decided in a commit without it."""
        return cls(**json.loads(text)) if text else cls()


def lost_decisions(decided: Decisions) -> tuple[str, ...]:
    """The message when the quarantine is restored to before these decisions; () when there were none."""
    parts = [f"{decided.replayed:,} records were replayed"] if decided.replayed else []
    parts += [f"{decided.discarded:,} discarded"] if decided.discarded else []
    if not parts:
        return ()
    repaired = (
        f", and {decided.repaired:,} of them in a repaired form that is not kept: have those files ready"
        if decided.repaired
        else ""
    )
    return (f"quarantine: {' and '.join(parts)} after the savepoint{repaired}; they are open again, so decide again",)


def parse_history(text: str | None) -> tuple[Attempt, ...]:
    """What the column ``history`` holds, oldest first."""
    return tuple(Attempt(**fields) for fields in json.loads(text or "[]"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Records that a command is about: one by the beginning of its hash, or all open ones of a kind.

    ``reason`` or ``rule`` alone, or none of the three for every open record.
    """

    record: str = ""
    reason: str = ""
    rule: str = ""

    def __post_init__(self) -> None:
        if self.record and not _PREFIX.fullmatch(self.record):
            raise ContractError(
                f"--record {show(self.record)} is no beginning of a hash: 4 to 64 of 0-9 and a-f (quarantine list)"
            )
        if self.reason:
            check_reason(self.reason)
        if self.rule:
            check_identifier(self.rule, "--rule")

    @classmethod
    def of(cls, *, record: str | None, reason: str | None, rule: str | None, is_all: bool) -> Selection:
        """From the options of the command line; ContractError unless exactly one of them was given."""
        options = {"record": record, "reason": reason, "rule": rule}
        given = {name: value for name, value in options.items() if value is not None}
        if len(given) + is_all != 1:
            raise ContractError("say which records in one way: --record, --reason or --rule (replay: or --all)")
        for name, value in given.items():
            if not value:
                raise ContractError(f"--{name} is empty; quarantine list shows what there is")
        return cls(**given)


def check_reason(reason: str) -> None:
    """Raise ContractError unless it is a reason for which records are quarantined."""
    if reason not in set(Reason):
        raise ContractError(f"--reason {show(reason)} is unknown; reasons are {', '.join(sorted(Reason))}")


def check_state(state: str) -> None:
    """Raise ContractError unless it is a state that a record may have."""
    if state not in set(State):
        raise ContractError(f"--state {show(state)} is unknown; states are {', '.join(State)}")
