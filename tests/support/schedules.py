"""Seeded schedules: what a source did, and how badly it was delivered.

A schedule is one source with a topic and keys of its own. Its events are few and its keys fewer, so that they collide:
nulls, deletes, changes that share a position, two columns that appear half-way. They are delivered in rounds:
permuted, some late, some again and again, broken records and tombstones between them, plain or gzip, in new files or at
the end of old ones, sometimes ending in half a line.
"""

from __future__ import annotations

import gzip
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.broken import BROKEN
from tests.support.envelopes import START_MS, Envelope, line, postgres, sqlserver, wrapped

ROUNDS = 3
DAY_MS = 24 * 60 * 60 * 1000
POSITIONS = 600
"""Changes are at most this many minutes after the first one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Lines by round, the reasons of the broken ones, and how they are written."""

    topic: str
    rounds: tuple[tuple[bytes, ...], ...]
    reasons: dict[bytes, str]
    rng: random.Random

    @property
    def lines(self) -> list[bytes]:
        """Everything that is delivered."""
        return [text for one_round in self.rounds for text in one_round]

    def land(self, landing: Path, number: int) -> None:
        """Write the files of a round. What an earlier round left half is finished first."""
        folder = landing / self.topic
        folder.mkdir(parents=True, exist_ok=True)
        half = folder / "half.jsonl"
        rest = folder.parent / f".{self.topic}.rest"
        if rest.exists():
            with half.open("ab") as file:
                file.write(rest.read_bytes())
            rest.unlink()
        lines = list(self.rounds[number])
        if number < ROUNDS - 1 and lines and len(lines[-1]) < 10_000 and self.rng.random() < 0.5:
            content = lines.pop() + b"\n"
            cut = self.rng.randrange(1, len(content) - 2)
            with half.open("ab") as file:
                file.write(content[:cut])
            rest.write_bytes(content[cut:])
        cut = self.rng.randint(0, len(lines))
        with (folder / "log.jsonl").open("ab") as file:
            file.write(b"".join(text + b"\n" for text in lines[:cut]))
        if lines[cut:]:
            content = b"".join(text + b"\n" for text in lines[cut:])
            is_gzip = self.rng.random() < 0.5
            (folder / f"file-{number}").write_bytes(gzip.compress(content) if is_gzip else content)


def build_schedule(seed: int, number: int) -> Schedule:
    """The schedule of this seed; its keys are in the ``number``-th thousand."""
    rng = random.Random(f"{seed}/{number}")
    connector = rng.choice((sqlserver, postgres))
    column_at = rng.randrange(POSITIONS)
    events = []
    for _ in range(rng.randint(20, 45)):
        position = rng.randrange(POSITIONS // 10) * 10
        row = _row(rng, 1000 * number, has_customer=position >= column_at)
        if row.get("ContractSigningDate") is not None and connector is postgres:
            row["ContractSigningDate"] *= 1000
        events.append(_from_source(connector(rng.choice("ccuuurd"), row, position), number))
    lines = [line(wrapped(event) if rng.random() < 0.2 else event) for event in events]
    kinds = rng.sample(sorted(BROKEN), 3)
    broken = {make(1000 * number + n): reason for n, (reason, make) in enumerate(BROKEN[kind] for kind in kinds)}
    delivered = [*lines, *broken, *rng.choices([*lines, *broken], k=8), b"null", b"null"]
    rounds: list[list[bytes]] = [[] for _ in range(ROUNDS)]
    for text in delivered:
        rng.choice(rounds).append(text)
    for one_round in rounds:
        rng.shuffle(one_round)
    return Schedule(
        topic=f"source{number}.SALES",
        rounds=tuple(map(tuple, rounds)),
        reasons=broken,
        rng=rng,
    )


def _from_source(event: Envelope, number: int) -> Envelope:
    return {**event, "source": {**event["source"], "name": f"source{number}"}}


def _row(rng: random.Random, first: int, *, has_customer: bool) -> dict[str, Any]:
    def maybe(value: Any) -> Any:
        return value if rng.random() < 0.7 else None

    unit, building = first + rng.randrange(4), first + rng.randrange(2)
    row = {
        "SaleId": first + rng.randrange(6),
        "AgentId": maybe(first + rng.randrange(3)),
        "AgentName": maybe(rng.choice(("Ann", "Bob", "Zoë"))),
        "UnitId": maybe(unit),
        "UnitName": maybe(f"unit {rng.randrange(3)}"),
        "BuildingId": maybe(building),
        "BuildingName": maybe(rng.choice(("east", "west"))),
        "ProjectId": maybe(first + rng.randrange(2)),
        "ProjectName": maybe(rng.choice(("hill", "lake"))),
        "StatusId": maybe(first + rng.randrange(3)),
        "StatusName": maybe(rng.choice(("new", "signed"))),
        "ContractSubtotal": maybe(f"{rng.randrange(10**6)}.{rng.randrange(10**4):04d}"),
        "ContractSigningDate": maybe(START_MS + rng.randrange(2) * DAY_MS + rng.randrange(DAY_MS)),
    }
    if has_customer:
        row |= {"CustomerId": maybe(first + rng.randrange(3)), "CustomerName": maybe(rng.choice(("Eve", "")))}
    return row
