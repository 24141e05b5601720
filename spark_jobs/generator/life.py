"""The life of the company: transaction after transaction of its ERP, each with one or several changes of ``SALES``."""

from __future__ import annotations

from dataclasses import asdict, replace
from random import Random
from typing import Any, Final

from spark_jobs.generator.book import OLD_AFTER_MS, Book
from spark_jobs.generator.changelog import ChangeLog
from spark_jobs.generator.events import Event
from spark_jobs.generator.funnel import (
    CANCELLED,
    CLOSED,
    CONTACTED,
    DAY_MS,
    DRAFTED,
    LOST,
    RESERVATION,
    SIGNED,
    VISIT,
    next_step,
    open_status,
)
from spark_jobs.generator.pace import Pace, Segment
from spark_jobs.generator.plan import Plan
from spark_jobs.generator.sale import Sale
from spark_jobs.generator.world import World, choose
from spark_jobs.lake_spec.tables import Nulls

_MINUTE_MS: Final = 60_000
_WORLD_CHANGE_RATE, _REASSIGN_RATE, _LONG_TRANSACTION_RATE = 0.004, 0.03, 0.07
_CANCEL_RATE: Final = 0.2
_WALK_IN_RATE: Final = 0.12
"""Events that are new leads although older sales are due, after a quiet weekend for instance."""
_RUSH_EVENTS, _RUSH_DEALS = 12, 3
"""Of so many events of the rush before the end, so many are steps towards a signing: the last day has deals."""
_OPEN_A_DAILY_EVENT: Final = 3.6
"""Open sales for each event a day at which the funnel makes about four fifths of the events."""


