"""The place of a change in its source's own order, as text that sorts: fixed-width hexadecimal.

| connector | place |
|---|---|
| ``sqlserver`` | commit LSN, change LSN, event serial number |
| ``postgresql`` | LSN |
| ``mysql``, ``mariadb`` | number of the binlog file, position in it, row of the event |
| others | source time in milliseconds |

Real events tie on it (snapshot rows share one place), so an event's order ends in what belongs to the change itself
(:mod:`spark_jobs.sources.envelope`).
"""

from __future__ import annotations

import re
from typing import Any

from spark_jobs.contracts.rejections import Reason, RejectedRecordError

MAX_ORIGIN = 1000
BINLOG_CONNECTORS = frozenset({"mysql", "mariadb"})

_TRANSACTIONS = {"mysql": "gtid", "mariadb": "gtid", "postgresql": "txId", "sqlserver": "commit_lsn"}
_MOST_TRANSACTION = 200
_MOST_DIGITS = len(str(2**64))
_LSN = re.compile(r"([0-9a-fA-F]{8}):([0-9a-fA-F]{8}):([0-9a-fA-F]{4})")
_BINLOG = re.compile(r"[^/]{1,200}\.([0-9]{6,10})")


def qualified_table_of(source: dict[str, Any], connector: str) -> str:
    """Server, schema (of MySQL and MariaDB: database) and table; RejectedRecordError when they are no names."""
    origin = ".".join((str(source.get("name", "")), *table_of(source, connector)))
    if len(origin) > MAX_ORIGIN or not origin.isprintable():
        raise RejectedRecordError(Reason.NOT_AN_ENVELOPE, "source.name, schema and table are no name")
    return origin


def table_of(source: dict[str, Any], connector: str) -> tuple[str, str]:
    """Schema (of MySQL and MariaDB: database) and table."""
    schema = source.get("db" if connector in BINLOG_CONNECTORS else "schema", "")
    return str(schema), str(source.get("table", ""))


def transaction_of(source: dict[str, Any], connector: str) -> str | None:
    """The source's own name of the transaction: GTID, PostgreSQL's number, SQL Server's commit LSN; None without one.

    It is kept for people who look something up at the source; nothing is decided by it.
    """
    name = source.get(_TRANSACTIONS.get(connector, ""))
    known = str(name) if isinstance(name, (str, int)) and not isinstance(name, bool) else ""
    return known if 0 < len(known) <= _MOST_TRANSACTION and known.isprintable() else None


def position_of(source: dict[str, Any], connector: str, payload: dict[str, Any]) -> str:
    """The place by the connector's own source block; RejectedRecordError when it has none."""
    if connector == "sqlserver" and source.get("commit_lsn") is not None:
        serial = _count(source.get("event_serial_no") or 0, "event_serial_no")
        return f"{_lsn(source['commit_lsn'])}{_lsn(source.get('change_lsn'))}{serial:08x}"
    if connector == "postgresql" and source.get("lsn") is not None:
        return _hexadecimal(source["lsn"], "lsn")
    if connector in BINLOG_CONNECTORS and source.get("file"):
        row = _count(source.get("row") or 0, "row")
        return f"{_binlog(source['file']):08x}{_hexadecimal(source.get('pos'), 'pos')}{row:08x}"
    moment = source.get("ts_ms")
    return _hexadecimal(payload.get("ts_ms") if moment is None else moment, "ts_ms")


def _lsn(text: Any) -> str:
    if text is None:
        return "0" * 20
    match = _LSN.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise RejectedRecordError(Reason.MISSING_POSITION, f"{str(text)[:60]!r} is not an LSN")
    return "".join(match.groups()).lower()


def _binlog(name: Any) -> int:
    """The number in the name of a binlog file, ``mariadb-bin.000042``; servers count on past six digits."""
    match = _BINLOG.fullmatch(name) if isinstance(name, str) else None
    if not match or int(match[1]) >= 2**32:
        raise RejectedRecordError(Reason.MISSING_POSITION, f"{str(name)[:60]!r} is not a binlog file")
    return int(match[1])


def _count(value: Any, name: str) -> int:
    if type(value) is not int or not 0 <= value < 2**32:
        raise RejectedRecordError(Reason.MISSING_POSITION, f"{name} is not a count")
    return value


def _hexadecimal(value: Any, name: str) -> str:
    if isinstance(value, str) and len(value) <= _MOST_DIGITS and value.isascii() and value.isdigit():
        value = int(value)
    if type(value) is not int or not 0 <= value < 2**64:
        raise RejectedRecordError(Reason.MISSING_POSITION, f"{name} gives no place in the order of events")
    return f"{value:016x}"
