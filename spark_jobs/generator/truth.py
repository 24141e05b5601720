"""What the tables must hold: the generator's own fold of what it delivered. Shares no code with the jobs it checks.

Every column keeps the value of the newest event that knows it, which one with a null does where null is a value; a
delete voids what is older than itself in its sale and says nothing about anything else; ``before`` images say nothing,
but that a delete counts in its hour under the project and status of its own. Event order is the event's sequence.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any, Final

from spark_jobs.generator.events import ALL_COLUMNS, Event
from spark_jobs.lake_spec.tables import Nulls

_AT: Final = {name: place for place, name in enumerate(ALL_COLUMNS)}
_HOUR_MS: Final = 3_600_000
# table -> its key at the source, and its columns: (name in the lake, name at the source)
_DIMENSIONS: Final[dict[str, tuple[str, tuple[tuple[str, str], ...]]]] = {
    "units": ("UnitId", (("unit_name", "UnitName"), ("building_id", "BuildingId"), ("project_id", "ProjectId"))),
    "buildings": ("BuildingId", (("building_name", "BuildingName"),)),
    "projects": ("ProjectId", (("project_name", "ProjectName"),)),
    "statuses": ("StatusId", (("status_name", "StatusName"),)),
    "agents": ("AgentId", (("agent_name", "AgentName"),)),
    "customers": ("CustomerId", (("customer_name", "CustomerName"),)),
}
_SALES: Final = (
    ("unit_id", "UnitId"),
    ("status_id", "StatusId"),
    ("contract_subtotal", "ContractSubtotal"),
    ("contract_signing_date", "ContractSigningDate"),
    ("agent_id", "AgentId"),
    ("customer_id", "CustomerId"),
)
_SALE_PLACES: Final = tuple(_AT[source] for _, source in _SALES)
_UPSERTED, _DELETED = -2, -1

Cells = list[Any]
"""Value and its sequence in turns, a pair a column; a sale ends in the sequences of its newest upsert and delete."""


class Truth:
    """The fold. Feed it every distinct good event once, in any order, and the reason of every broken record."""

    def __init__(self, nulls: Nulls = Nulls.UNKNOWN) -> None:
        self._is_value = nulls is Nulls.VALUE
        self.events = 0
        self.broken: Counter[str] = Counter()
        self._hours: Counter[tuple[int, int, int]] = Counter()
        self._sales: dict[Any, Cells] = {}
        self._tables: dict[str, dict[Any, Cells]] = {table: {} for table in _DIMENSIONS}
        self._bind()

    def fold(self, event: Event) -> None:
        """Take one good event in."""
        sequence, row = event.sequence, event.row
        self.events += 1
        self._hours[event.ts_ms // _HOUR_MS, event.project_id, event.status_id] += 1
        sale = self._sales.get(event.sale_id) or self._new_sale(event.sale_id)
        if row is None:
            sale[_DELETED] = max(sale[_DELETED], sequence)
            return
        sale[_UPSERTED] = max(sale[_UPSERTED], sequence)
        _keep_newest(sale, _SALE_PLACES, row, sequence, self._is_value)
        for table, key_place, places in self._bound:
            if key_place < len(row) and (key := row[key_place]) is not None:
                cells = table.get(key)
                if cells is None:
                    cells = table[key] = [None, -1] * len(places)
                _keep_newest(cells, places, row, sequence, self._is_value)

    def report(self) -> dict[str, Any]:
        """The truth as people and tests read it: keys as text, decimals with four digits, times in ISO 8601."""
        tables = {table: _dimension(rows, _DIMENSIONS[table][1]) for table, rows in self._tables.items()}
        live = {key: cells for key, cells in self._sales.items() if cells[_UPSERTED] > cells[_DELETED]}
        tables["sales"] = {str(key): _sale(live[key]) for key in sorted(live)}
        hours: dict[str, dict[str, dict[str, int]]] = {}
        for (hour, project, status), count in sorted(self._hours.items()):
            hours.setdefault(_iso(hour * _HOUR_MS), {}).setdefault(str(project), {})[str(status)] = count
        return {
            "events": self.events,
            "broken": dict(sorted(self.broken.items())),
            "tables": tables,
            "deleted_sales": sorted(set(self._sales) - set(live)),
            "hours": hours,
        }

    def to_state(self) -> dict[str, Any]:
        """The fold itself, for JSON."""
        return {
            "events": self.events,
            "broken": self.broken,
            "hours": [[*key, count] for key, count in self._hours.items()],
            "sales": list(self._sales.items()),
            "tables": {table: list(rows.items()) for table, rows in self._tables.items()},
        }

    @classmethod
    def from_state(cls, state: dict[str, Any], nulls: Nulls = Nulls.UNKNOWN) -> Truth:
        """The fold that :meth:`to_state` described."""
        truth = cls(nulls)
        truth.events, truth.broken = state["events"], Counter(state["broken"])
        truth._hours = Counter({(hour, project, status): count for hour, project, status, count in state["hours"]})
        truth._sales = dict(state["sales"])
        truth._tables = {table: dict(rows) for table, rows in state["tables"].items()}
        truth._bind()
        return truth

    def _new_sale(self, sale_id: int) -> Cells:
        cells: Cells = [None, -1] * len(_SALES) + [-1, -1]
        self._sales[sale_id] = cells
        return cells

    def _bind(self) -> None:
        self._bound = [
            (self._tables[table], _AT[key], tuple(_AT[source] for _, source in columns))
            for table, (key, columns) in _DIMENSIONS.items()
        ]


def _keep_newest(cells: Cells, places: tuple[int, ...], row: tuple[Any, ...], sequence: int, is_value: bool) -> None:
    at = 0
    for place in places:
        if place < len(row) and sequence > cells[at + 1] and ((value := row[place]) is not None or is_value):
            cells[at], cells[at + 1] = value, sequence
        at += 2


def _dimension(rows: dict[Any, Cells], columns: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    return {str(key): {name: rows[key][2 * at] for at, (name, _) in enumerate(columns)} for key in sorted(rows)}


def _sale(cells: Cells) -> dict[str, Any]:
    row = {name: cells[2 * at] if cells[2 * at + 1] > cells[_DELETED] else None for at, (name, _) in enumerate(_SALES)}
    signed_ms = row["contract_signing_date"]
    return row if signed_ms is None else {**row, "contract_signing_date": _iso(signed_ms)}


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, tz=UTC).replace(tzinfo=None).isoformat()
