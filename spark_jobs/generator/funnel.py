"""The funnel of a sale: its statuses, and where it goes from each, how often and after how long."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

LEAD, CONTACTED, VISIT, OFFER, NEGOTIATION, RESERVATION, DRAFTED, SIGNED, LOST, CANCELLED = range(1, 11)
STATUS_NAMES: Final = {
    LEAD: "Lead",
    CONTACTED: "Contacted",
    VISIT: "Visit",
    OFFER: "Offer",
    NEGOTIATION: "Negotiation",
    RESERVATION: "Reservation",
    DRAFTED: "Contract drafted",
    SIGNED: "Contract signed",
    LOST: "Lost",
    CANCELLED: "Cancelled",
}
CLOSED: Final = frozenset({SIGNED, LOST, CANCELLED})
DAY_MS: Final = 86_400_000

# status -> (probability, next status, mean days until then)
STEPS: Final[dict[int, Sequence[tuple[float, int, float]]]] = {
    LEAD: ((0.75, CONTACTED, 1.0), (0.25, LOST, 5.0)),
    CONTACTED: ((0.65, VISIT, 3.0), (0.35, LOST, 7.0)),
    VISIT: ((0.55, OFFER, 4.0), (0.15, VISIT, 5.0), (0.30, LOST, 7.0)),
    OFFER: ((0.50, NEGOTIATION, 2.0), (0.22, RESERVATION, 3.0), (0.28, LOST, 8.0)),
    NEGOTIATION: ((0.58, RESERVATION, 4.0), (0.14, OFFER, 2.0), (0.28, LOST, 8.0)),
    RESERVATION: ((0.86, DRAFTED, 6.0), (0.14, CANCELLED, 9.0)),
    DRAFTED: ((0.93, SIGNED, 5.0), (0.07, CANCELLED, 8.0)),
}

NEXT_TO_SIGNING: Final = {
    LEAD: CONTACTED,
    CONTACTED: VISIT,
    VISIT: OFFER,
    OFFER: RESERVATION,
    NEGOTIATION: RESERVATION,
    RESERVATION: DRAFTED,
    DRAFTED: SIGNED,
}

# Statuses of the sales that are open on a common day, with the share up to each: what the snapshot finds.
OPEN_SHARES: Final = ((LEAD, 0.22), (CONTACTED, 0.44), (VISIT, 0.65), (OFFER, 0.80), (NEGOTIATION, 0.91))


def next_step(status: int, rng: Random) -> tuple[int, float]:
    """Where a sale goes from ``status`` and after how many milliseconds (exponentially distributed)."""
    point = rng.random()
    for share, target, mean_days in STEPS[status][:-1]:
        if point < share:
            return target, rng.expovariate(1.0 / mean_days) * DAY_MS
        point -= share
    _, target, mean_days = STEPS[status][-1]
    return target, rng.expovariate(1.0 / mean_days) * DAY_MS


def open_status(rng: Random) -> int:
    """The status of a sale met on a common day."""
    point = rng.random()
    for status, share in OPEN_SHARES:
        if point < share:
            return status
    return RESERVATION