class Life:
    """A seeded life within one segment of time; ``next_event`` gives its events in the source's own order."""

    def __init__(self, plan: Plan, segment: Segment) -> None:
        self.segment, self._pace = segment, Pace(segment)
        self._rates, self._rng = plan.rates, Random(f"{plan.seed}/life")
        self._clears = plan.nulls is Nulls.VALUE
        self._world, self._book = World(self._rng), Book()
        self._log = ChangeLog(plan, first=segment.first, rng=self._rng)
        self._sale_count, self._tempo, self._rushed = 0, 1.0, 0

    @classmethod
    def begin(cls, plan: Plan) -> Life:
        """A new life in a new world."""
        life = cls(plan, Segment.first_of(plan))
        life._world.populate(events=plan.total_events)
        return life

    def go_on(self, segment: Segment) -> None:
        """Live on in the segment that follows the last one."""
        self.segment, self._pace, self._rushed = segment, Pace(segment), 0

    def next_event(self) -> Event | None:
        """The next change, None at the end of the segment."""
        if not self._log.changes:
            if self._log.index >= self.segment.stop:
                return None
            self._transact()
        return self._log.changes.popleft()

    def _transact(self) -> None:
        segment, rng, log = self.segment, self._rng, self._log
        flow = log.index - segment.first - segment.snapshot
        if flow < 0:
            self._read_snapshot(log.index - segment.first)
            return
        if flow == 0:
            self._settle()
        now_ms = self._pace.time_of(log.index, rng.random())
        if log.index >= self._pace.rush_index + self._rushed * _RUSH_EVENTS:
            self._book.bring_forward(most=_RUSH_DEALS)
            self._rushed += 1
        if rng.random() < _WORLD_CHANGE_RATE:
            self._world.change()
        self._book.grow_old(now_ms, rng)
        size = 2 + int(rng.random() * 3) if rng.random() < _LONG_TRANSACTION_RATE else 1
        log.begin_transaction(log.index)
        for _ in range(size):
            if log.index < segment.stop:
                self._act(now_ms)

    def _settle(self) -> None:
        """Let the funnel run at a speed at which the open sales and the events a day fit together."""
        segment = self.segment
        daily = (segment.stop - segment.first - segment.snapshot) / segment.days
        tempo = min(1.0, max(1, self._book.open_count) / (daily * _OPEN_A_DAILY_EVENT))
        self._book.stretch(segment.start_ms, tempo / self._tempo)
        self._tempo = tempo

    def _act(self, now_ms: int) -> None:
        chance, rates = self._rng.random(), self._rates
        if chance < rates.delete:
            self._delete(now_ms)
        elif chance < rates.delete + rates.correction and (sale := self._book.any_old(self._rng)):
            self._correct(sale, now_ms)
        elif self._rng.random() >= _WALK_IN_RATE and (sale := self._book.take_due(now_ms)):
            self._advance(sale, now_ms)
        else:
            self._meet(now_ms)

    def _read_snapshot(self, number: int) -> None:
        """One row of the snapshot. Every twentieth sale has its contract drafted: a small run has deals too."""
        rng, segment, chance = self._rng, self.segment, self._rng.random()
        status = open_status(rng) if chance < 0.62 else SIGNED if chance < 0.87 else LOST
        if number % 20 == 0:
            status = DRAFTED
        sale = self._new_sale()
        self._enter(sale, status)
        if status == SIGNED:
            age_ms = OLD_AFTER_MS + int(rng.random() * 360 * DAY_MS)
            sale.signed_ms = (segment.start_ms - age_ms) // _MINUTE_MS * _MINUTE_MS
            self._book.keep_old(sale, rng)
        position = "first" if number == 0 else "last" if number == segment.snapshot - 1 else "true"
        self._log.begin_transaction(segment.first)
        self._log.read(sale, self._world, segment.start_ms, number=number + 1, position=position)
        if status not in CLOSED:
            self._schedule(sale, segment.start_ms)

    def _meet(self, now_ms: int) -> None:
        """A new lead."""
        sale = self._new_sale()
        self._log.insert(sale, self._world, now_ms)
        self._schedule(sale, now_ms)

    def _advance(self, sale: Sale, now_ms: int) -> None:
        """The next step of the funnel; a sale that was deleted is entered again, perhaps as one that just began."""
        if sale.image is None:
            if self._rng.random() < 0.5:
                sale.subtotal = sale.signed_ms = sale.customer = None
                sale.status = min(sale.status, CONTACTED)
            self._enter(sale, sale.status)
            self._log.insert(sale, self._world, now_ms)
        else:
            self._enter(sale, sale.next_status)
            if sale.status == SIGNED:
                sale.signed_ms = now_ms // _MINUTE_MS * _MINUTE_MS
            if self._rng.random() < _REASSIGN_RATE:
                sale.agent = choose(self._rng, self._world.agents)
            self._log.update(sale, self._world, now_ms)
        if sale.status == SIGNED:
            self._book.keep_signed(sale)
        elif sale.status not in CLOSED:
            self._schedule(sale, now_ms)

    def _enter(self, sale: Sale, status: int) -> None:
        """Give the sale what one has in this status: a customer, a unit of its own, a price."""
        has_unit, sale.status = sale.has_unit, status
        if status == CANCELLED and has_unit:
            sale.unit.is_taken = False
        if status == CANCELLED and self._clears:
            sale.subtotal = sale.signed_ms = None
        if status in (LOST, CANCELLED):
            return
        if status >= VISIT and sale.customer is None:
            sale.customer = self._world.meet_customer()
        if status >= RESERVATION and not has_unit:
            sale.unit = self._world.free_unit() if sale.unit.is_taken else sale.unit
            sale.unit.is_taken = True
        if status >= DRAFTED and sale.subtotal is None:
            sale.subtotal = int(sale.unit.price * (0.92 + self._rng.random() * 0.13))

    def _correct(self, sale: Sale, now_ms: int) -> None:
        """A new record about a sale months old: another total, agent or day of signing.

        Where null is a value, also a contract that was cancelled after all: it has neither amount nor date any more.
        """
        rng, what = self._rng, self._rng.random()
        if self._clears and (what < _CANCEL_RATE or sale.status == CANCELLED):
            self._enter(sale, CANCELLED)
        elif what < 0.45 or sale.subtotal is None:
            sale.subtotal = int((sale.subtotal or sale.unit.price) * (0.95 + rng.random() * 0.1))
        elif what < 0.75 or sale.signed_ms is None:
            sale.agent = choose(rng, self._world.agents)
        else:
            sale.signed_ms -= (int(rng.random() * 13) - 3) * DAY_MS
        self._log.insert(sale, self._world, now_ms)

    def _delete(self, now_ms: int) -> None:
        """A delete: mostly for good, at times the sale is entered again days later, or at once under another id."""
        rng, book, chance = self._rng, self._book, self._rng.random()
        sale = (book.take_old(rng) if rng.random() < 0.3 else None) or book.take_next()
        if sale is None:
            self._meet(now_ms)
        elif sale.image is None:
            self._advance(sale, now_ms)
        elif chance < 0.15 and self._log.index + 1 < self.segment.stop:
            self._sale_count += 1
            twin = replace(sale, id=self._sale_count, image=None)
            self._log.change_key(sale, twin, self._world, now_ms)
            (book.wait if twin.status not in CLOSED else book.keep_signed)(twin)
        else:
            self._log.delete(sale, now_ms)
            if sale.has_unit:
                sale.unit.is_taken = False
            if chance < 0.4:
                sale.image = None
                sale.due_ms = now_ms + int(rng.expovariate(0.25) * DAY_MS * self._tempo)
                book.wait(sale)

    def _new_sale(self) -> Sale:
        self._sale_count += 1
        return Sale(self._sale_count, choose(self._rng, self._world.agents), choose(self._rng, self._world.units))

    def _schedule(self, sale: Sale, now_ms: int) -> None:
        sale.next_status, wait_ms = next_step(sale.status, self._rng)
        sale.due_ms = now_ms + 1 + int(wait_ms * self._tempo)
        self._book.wait(sale)

    def to_state(self) -> dict[str, Any]:
        """Everything needed to live on, for JSON."""
        return {
            "segment": asdict(self.segment),
            "rng": self._rng.getstate(),
            "world": self._world.to_state(),
            "book": self._book.to_state(),
            "log": self._log.to_state(),
            "counts": [self._sale_count, self._tempo, self._rushed],
        }

    @classmethod
    def from_state(cls, plan: Plan, state: dict[str, Any]) -> Life:
        """The life that :meth:`to_state` described, at the same moment."""
        life = cls(plan, Segment(**state["segment"]))
        life._world = World.from_state(state["world"], life._rng)
        life._book = Book.from_state(state["book"], life._world)
        life._log.restore(state["log"])
        life._sale_count, life._tempo, life._rushed = state["counts"]
        version, words, gauss = state["rng"]
        life._rng.setstate((version, tuple(words), gauss))
        return life
