"""SQL Server, read by Debezium's connector and by JDBC.

A change's place is the LSN of its commit, its own LSN, and its serial number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from spark_jobs.connectors.dialect import Dialect, Form, Query, forms
from spark_jobs.connectors.events import Blocks, Connector, count, counts
from spark_jobs.connectors.source_table import SourceTable
from spark_jobs.connectors.values import ColumnKind
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.rejections import Reason, RejectedRecordError

_LSN = re.compile(r"([0-9a-fA-F]{8}):([0-9a-fA-F]{8}):([0-9a-fA-F]{4})")
_LSNS = re.compile(r"(?:[0-9a-fA-F]{8}:[0-9a-fA-F]{8}:[0-9a-fA-F]{4}\n)+")
_NO_LSN = "00000000:00000000:0000"
_LSN_DIGITS = (8, 8, 4)


class Sqlserver(Connector):
    """Change data capture: one log for each database."""

    name = "sqlserver"
    place_field = "commit_lsn"
    transaction_field = "commit_lsn"
    rises_by_commit = True

    def places_of(self, blocks: Blocks) -> list[str] | None:
        serials = counts(blocks.get("event_serial_no", (0,) * len(blocks["commit_lsn"])))
        commits = _lsns(blocks["commit_lsn"])
        changes = _lsns([value or _NO_LSN for value in blocks["change_lsn"]]) if "change_lsn" in blocks else None
        if serials is None or commits is None or changes is None:
            return None
        return [f"{commit}{change}{n:08x}" for commit, change, n in zip(commits, changes, serials, strict=True)]

    def _place(self, source: dict[str, Any], payload: dict[str, Any]) -> str:
        serial = count(source.get("event_serial_no") or 0, "event_serial_no")
        return f"{_lsn(source['commit_lsn'])}{_lsn(source.get('change_lsn'))}{serial:08x}"


def _lsns(texts: Sequence[Any]) -> list[str] | None:
    """The digits of each LSN; None when one of them is none."""
    if {*map(type, texts)} != {str}:
        return None
    lines = "".join([f"{text}\n" for text in texts])
    return lines.replace(":", "").lower().split("\n")[:-1] if _LSNS.fullmatch(lines) else None


def _lsn(text: Any) -> str:
    if text is None:
        return "0" * 20
    match = _LSN.fullmatch(text) if isinstance(text, str) else None
    if not match:
        raise RejectedRecordError(Reason.MISSING_POSITION, f"{str(text)[:60]!r} is not an LSN")
    return "".join(match.groups()).lower()


_FORMS: dict[str, Form] = {
    **forms(ColumnKind.INTEGER, "tinyint, smallint", "CONVERT(varchar(20), ", ")", "int16"),
    **forms(ColumnKind.INTEGER, "int", "CONVERT(varchar(20), ", ")", "int32"),
    **forms(ColumnKind.INTEGER, "bigint", "CONVERT(varchar(20), ", ")"),
    **forms(ColumnKind.DECIMAL, "decimal, numeric", "CONVERT(varchar(50), ", ")"),
    **forms(ColumnKind.DECIMAL, "money, smallmoney", "CONVERT(varchar(50), CAST(", " AS decimal(19,4)))"),
    **forms(ColumnKind.FLOAT, "float", "CONVERT(varchar(50), ", ", 3)"),
    **forms(ColumnKind.FLOAT, "real", "CONVERT(varchar(50), ", ", 3)", "float"),
    **forms(ColumnKind.BOOLEAN, "bit", "CONVERT(varchar(1), ", ")"),
    **forms(ColumnKind.TEXT, "char, varchar, text, nchar, nvarchar, ntext, xml", "CONVERT(nvarchar(max), ", ")"),
    **forms(ColumnKind.TEXT, "uniqueidentifier", "CONVERT(varchar(36), ", ")"),
    **forms(ColumnKind.DATE, "date", "CONVERT(varchar(10), ", ", 23)"),
    **forms(ColumnKind.TIMESTAMP, "datetime, smalldatetime", "CONVERT(varchar(33), ", ", 126)"),
    **forms(ColumnKind.NANO_TIMESTAMP, "datetime2", "CONVERT(varchar(33), ", ", 126)"),
    **forms(ColumnKind.INSTANT, "datetimeoffset", "CONVERT(varchar(33), SWITCHOFFSET(", ", '+00:00'), 126)"),
    **forms(ColumnKind.TIME, "time", "CONVERT(varchar(16), ", ")"),
    **forms(
        ColumnKind.BYTES,
        "binary, varbinary, image, timestamp, rowversion",
        "CONVERT(varchar(max), CONVERT(varbinary(max), ",
        "), 2)",
    ),
}
_COLUMNS = (
    "SELECT c.ORDINAL_POSITION AS place, c.COLUMN_NAME AS name, c.DATA_TYPE AS type, "
    "CASE WHEN c.DATA_TYPE IN ('decimal', 'numeric') THEN CONCAT(c.NUMERIC_PRECISION, ',', c.NUMERIC_SCALE) "
    "WHEN c.DATA_TYPE LIKE '%money' THEN '19,4' END AS digits "
    "FROM INFORMATION_SCHEMA.COLUMNS c WHERE c.TABLE_SCHEMA = "
)
_PRIMARY_KEY = (
    "SELECT CAST(k.key_ordinal AS int) AS place, c.name AS name FROM sys.schemas s "
    "JOIN sys.tables t ON t.schema_id = s.schema_id "
    "JOIN sys.indexes i ON i.object_id = t.object_id AND i.is_primary_key = 1 "
    "JOIN sys.index_columns k ON k.object_id = i.object_id AND k.index_id = i.index_id AND k.key_ordinal > 0 "
    "JOIN sys.columns c ON c.object_id = k.object_id AND c.column_id = k.column_id "
    "WHERE s.name = '{schema}' AND t.name = '{name}'"
)
_DATABASE = "SELECT DB_NAME() AS db"
_CDC = "SELECT DB_NAME() AS db, CONVERT(varchar(20), sys.fn_cdc_get_max_lsn(), 2) AS lsn"


def _read_position(table: SourceTable, query: Query) -> dict[str, Any]:
    found = query(_CDC)[0]
    if not found["lsn"]:
        raise SettingsError(
            f"database {found['db']} has no position of change data capture; turn it on (sys.sp_cdc_enable_db, "
            f"sys.sp_cdc_enable_table) and see that SQL Server Agent runs"
        )
    block = {"connector": "sqlserver", "db": found["db"], "schema": table.schema, "table": table.name}
    return {**block, "commit_lsn": _as_lsn(found["lsn"]), "change_lsn": None, "event_serial_no": 1}


def _as_lsn(digits: str) -> str:
    """Twenty hexadecimal digits as Debezium writes an LSN: ``00000027:00000ac0:0002``."""
    first, second, _ = _LSN_DIGITS
    text = digits.lower()
    return f"{text[:first]}:{text[first : first + second]}:{text[first + second :]}"


DIALECT = Dialect(
    name="SQL Server",
    schemes=("sqlserver",),
    connection_types={"mssql": "sqlserver"},
    example="jdbc:sqlserver://host;databaseName=name",
    driver="com.microsoft.sqlserver.jdbc.SQLServerDriver",
    waits={"loginTimeout": 1, "socketTimeout": 1000},
    separators=(";", ";"),
    database_parameter="databaseName",
    quotes=("[", "]"),
    forms=_FORMS,
    columns_sql=_COLUMNS,
    table_column="c.TABLE_NAME",
    primary_key_sql=_PRIMARY_KEY,
    count="COUNT_BIG(*)",
    database_sql=_DATABASE,
    read_position=_read_position,
)
