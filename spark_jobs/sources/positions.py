"""The place of a change in its source's own order, as text that sorts: fixed-width hexadecimal.

| connector | place |
|---|---|
| ``sqlserver`` | commit LSN, change LSN, event serial number |
| ``postgresql`` | LSN |
| ``mysql``, ``mariadb`` | number of the binlog file, position in it, row of the event |
| others | source time in milliseconds |

Real events tie on it (snapshot rows share one place), so an event's order ends in what belongs to the change itself
(:mod:`spark_jobs.sources.envelope`).

Places of one stream can be compared: of one server, and of one database where each has a log of its own
(:mod:`spark_jobs.lake_spec.origins`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.lake_spec.origins import escaped
from spark_jobs.lake_spec.table_sources import Ways, names_of, origin_of

MAX_ORIGIN = 1000
BINLOG_CONNECTORS = frozenset({"mysql", "mariadb"})

_TRANSACTIONS = {"mysql": "gtid", "mariadb": "gtid", "postgresql": "txId", "sqlserver": "commit_lsn"}
_MOST_TRANSACTION = 200
_MOST_DIGITS = len(str(2**64))
_LSN = re.compile(r"([0-9a-fA-F]{8}):([0-9a-fA-F]{8}):([0-9a-fA-F]{4})")
_BINLOG = re.compile(r"[^/]{1,200}\.([0-9]{6,10})")
_COMMITTED = re.compile(r'\["([0-9]{1,20})",')
_MOST_IDENTITY = 100
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PLACES = {"sqlserver": "commit_lsn", "postgresql": "lsn", **dict.fromkeys(BINLOG_CONNECTORS, "file")}
"""By connector, the field of its source block without which a change has no place."""
_INCREMENTAL = "incremental"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A table at the source, with everything that names it.

    Attributes:
        name: connector, server, database, schema and table (:mod:`spark_jobs.lake_spec.origins`).
        id_start: what ids of its events begin with.
        id_end: what they end with.
    """

    name: str
    id_start: str
    id_end: str


def origin_key(source: dict[str, Any], connector: str) -> tuple[str, ...]:
    """What names the table of an event: connector, server, database, schema (of MySQL: database) and table."""
    database = "" if connector in BINLOG_CONNECTORS else str(source.get("db", ""))
    return connector, str(source.get("name", "")), database, *table_of(source, connector)


def names_in(source: dict[str, Any], connector: str, ways: Ways) -> tuple[str, ...]:
    """The names that the lake may have for the table of an event, the most particular one first."""
    schema, table = table_of(source, connector)
    if len(ways) == 1:
        return (origin_of(schema, table),)
    database = schema if connector in BINLOG_CONNECTORS else str(source.get("db", ""))
    return names_of(str(source.get("name", "")), database, schema, table, ways)


def build_origin(key: tuple[str, ...]) -> Origin:
    """The origin that :func:`origin_key` names; RejectedRecordError when its parts are no names."""
    connector, server, database, schema, table = key
    if sum(map(len, key)) > MAX_ORIGIN or not all(map(str.isprintable, key)):
        raise RejectedRecordError(Reason.NOT_AN_ENVELOPE, "source.name, db, schema and table are no name")
    parts = [connector, server] if connector in BINLOG_CONNECTORS else [connector, server, database]
    stream = "/".join(map(escaped, parts))
    where = "/".join(map(escaped, (parts[0], *parts[2:])))
    return Origin(
        name=f"{stream}/{escaped(schema)}.{escaped(table)}", id_start=f"{server}.{schema}.{table}:", id_end=f"@{where}"
    )


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
    """The place by the connector's own source block; RejectedRecordError when it has none.

    Without it a change of a connector that has places is not ordered by time: that would be above all of them.
    """
    if (field := PLACES.get(connector)) and source.get(field) is None:
        raise RejectedRecordError(Reason.MISSING_POSITION, f"source.{field} is missing in a change of {connector}")
    if connector == "sqlserver":
        serial = _count(source.get("event_serial_no") or 0, "event_serial_no")
        return f"{_lsn(source['commit_lsn'])}{_lsn(source.get('change_lsn'))}{serial:08x}"
    if connector == "postgresql":
        return _hexadecimal(source["lsn"], "lsn")
    if connector in BINLOG_CONNECTORS:
        row = _count(source.get("row") or 0, "row")
        return f"{_binlog(source['file']):08x}{_hexadecimal(source.get('pos'), 'pos')}{row:08x}"
    moment = source.get("ts_ms")
    return _hexadecimal(payload.get("ts_ms") if moment is None else moment, "ts_ms")


def event_time_of(source: dict[str, Any], connector: str, payload: dict[str, Any]) -> datetime:
    """When it happened. ``ts_ms`` of the record is when it was sent, which is another day when it is sent again.

    RejectedRecordError when there is none.
    """
    moment: Any = source.get("ts_ms")
    if moment is None and connector not in PLACES:
        moment = payload.get("ts_ms")
    try:
        if type(moment) is int:
            return EPOCH + timedelta(milliseconds=moment)
    except OverflowError:
        moment = "out of range"
    raise RejectedRecordError(Reason.BAD_TIMESTAMP, f"source.ts_ms {str(moment)[:40]!r} is no time")


def mark_of(source: dict[str, Any], connector: str, position: str) -> str | None:
    """What rises with the commits of a stream, to notice positions that begin again; None where nothing does.

    It is the position; of PostgreSQL, whose transactions are sent when they end and whose changes are placed where they
    began, that of the last commit before it. Rows of an incremental snapshot have the place of another event.
    """
    if source.get("snapshot") == _INCREMENTAL:
        return None
    if connector == "postgresql" and isinstance(sequence := source.get("sequence"), str):
        committed = _COMMITTED.match(sequence)
        return f"{int(committed[1]):016x}" if committed and int(committed[1]) < 2**64 else position
    return position


def identity_of(source: dict[str, Any], connector: str) -> str:
    """The server that wrote a change, as far as its connector says: server id and the server's part of the GTID."""
    if connector not in BINLOG_CONNECTORS:
        return ""
    server, gtid = source.get("server_id"), source.get("gtid")
    parts = [str(server)] if type(server) is int and server else []
    if isinstance(gtid, str):
        parts += [gtid.rpartition("-" if connector == "mariadb" else ":")[0]]
    identity = " ".join(filter(None, parts))
    return identity if len(identity) <= _MOST_IDENTITY and identity.isprintable() else ""


def time_position_of(source: dict[str, Any], connector: str, payload: dict[str, Any]) -> str:
    """A place that events of several origins have together: the source time, then the place in their own order."""
    return f"{position_of(source, '', payload)}{position_of(source, connector, payload)}"


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
