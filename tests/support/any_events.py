"""Events of random lakes (tests.support.any_tables), the records that they come as, and the oracle of their tables.

The oracle shares no code with the product. A table is what its events say one after another, in the source's order: an
event is about the row of its key, or none when it has no key or an empty text alone; a value that did not travel, or
that the record lacks, says nothing; null says nothing in some columns, and is the value in the others; a delete ends a
row, unless the table ignores deletes.
"""

from __future__ import annotations

import base64
import json
import random
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

from tests.support.any_tables import COLUMNS, LINES, WIDE, AnyLake, AnyTable, is_wide
from tests.support.envelopes import START_MS, Envelope
from tests.support.mirrors import TYPES, UNAVAILABLE, Field, decimal_field, packed
from tests.support.oracle import EPOCH, tie
from tests.support.oracle_versions import RowChange

EXAMPLES: Mapping[str, tuple[Any, ...]] = {
    "Line": (1, 2),
    "VendorId": (1, 2, 2**40),
    "City": ("north", "south 2", "Zoë"),
    "Code": ("A|1", 'é "q"', "a:b,c", ""),
    "Note": ("", "Ada", "O'Neil; --", "a\tb"),
    "Total": (Decimal("0.0001"), Decimal("-12.5000"), Decimal("99999999999999.9999")),
    "PaidAt": tuple(datetime(2026, month, 3, 23, 59, 59, 999_999, tzinfo=UTC) for month in (1, 2)),
    "IsPaid": (True, False),
    "Qty": (0, 7, -1),
    "Extra": ("x", ""),
    "Day": (date(1999, 12, 31), date(2026, 1, 1)),
    "Photo": (b"", b"\x00\x01\xff"),
    "Rate": (0.1, -1e300, 3.0),
}
MAY_NOT_TRAVEL = ("Note", "Total", "Photo", "City", "Extra", "PaidAt")
MASK = "***"


@dataclass(frozen=True, kw_only=True)
class AnyEvent:
    """A change; ``image`` is of the columns that the record has, with values as Python has them."""

    source: str
    op: str
    lsn: int
    time: datetime
    image: Mapping[str, Any]
    record: Envelope

    @cached_property
    def order(self) -> tuple[int, str]:
        """Where the source has it; numbers of its record count as they are written there."""
        record = json.loads(json.dumps(self.record), parse_float=Decimal)
        return self.lsn, tie(self.op, record.get("payload", record))


