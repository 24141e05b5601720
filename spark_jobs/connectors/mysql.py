"""MySQL and MariaDB, read by Debezium's connectors and by JDBC.

A change's place is the number of the binlog file, the position in it, and the row of the event.
"""

from __future__ import annotations

import re
from typing import Any

from spark_jobs.connectors.dialect import Dialect, Form, Query, forms
from spark_jobs.connectors.events import Blocks, Connector, count, counts, hexadecimal, numbers_of
from spark_jobs.connectors.source_table import SourceTable
from spark_jobs.connectors.values import ColumnKind
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.rejections import Reason, RejectedRecordError

_BINLOG = re.compile(r"[^/]{1,200}\.([0-9]{6,10})")
_MOST_IDENTITY = 100


class Mysql(Connector):
    """One binlog for all databases of a server."""

    name = "mysql"
    place_field = "file"
    transaction_field = "gtid"
    is_log_of_server = True
    gtid_separator = ":"
    """Between the server's part of a GTID and the number of the transaction."""

    def identity_of(self, source: dict[str, Any]) -> str:
        """Server id and the server's part of the GTID."""
        server, gtid = source.get("server_id"), source.get("gtid")
        parts = [str(server)] if type(server) is int and server else []
        if isinstance(gtid, str):
            parts += [gtid.rpartition(self.gtid_separator)[0]]
        identity = " ".join(filter(None, parts))
        return identity if len(identity) <= _MOST_IDENTITY and identity.isprintable() else ""

    def places_of(self, blocks: Blocks) -> list[str] | None:
        rows, positions = counts(blocks.get("row", (0,) * len(blocks["file"]))), numbers_of(blocks.get("pos", ("",)))
        if rows is None or positions is None:
            return None
        files = {name: f"{_binlog(name):08x}" for name in {*blocks["file"]}}
        return [
            f"{files[name]}{position:016x}{row:08x}"
            for name, position, row in zip(blocks["file"], positions, rows, strict=True)
        ]

    def _place(self, source: dict[str, Any], payload: dict[str, Any]) -> str:
        row = count(source.get("row") or 0, "row")
        return f"{_binlog(source['file']):08x}{hexadecimal(source.get('pos'), 'pos')}{row:08x}"


class Mariadb(Mysql):
    """The same with GTIDs of another form."""

    name = "mariadb"
    gtid_separator = "-"


def _binlog(name: Any) -> int:
    """The number in the name of a binlog file, ``mariadb-bin.000042``; servers count on past six digits."""
    match = _BINLOG.fullmatch(name) if isinstance(name, str) else None
    if not match or int(match[1]) >= 2**32:
        raise RejectedRecordError(Reason.MISSING_POSITION, f"{str(name)[:60]!r} is not a binlog file")
    return int(match[1])


