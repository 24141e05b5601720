"""The sales the company still has to do with: open ones by when they are due, signed ones by age. Bounded."""

from __future__ import annotations

import heapq
from collections import deque
from random import Random
from typing import Any, Final

from spark_jobs.generator.funnel import DAY_MS, NEXT_TO_SIGNING
from spark_jobs.generator.sale import Sale
from spark_jobs.generator.world import Entity, World, choose

MOST_OPEN: Final = 50_000
MOST_AGING: Final = 20_000
MOST_OLD: Final = 5_000
OLD_AFTER_MS: Final = 60 * DAY_MS


class Book:
    """Open sales wait for their next step; signed ones age, and when they are months old they can be corrected."""

    def __init__(self) -> None:
        self._open: list[tuple[int, int, Sale]] = []
        self._aging: deque[Sale] = deque()
        self._old: list[Sale] = []

    @property
    def open_count(self) -> int:
        """Number of open sales."""
        return len(self._open)

    def wait(self, sale: Sale) -> None:
        """Keep an open sale until its ``due_ms``."""
        heapq.heappush(self._open, (sale.due_ms, sale.id, sale))

    def take_due(self, now_ms: int) -> Sale | None:
        """The sale that has been due longest; when too many are open, the next one although it is not due yet."""
        if self._open and (self._open[0][0] <= now_ms or len(self._open) > MOST_OPEN):
            return heapq.heappop(self._open)[2]
        return None

    def take_next(self) -> Sale | None:
        """The open sale that is due first, due or not."""
        return heapq.heappop(self._open)[2] if self._open else None

    def keep_signed(self, sale: Sale) -> None:
        """Keep a sale that was signed just now; with too many of them the oldest is let go."""
        self._aging.append(sale)
        if len(self._aging) > MOST_AGING:
            self._aging.popleft()

    def keep_old(self, sale: Sale, rng: Random) -> None:
        """Keep a sale that was signed months ago; with too many of them another one is let go."""
        if len(self._old) < MOST_OLD:
            self._old.append(sale)
        else:
            self._old[int(rng.random() * MOST_OLD)] = sale

    def grow_old(self, now_ms: int, rng: Random) -> None:
        """Move what has become months old."""
        while self._aging and (self._aging[0].signed_ms or 0) <= now_ms - OLD_AFTER_MS:
            self.keep_old(self._aging.popleft(), rng)

    def any_old(self, rng: Random) -> Sale | None:
        """A sale signed months ago; it stays in the book."""
        return choose(rng, self._old) if self._old else None

    def take_old(self, rng: Random) -> Sale | None:
        """A sale signed months ago, taken out of the book."""
        if not self._old:
            return None
        at = int(rng.random() * len(self._old))
        self._old[at], self._old[-1] = self._old[-1], self._old[at]
        return self._old.pop()

    def bring_forward(self, *, most: int) -> None:
        """Let the sales nearest to their signing make their next step to it before anything else happens."""
        known = (entry for entry in self._open if entry[2].image is not None and entry[2].status in NEXT_TO_SIGNING)
        for _, _, sale in heapq.nsmallest(most, known, key=lambda entry: (-entry[2].status, entry[0], entry[1])):
            sale.due_ms, sale.next_status = 0, NEXT_TO_SIGNING[sale.status]
        self._sort()

    def stretch(self, start_ms: int, factor: float) -> None:
        """Multiply every waiting time after ``start_ms``."""
        for _, _, sale in self._open:
            sale.due_ms = start_ms + int((sale.due_ms - start_ms) * factor)
        self._sort()

    def to_state(self) -> dict[str, Any]:
        """Plain lists for JSON."""
        return {
            "open": [sale.to_state() for _, _, sale in sorted(self._open)],
            "aging": [sale.to_state() for sale in self._aging],
            "old": [sale.to_state() for sale in self._old],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], world: World) -> Book:
        """The book that :meth:`to_state` described, over the same world."""
        book = cls()
        customers: dict[int, Entity] = {customer.id: customer for customer in world.known_customers}
        for fields in state["open"]:
            book.wait(Sale.from_state(fields, world, customers))
        book._aging.extend(Sale.from_state(fields, world, customers) for fields in state["aging"])
        book._old.extend(Sale.from_state(fields, world, customers) for fields in state["old"])
        return book

    def _sort(self) -> None:
        self._open = [(sale.due_ms, sale.id, sale) for _, _, sale in self._open]
        heapq.heapify(self._open)
