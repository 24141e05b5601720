"""The connectors and dialects that there are; a new one is a module of its name and a line in each list."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.connectors import mysql, postgresql, sqlserver
from spark_jobs.connectors.dialect import Dialect
from spark_jobs.connectors.events import Connector

CONNECTORS: Mapping[str, Connector] = {
    each.name: each for each in (sqlserver.Sqlserver(), postgresql.Postgresql(), mysql.Mysql(), mysql.Mariadb())
}
"""By the name that a connector gives in the source block of its events."""
DIALECTS: tuple[Dialect, ...] = (postgresql.DIALECT, mysql.DIALECT, sqlserver.DIALECT)
_UNKNOWN = Connector()


def connector_of(name: str) -> Connector:
    """The connector of this name; one whose events are ordered by time when nothing is known of it."""
    return CONNECTORS.get(name, _UNKNOWN)
