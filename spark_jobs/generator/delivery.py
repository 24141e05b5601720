"""From the life to the topic: what comes late, comes again, comes broken, and the tombstone after a delete.

All of it has its own random numbers, so the same seed gives the same life whatever is done to its delivery.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from random import Random
from typing import Any, Final

from spark_jobs.generator.events import Event
from spark_jobs.generator.faults import broken_record
from spark_jobs.generator.life import Life
from spark_jobs.generator.plan import Plan
from spark_jobs.generator.truth import Truth

TOMBSTONE: Final = "null"
_LONGEST_DELAY: Final = 4_000
_REMEMBERED: Final = 256
_REMEMBER_RATE: Final = 0.125
"""Of 256 remembered records one in eight new ones replaces one: redeliveries are some two thousand records old."""


class Delivery:
    """The records of the topic in their order, and the truth about them; ``offset`` is the next record's."""

    def __init__(self, plan: Plan, life: Life) -> None:
        self.life, self.truth = life, Truth(plan.nulls)
        self.offset = 0
        self.counts: Counter[str] = Counter()
        self._rates, self._plan = plan.rates, plan
        self._rng = Random(f"{plan.seed}/delivery")
        self._delayed: list[tuple[int, int, Event]] = []
        self._remembered: list[str] = []

    def deliver(self, events: int) -> list[str]:
        """The next records, up to and with the one that brings the so many-th distinct good event.

        So a batch of records never ends in a broken one. Fewer only when the life's segment ends, and then nothing is
        held back any more.
        """
        records: list[str] = []
        rng, rates, truth = self._rng, self._rates, self.truth
        for _ in range(events):
            event = self._next()
            if event is None:
                break
            if self._remembered and rng.random() < rates.redelivery:
                records.append(self._remembered[int(rng.random() * len(self._remembered))])
                self.counts["redelivered"] += 1
            if rng.random() < rates.broken and event.row is not None:
                number = truth.broken.total()
                reason, text = broken_record(event, number, is_wrapped=self._plan.is_wrapped)
                records.append(text)
                truth.broken[reason] += 1
            records.append(event.text)
            truth.fold(event)
            if event.row is None and self._plan.has_tombstones:
                records.append(TOMBSTONE)
                self.counts["tombstones"] += 1
            self._remember(event.text)
        self.offset += len(records)
        return records

    def _next(self) -> Event | None:
        while True:
            if self._delayed and self._delayed[0][0] <= self.truth.events:
                return heapq.heappop(self._delayed)[2]
            event = self.life.next_event()
            if event is None:
                return heapq.heappop(self._delayed)[2] if self._delayed else None
            if self._rng.random() >= self._rates.late:
                return event
            delay = int(math.exp(self._rng.random() * math.log(_LONGEST_DELAY))) + 1
            heapq.heappush(self._delayed, (self.truth.events + delay, event.sequence, event))
            self.counts["late"] += 1

    def _remember(self, text: str) -> None:
        if len(self._remembered) < _REMEMBERED:
            self._remembered.append(text)
        elif self._rng.random() < _REMEMBER_RATE:
            self._remembered[int(self._rng.random() * _REMEMBERED)] = text

    def to_state(self) -> dict[str, Any]:
        """Everything needed to deliver on, for JSON."""
        return {
            "offset": self.offset,
            "rng": self._rng.getstate(),
            "delayed": sorted(self._delayed),
            "remembered": self._remembered,
            "life": self.life.to_state(),
            "truth": self.truth.to_state(),
        }

    @classmethod
    def from_state(cls, plan: Plan, state: dict[str, Any]) -> Delivery:
        """The delivery that :meth:`to_state` described."""
        delivery = cls(plan, Life.from_state(plan, state["life"]))
        delivery.truth = Truth.from_state(state["truth"], plan.nulls)
        delivery.offset, delivery._remembered = state["offset"], state["remembered"]
        delivery._delayed = [(due, sequence, Event.from_state(fields)) for due, sequence, fields in state["delayed"]]
        version, words, gauss = state["rng"]
        delivery._rng.setstate((version, tuple(words), gauss))
        return delivery
