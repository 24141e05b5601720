"""What the life of the company hands to its delivery: one change of one row of ``SALES``."""

from __future__ import annotations

from typing import Any, NamedTuple

CUSTOMER_COLUMNS = ("CustomerId", "CustomerName")
BASE_COLUMNS = (
    "SaleId", "AgentId", "AgentName", "UnitId", "UnitName", "BuildingId", "BuildingName", "ProjectId", "ProjectName",
    "StatusId", "StatusName", "ContractSubtotal", "ContractSigningDate",
)  # fmt: skip
ALL_COLUMNS = BASE_COLUMNS + CUSTOMER_COLUMNS
"""Columns of a row, in order; the last two are absent until the source has them."""

Value = int | str | None
Row = tuple[Value, ...]


class Event(NamedTuple):
    """A change; ``sequence`` rises exactly as the event order does. A tuple, because millions are made.

    ``row`` is the row after the change in the order of ALL_COLUMNS, None for a delete; ``project_id`` and ``status_id``
    are those of the row image the record carries, for a delete the one before. ``text`` is the record on the topic.
    """

    sequence: int
    op: str
    sale_id: int
    project_id: int
    status_id: int
    ts_ms: int
    has_customer_columns: bool
    row: Row | None
    text: str

    @classmethod
    def from_state(cls, fields: list[Any]) -> Event:
        """Undo what JSON makes of an event: a list whose row is a list."""
        event = cls(*fields)
        return event if event.row is None else event._replace(row=tuple(event.row))
