"""The source's change log: gives every change its place in the log and its text, as CDC and the connector would."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Any, Final

from spark_jobs.generator.envelope import (
    COMMIT_SLOT,
    FIRST_CHANGE_SLOT,
    INSERT_SERIAL,
    UPDATE_SERIAL,
    LogPosition,
    envelope,
    image,
    lsn,
    with_customer_columns,
)
from spark_jobs.generator.events import ALL_COLUMNS, BASE_COLUMNS, Event, Row
from spark_jobs.generator.funnel import SIGNED
from spark_jobs.generator.plan import Plan
from spark_jobs.generator.sale import Sale
from spark_jobs.generator.world import World, choose
from spark_jobs.generator.wrapper import wrap

_CUSTOMER_ID: Final = ALL_COLUMNS.index("CustomerId")
_STATUS_ID: Final = ALL_COLUMNS.index("StatusId")
_CONTRACT: Final = frozenset(map(ALL_COLUMNS.index, ("ContractSubtotal", "ContractSigningDate")))
_NAMES: Final = tuple(place for place, name in enumerate(BASE_COLUMNS) if name.endswith("Name"))
_NULLABLE: Final = tuple(at for at, name in enumerate(ALL_COLUMNS) if name == "CustomerId" or not name.endswith("Id"))


class ChangeLog:
    """Numbers changes from ``index`` on and keeps them until they are taken, in the source's own order."""

    def __init__(self, plan: Plan, *, first: int, rng: Random) -> None:
        self._rng, self._partial_rate, self._is_wrapped = rng, plan.rates.partial, plan.is_wrapped
        share = plan.rates.added_column_at
        self._added_index = int(plan.total_events * share) if share < 1 else None
        self.index = first
        self.changes: deque[Event] = deque()
        self._named: tuple[set[Any], ...] = tuple(set() for _ in _NAMES)
        self._block, self._slot = first, FIRST_CHANGE_SLOT

    def begin_transaction(self, block: int) -> None:
        """The changes that follow share a commit: that of the event numbered ``block``."""
        self._block, self._slot = block, FIRST_CHANGE_SLOT

    def insert(self, sale: Sale, world: World, now_ms: int) -> None:
        """A new record of a sale: its first one, or a correction."""
        self._emit("c", sale, self._write(sale, world), "null", now_ms, serial=INSERT_SERIAL)

    def update(self, sale: Sale, world: World, now_ms: int) -> None:
        """The record of a sale changed in place."""
        before = self._before(sale)
        self._emit("u", sale, self._write(sale, world), before, now_ms, serial=UPDATE_SERIAL)

    def delete(self, sale: Sale, now_ms: int) -> None:
        """The record of a sale is gone."""
        self._emit("d", sale, None, self._before(sale), now_ms, serial=INSERT_SERIAL)

    def change_key(self, sale: Sale, twin: Sale, world: World, now_ms: int) -> None:
        """CDC's picture of a changed key: a delete and an insert with the same LSNs, told apart by their number."""
        self.delete(sale, now_ms)
        self._slot -= 1
        self._emit("c", twin, self._write(twin, world), "null", now_ms, serial=INSERT_SERIAL + 1)

    def read(self, sale: Sale, world: World, now_ms: int, *, number: int, position: str) -> None:
        """A row of the snapshot, counted from one; ``position`` is Debezium's first, true or last."""
        self._emit("r", sale, self._write(sale, world), "null", now_ms, serial=number, snapshot=position)

    def _write(self, sale: Sale, world: World) -> Row:
        is_added = self._has_customer_columns()
        row = sale.row(world) if is_added else sale.row(world)[:_CUSTOMER_ID]
        if self._rng.random() < self._partial_rate:
            row = self._partial(row)
        for place, ids in zip(_NAMES, self._named, strict=True):
            ids.add(row[place - 1])
        sale.image = image(row, has_customer_columns=is_added)
        return row

    def _before(self, sale: Sale) -> str:
        row_image = sale.image or "null"
        return with_customer_columns(row_image) if self._has_customer_columns() else row_image

    def _emit(
        self, op: str, sale: Sale, row: Row | None, before: str, now_ms: int, *, serial: int, snapshot: str = "false"
    ) -> None:
        after = "null" if row is None else sale.image or "null"
        change_lsn = lsn(self._block, self._slot) if snapshot == "false" else None
        place = LogPosition(change_lsn, lsn(self._block, COMMIT_SLOT), serial, snapshot)
        text = envelope(op, before, after, place, ts_ms=now_ms, lag_ms=40 + int(self._rng.random() * 900))
        is_added = self._has_customer_columns()
        if self._is_wrapped:
            text = wrap(text, has_customer_columns=is_added)
        event = Event(self.index, op, sale.id, sale.unit.project_id, sale.status, now_ms, is_added, row, text)
        self.changes.append(event)
        self.index += 1
        self._slot += 1

    def _has_customer_columns(self) -> bool:
        return self._added_index is not None and self.index >= self._added_index

    def _partial(self, row: Row) -> Row:
        """The row with one name and up to three more columns unknown; of the ids only the customer's may be.

        A signed contract keeps its amount and its day: the ERP signs none without them. The first record of a
        thing keeps its name too.
        """
        rng = self._rng
        places = [choose(rng, _NAMES), *(choose(rng, _NULLABLE) for _ in range(int(rng.random() * 4)))]
        if _CUSTOMER_ID in places:
            places.append(_CUSTOMER_ID + 1)
        unknown = {*places} - (_CONTRACT if row[_STATUS_ID] == SIGNED else frozenset())
        unknown -= {place for place, ids in zip(_NAMES, self._named, strict=True) if row[place - 1] not in ids}
        return tuple(None if place in unknown else value for place, value in enumerate(row))

    def to_state(self) -> dict[str, Any]:
        """What the log must know to go on, for JSON."""
        named = [sorted(ids) for ids in self._named]
        changes = list(self.changes)
        return {"index": self.index, "added_index": self._added_index, "named": named, "changes": changes}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what :meth:`to_state` described; a transaction is never cut between two calls."""
        self.index, self._added_index = state["index"], state["added_index"]
        self._named = tuple(map(set, state["named"]))
        self.changes = deque(Event.from_state(fields) for fields in state["changes"])
