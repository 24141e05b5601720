"""What the versions of rows must be: events applied one after another, in plain Python. No code of the product."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support import oracle
from tests.support.lakes import in_utc

Version = tuple[Any, ...]
"""The key, the values, from when, to when or None."""


@dataclass(frozen=True, kw_only=True)
class RowChange:
    """What one event changes in one row: ``values`` are the columns that it sets."""

    key: tuple[Hashable, ...]
    order: Any
    time: Any
    is_delete: bool
    values: Mapping[str, Any]


def versions_of(events: Iterable[RowChange], columns: Sequence[str]) -> list[Version]:
    """Every version of every row; of what comes twice it makes one."""
    by_key: dict[tuple[Hashable, ...], dict[Any, RowChange]] = defaultdict(dict)
    for event in events:
        by_key[event.key][event.order] = event
    found = list[Version]()
    for key, of_key in by_key.items():
        row: dict[str, Any] | None = None
        now = begun = None
        for _, event in sorted(of_key.items()):
            now = event.time if now is None else max(now, event.time)
            after = None if event.is_delete else {**(row or dict.fromkeys(columns)), **event.values}
            if after == row:
                continue
            if row is not None:
                found.append((*key, *row.values(), begun, now))
            row, begun = after, now
        if row is not None:
            found.append((*key, *row.values(), begun, None))
    return in_order(found)


def of_the_wide_log(events: Iterable[oracle.Event], table: str) -> list[RowChange]:
    """What events of the wide log change in the rows of one of its tables, in which null means unknown."""
    key, columns = oracle.TABLES[table]
    return [
        RowChange(
            key=(event.row[key],),
            order=event.order,
            time=event.time,
            is_delete=event.op == "d",
            values={name: event.row[name] for name in columns if name in event.row},
        )
        for event in events
        if key in event.row and (table == "sales" or event.op != "d")
    ]


def in_order(versions: Iterable[Sequence[Any]]) -> list[Version]:
    """Versions as they can be compared, since a table has no order."""
    return sorted((tuple(map(in_utc, version)) for version in versions), key=repr)