_CHAR = ("CAST(", " AS char)")
_FORMS: dict[str, Form] = {
    **forms(ColumnKind.INTEGER, "tinyint, tinyint unsigned, smallint", *_CHAR, "int16"),
    **forms(ColumnKind.INTEGER, "smallint unsigned, mediumint, mediumint unsigned, int, year", *_CHAR, "int32"),
    **forms(ColumnKind.INTEGER, "int unsigned, bigint, bigint unsigned", *_CHAR),
    **forms(ColumnKind.DECIMAL, "decimal, decimal unsigned", *_CHAR),
    **forms(
        ColumnKind.FLOAT, "float, float unsigned", "CAST(CAST(", " AS double) AS char)", "float"
    ),  # else six digits
    **forms(ColumnKind.FLOAT, "double, double unsigned", *_CHAR),
    **forms(ColumnKind.BOOLEAN, "bit(1)", "CAST(", " + 0 AS char)"),
    **forms(ColumnKind.TEXT, "char, varchar, tinytext, text, mediumtext, longtext, enum, set", *_CHAR),
    **forms(ColumnKind.TEXT, "uuid, inet4, inet6", *_CHAR),
    **forms(ColumnKind.JSON, "json", *_CHAR),
    **forms(ColumnKind.DATE, "date", *_CHAR),
    **forms(ColumnKind.TIMESTAMP, "datetime", *_CHAR),
    **forms(ColumnKind.INSTANT, "timestamp", *_CHAR),  # the session's zone is UTC
    **forms(ColumnKind.TIME, "time", *_CHAR),
    **forms(ColumnKind.BYTES, "binary, varbinary, tinyblob, blob, mediumblob, longblob", "HEX(", ")"),
}
_COLUMNS = (
    "SELECT c.ordinal_position AS place, c.column_name AS name, "
    "CASE WHEN c.data_type = 'bit' THEN c.column_type "
    "WHEN c.column_type LIKE '%unsigned%' THEN CONCAT(c.data_type, ' unsigned') ELSE c.data_type END AS type, "
    "CASE WHEN c.data_type = 'decimal' THEN CONCAT(c.numeric_precision, ',', c.numeric_scale) END AS digits "
    "FROM information_schema.columns c WHERE c.table_schema = "
)
_PRIMARY_KEY = (
    "SELECT s.seq_in_index AS place, s.column_name AS name FROM information_schema.statistics s "
    "WHERE s.index_name = 'PRIMARY' AND s.table_schema = '{schema}' AND s.table_name = '{name}'"
)
_VERSION = "SELECT VERSION() AS version"
_MARIADB_BINLOG = (
    "SELECT (SELECT variable_value FROM information_schema.session_status "
    "WHERE variable_name = 'BINLOG_SNAPSHOT_FILE') AS file, (SELECT variable_value FROM "
    "information_schema.session_status WHERE variable_name = 'BINLOG_SNAPSHOT_POSITION') AS pos"
)
_MYSQL_BINLOG = (
    "SELECT JSON_UNQUOTE(JSON_EXTRACT(`LOCAL`, '$.binary_log_file')) AS file, "
    "JSON_UNQUOTE(JSON_EXTRACT(`LOCAL`, '$.binary_log_position')) AS pos FROM performance_schema.log_status"
)


def _read_position(table: SourceTable, query: Query) -> dict[str, Any]:
    is_mariadb = "mariadb" in str(query(_VERSION)[0]["version"]).lower()
    if is_mariadb:
        # Of the transaction's own view: what is below it is committed in the tables, not in the binlog alone.
        found = query(_MARIADB_BINLOG, session_init="START TRANSACTION WITH CONSISTENT SNAPSHOT")[0]
    else:
        found = query(_MYSQL_BINLOG)[0]  # the server makes it agree with the tables itself
    if not found["file"] or not found["pos"]:
        raise SettingsError(
            "the server keeps no binlog, so changes that come after a snapshot could not be distinguished from earlier "
            "ones; turn it on (log_bin, binlog_format=ROW)"
        )
    block = {"connector": "mariadb" if is_mariadb else "mysql", "db": table.schema, "table": table.name}
    return {**block, "file": found["file"], "pos": max(int(found["pos"]) - 1, 0), "row": 0}


DIALECT = Dialect(
    name="MySQL",
    schemes=("mariadb", "mysql"),
    connection_types={"mysql": "mysql", "mariadb": "mariadb"},
    example="jdbc:mariadb://host/database, jdbc:mysql://host/database",
    driver="org.mariadb.jdbc.Driver",
    waits={"connectTimeout": 1000, "socketTimeout": 1000},
    driver_scheme="mysql",  # Spark quotes names right by it alone; MariaDB's driver takes it with the parameter
    driver_parameter="permitMysqlScheme",
    quotes=("`", "`"),
    forms=_FORMS,
    columns_sql=_COLUMNS,
    primary_key_sql=_PRIMARY_KEY,
    session_init="SET time_zone = '+00:00'",  # the text of moments depends on the session's zone
    is_wall_clock=True,
    read_position=_read_position,
)