def draw_events(rng: random.Random, lake: AnyLake, count: int) -> list[AnyEvent]:
    """What might happen to a few keys of each table at the source, in its order; some changes share a position."""
    there, events, lsn = set[tuple[Hashable, ...]](), dict[tuple[Hashable, ...], AnyEvent](), 1
    for number in range(count):
        lsn += number == count // 2 + 1 or rng.random() < 0.85
        source = rng.choice(lake.sources)
        row = {"Id": rng.randint(1, 5), **{name: rng.choice(values) for name, values in EXAMPLES.items()}}
        key = (source, row["Id"], row["Line"] if source == LINES else 0)
        op = "d" if key in there and rng.random() < 0.3 else "u" if key in there else rng.choice("ccr")
        (there.discard if op == "d" else there.add)(key)
        has = source in lake.has_schema
        event = _event(
            rng, source, op, lsn, _image(rng, source, op, row, is_late=number > count // 2, has_schema=has), has
        )
        events.setdefault((source, *event.order), event)
    return [*events.values()]


def _image(
    rng: random.Random, source: str, op: str, row: Mapping[str, Any], *, is_late: bool, has_schema: bool
) -> dict[str, Any]:
    """The columns that a record has: of the wide log some, of a deleted row sometimes the key alone."""
    kept = ("Id", "Line") if source != WIDE else ("Id",)
    names = [name for name in COLUMNS if (has_schema and source != WIDE) or is_wide(name)]
    names = [name for name in names if name != "Extra" or is_late]
    if source == WIDE:
        names = [name for name in names if name in kept or rng.random() < 0.7]
    image = {name: row[name] if name in kept or rng.random() > 0.2 else None for name in names}
    if op == "d" and rng.random() < 0.5:
        return {name: image[name] if name in kept else None for name in names}
    if op == "u" and rng.random() < 0.3:
        image |= dict.fromkeys({rng.choice(MAY_NOT_TRAVEL)} & {*names}, UNAVAILABLE)
    return image


def _event(rng: random.Random, source: str, op: str, lsn: int, image: Mapping[str, Any], has_schema: bool) -> AnyEvent:
    database, _, table = source.partition(".")
    moment = START_MS + 60_000 * (lsn if rng.random() < 0.9 else max(0, lsn - rng.randint(1, 10)))
    where = {"connector": "postgresql", "name": "any", "ts_ms": moment, "snapshot": "true" if op == "r" else "false"}
    where |= {"db": "any", "schema": database, "table": table, "lsn": lsn}
    sent = {name: _sent(value, has_schema=has_schema) for name, value in image.items()}
    record: Envelope = {"before": sent if op == "d" else None, "after": None if op == "d" else sent}
    record |= {"source": where, "op": op, "ts_ms": moment + 5}
    if has_schema:
        is_wider = "Extra" in image
        fields = [{"field": name, "optional": True, **_field(name, is_wider=is_wider)} for name in image]
        parts = [{"type": "struct", "field": part, "fields": fields} for part in ("before", "after")]
        record = {"schema": {"type": "struct", "fields": parts}, "payload": record}
    time = EPOCH + timedelta(milliseconds=moment)
    return AnyEvent(source=source, op=op, lsn=lsn, time=time, image=image, record=record)


def _field(column: str, *, is_wider: bool) -> Field:
    if column == "Qty" and not is_wider:
        return TYPES["int"]
    return TYPES.get(COLUMNS[column][1]) or decimal_field(18, 4)


def _sent(value: Any, *, has_schema: bool) -> Any:
    """A value as a record has it."""
    if isinstance(value, Decimal):
        return packed(int(value.scaleb(4))) if has_schema else str(value)
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - EPOCH.date()).days
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def row_changes(table: AnyTable, events: Iterable[AnyEvent]) -> list[RowChange]:
    """The changes of a table's rows in these events."""
    changes = []
    for event in events:
        key, is_delete = tuple(event.image.get(name) for name in table.key), event.op == "d"
        is_about = event.source in table.sources and not {None, UNAVAILABLE} & {*key} and key != ("",)
        if not is_about or (is_delete and table.ignores_deletes):
            continue
        values = {} if is_delete else {table.columns[name]: value for name, value in _values(table, event)}
        key = (event.source, *key) if table.shard else key
        changes.append(RowChange(key=key, order=event.order, time=event.time, is_delete=is_delete, values=values))
    return changes


def _values(table: AnyTable, event: AnyEvent) -> Iterable[tuple[str, Any]]:
    for name in table.columns:
        value = event.image.get(name, UNAVAILABLE)
        if value != UNAVAILABLE and not (value is None and name in table.unknown):
            yield name, MASK if name in table.masked and value is not None else value


def rows_of(table: AnyTable, events: Iterable[AnyEvent]) -> list[dict[str, Any]]:
    """The rows of a table after all of these events."""
    by_key: dict[tuple[Hashable, ...], dict[Any, RowChange]] = defaultdict(dict)
    for each in row_changes(table, events):
        by_key[each.key][each.order] = each
    rows = []
    for key, of_key in by_key.items():
        row: dict[str, Any] | None = None
        for _, each in sorted(of_key.items()):
            row = None if each.is_delete else {**(row or dict.fromkeys(table.columns.values())), **each.values}
        if row is not None:
            rows.append({**dict(zip(key_names(table), key, strict=True)), **row})
    return rows


def key_names(table: AnyTable) -> tuple[str, ...]:
    """The columns of a table's key in the lake."""
    return ((table.shard,) if table.shard else ()) + tuple(table.key.values())
