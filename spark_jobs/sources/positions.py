"""What an event's source block says of where it comes from: its origin, and its place in its source's own order.

What differs from connector to connector is in :mod:`spark_jobs.connectors`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from spark_jobs.connectors.events import Blocks, Connector
from spark_jobs.connectors.registry import connector_of
from spark_jobs.contracts.rejections import Reason, RejectedRecordError
from spark_jobs.lake_spec.origins import escaped
from spark_jobs.lake_spec.table_sources import Ways, names_of, origin_of

MAX_ORIGIN = 1000
_MOST_TRANSACTION = 200
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INCREMENTAL = "incremental"
_MILLISECOND = timedelta(milliseconds=1)


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
    of = connector_of(connector)
    database = "" if of.is_log_of_server else str(source.get("db", ""))
    return connector, str(source.get("name", "")), database, *of.table_of(source)


def names_in(source: dict[str, Any], connector: str, ways: Ways) -> tuple[str, ...]:
    """The names that the lake may have for the table of an event, the most particular one first."""
    of = connector_of(connector)
    schema, table = of.table_of(source)
    if len(ways) == 1:
        return (origin_of(schema, table),)
    database = schema if of.is_log_of_server else str(source.get("db", ""))
    return names_of(str(source.get("name", "")), database, schema, table, ways)


def build_origin(key: tuple[str, ...]) -> Origin:
    """The origin that :func:`origin_key` names; RejectedRecordError when its parts are no names."""
    connector, server, database, schema, table = key
    if sum(map(len, key)) > MAX_ORIGIN or not all(map(str.isprintable, key)):
        raise RejectedRecordError(Reason.NOT_AN_ENVELOPE, "source.name, db, schema and table are no name")
    parts = [connector, server] if connector_of(connector).is_log_of_server else [connector, server, database]
    stream = "/".join(map(escaped, parts))
    where = "/".join(map(escaped, (parts[0], *parts[2:])))
    return Origin(
        name=f"{stream}/{escaped(schema)}.{escaped(table)}", id_start=f"{server}.{schema}.{table}:", id_end=f"@{where}"
    )


def transaction_of(source: dict[str, Any], connector: Connector) -> str | None:
    """The source's own name of the transaction: GTID, PostgreSQL's number, SQL Server's commit LSN; None without one.

    It is kept for people who look something up at the source; nothing is decided by it.
    """
    return _transaction(source.get(connector.transaction_field))


def transactions_of(blocks: Blocks, connector: Connector, count: int) -> Sequence[str | None]:
    """:func:`transaction_of` of so many changes."""
    names = blocks.get(connector.transaction_field, (None,) * count)
    if {*map(type, names)} == {str} and max(map(len, names)) <= _MOST_TRANSACTION and all(names):
        return names if "".join(names).isprintable() else [*map(_transaction, names)]
    return [*map(_transaction, names)]


def identities_of(blocks: Blocks, connector: Connector, count: int) -> list[str]:
    """The servers that so many changes name."""
    if type(connector).identity_of is Connector.identity_of:
        return [""] * count
    rows = zip(*blocks.values(), strict=True)
    return [connector.identity_of(dict(zip(blocks, values, strict=True))) for values in rows]


def _transaction(name: Any) -> str | None:
    known = str(name) if isinstance(name, (str, int)) and not isinstance(name, bool) else ""
    return known if 0 < len(known) <= _MOST_TRANSACTION and known.isprintable() else None


def position_of(source: dict[str, Any], connector: str, payload: dict[str, Any]) -> str:
    """The place by the connector's own source block; RejectedRecordError when it has none."""
    return connector_of(connector).position_of(source, payload)


def event_time_of(source: dict[str, Any], connector: Connector, payload: dict[str, Any]) -> datetime:
    """When it happened. ``ts_ms`` of the record is when it was sent, which is another day when it is sent again.

    RejectedRecordError when there is none.
    """
    moment: Any = source.get("ts_ms")
    if moment is None and not connector.place_field:
        moment = payload.get("ts_ms")
    try:
        if type(moment) is int:
            return EPOCH + _MILLISECOND * moment
    except OverflowError:
        moment = "out of range"
    raise RejectedRecordError(Reason.BAD_TIMESTAMP, f"source.ts_ms {str(moment)[:40]!r} is no time")


def mark_of(source: dict[str, Any], connector: Connector, position: str) -> str | None:
    """What rises with the commits of a stream, to notice positions that begin again; None where nothing does.

    Rows of an incremental snapshot have the place of another event.
    """
    return None if source.get("snapshot") == INCREMENTAL else connector.mark_of(source, position)


def time_position_of(source: dict[str, Any], connector: str, payload: dict[str, Any]) -> str:
    """A place that events of several origins have together: the source time, then the place in their own order."""
    return f"{position_of(source, '', payload)}{position_of(source, connector, payload)}"
