"""The text of a change event as Debezium's SQL Server connector and Kafka Connect's JsonConverter write it.

Log sequence numbers follow from the event's sequence: a transaction takes the block of its first event, its changes
take rising slots of the block, the commit record a slot after them: fixed-width hexadecimal sorts as the sequence.
One thing differs from the connector: rows of the snapshot, which share one ``commit_lsn`` and have no ``change_lsn``,
are numbered in ``event_serial_no`` (the connector leaves it null), so that the source's own order has no ties here.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from spark_jobs.generator.events import BASE_COLUMNS, CUSTOMER_COLUMNS, Row

VERSION = "3.3.1.Final"
FIRST_CHANGE_SLOT = 0x0002
COMMIT_SLOT = 0x0020
INSERT_SERIAL, UPDATE_SERIAL = 1, 2
"""CDC stores an update as two rows, old and new: the event carries the number of the second."""

_FIRST_FILE, _BLOCK_BITS, _BLOCK_STEP = 0x27, 24, 8
_COLUMNS = {False: BASE_COLUMNS, True: BASE_COLUMNS + CUSTOMER_COLUMNS}
_ABSENT_CUSTOMER = ',"CustomerId":null,"CustomerName":null}'
encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def lsn(sequence: int, slot: int) -> str:
    """``file:block:slot`` of the transaction log, for example ``00000027:000001d8:0003``."""
    block = (sequence + 1) * _BLOCK_STEP
    return f"{_FIRST_FILE + (block >> _BLOCK_BITS):08x}:{block & 0xFFFFFF:08x}:{slot:04x}"


def image(row: Row, *, has_customer_columns: bool) -> str:
    """One row image as JSON; before the columns of the customer exist their fields are absent."""
    return encode(dict(zip(_COLUMNS[has_customer_columns], row, strict=False)))


def with_customer_columns(row_image: str) -> str:
    """The image of a row written before the columns were added, as a later event's ``before`` shows it: with nulls."""
    return row_image if '"CustomerId":' in row_image else row_image[:-1] + _ABSENT_CUSTOMER


class LogPosition(NamedTuple):
    """The position of a change in the transaction log; rows of a snapshot have no ``change_lsn``."""

    change_lsn: str | None
    commit_lsn: str
    serial: int
    snapshot: str = "false"


def envelope(op: str, before: str, after: str, place: LogPosition, *, ts_ms: int, lag_ms: int) -> str:
    """One record without the schema wrapper. Images are JSON text; the connector saw the commit after ``lag_ms``."""
    change_lsn, commit_lsn, serial, snapshot = place
    change = f'"{change_lsn}"' if change_lsn else "null"
    seen_ms = ts_ms + lag_ms
    return (
        f'{{"before":{before},"after":{after},"source":{{"version":"{VERSION}","connector":"sqlserver","name":"erp",'
        f'"ts_ms":{ts_ms},"snapshot":"{snapshot}","db":"erp","sequence":null,"ts_us":{ts_ms}000,"ts_ns":{ts_ms}000000,'
        f'"schema":"dbo","table":"SALES","change_lsn":{change},"commit_lsn":"{commit_lsn}","event_serial_no":{serial}}},'
        f'"transaction":null,"op":"{op}","ts_ms":{seen_ms},"ts_us":{seen_ms}000,"ts_ns":{seen_ms}000000}}'
    )
