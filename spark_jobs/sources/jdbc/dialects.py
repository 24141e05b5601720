"""What the SQL of a database looks like: names, lists of columns, and how each type of value becomes text.

Every query is a SELECT that may stand in parentheses, because Spark puts each into one of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.contracts.jdbc import Dialect, SourceTable
from spark_jobs.sources.jdbc.kinds import ColumnKind, JdbcColumn

Form = tuple[ColumnKind, str, str, str]
"""A kind, the SQL before and behind a value that makes a text of it, and its type in events where the kind has none."""


def _forms(kind: ColumnKind, names: str, before: str, behind: str, type_: str = "") -> dict[str, Form]:
    return {name.strip(): (kind, before, behind, type_) for name in names.split(",")}


_TEXT, _CHAR = (("CAST(", " AS text)"), ("CAST(", " AS char)"))
_POSTGRESQL = {
    **_forms(ColumnKind.INTEGER, "smallint", *_TEXT, "int16"),
    **_forms(ColumnKind.INTEGER, "integer", *_TEXT, "int32"),
    **_forms(ColumnKind.INTEGER, "bigint, oid", *_TEXT),
    **_forms(ColumnKind.DECIMAL, "numeric", *_TEXT),
    **_forms(ColumnKind.DECIMAL, "money", "CAST(CAST(", " AS numeric) AS text)"),
    **_forms(ColumnKind.FLOAT, "real", *_TEXT, "float"),
    **_forms(ColumnKind.FLOAT, "double precision", *_TEXT),
    **_forms(ColumnKind.BOOLEAN, "boolean", *_TEXT),
    **_forms(ColumnKind.TEXT, "character varying, text, name, uuid, xml, inet, cidr, macaddr, macaddr8", *_TEXT),
    **_forms(ColumnKind.TEXT, "citext, enum", *_TEXT),
    # A cast would take away the blanks that it is filled up with, and that its change events have.
    **_forms(ColumnKind.TEXT, "character", "textin(bpcharout(", "))"),
    **_forms(ColumnKind.JSON, "json, jsonb", *_TEXT),
    **_forms(ColumnKind.DATE, "date", *_TEXT),
    **_forms(ColumnKind.TIMESTAMP, "timestamp without time zone", *_TEXT),
    **_forms(ColumnKind.INSTANT, "timestamp with time zone", "CAST((", " AT TIME ZONE 'UTC') AS text)"),
    **_forms(ColumnKind.TIME, "time without time zone", *_TEXT),
    **_forms(ColumnKind.BYTES, "bytea", "encode(", ", 'hex')"),
}
_MYSQL = {
    **_forms(ColumnKind.INTEGER, "tinyint, tinyint unsigned, smallint", *_CHAR, "int16"),
    **_forms(ColumnKind.INTEGER, "smallint unsigned, mediumint, mediumint unsigned, int, year", *_CHAR, "int32"),
    **_forms(ColumnKind.INTEGER, "int unsigned, bigint, bigint unsigned", *_CHAR),
    **_forms(ColumnKind.DECIMAL, "decimal, decimal unsigned", *_CHAR),
    **_forms(
        ColumnKind.FLOAT, "float, float unsigned", "CAST(CAST(", " AS double) AS char)", "float"
    ),  # else six digits
    **_forms(ColumnKind.FLOAT, "double, double unsigned", *_CHAR),
    **_forms(ColumnKind.BOOLEAN, "bit(1)", "CAST(", " + 0 AS char)"),
    **_forms(ColumnKind.TEXT, "char, varchar, tinytext, text, mediumtext, longtext, enum, set", *_CHAR),
    **_forms(ColumnKind.TEXT, "uuid, inet4, inet6", *_CHAR),
    **_forms(ColumnKind.JSON, "json", *_CHAR),
    **_forms(ColumnKind.DATE, "date", *_CHAR),
    **_forms(ColumnKind.TIMESTAMP, "datetime", *_CHAR),
    **_forms(ColumnKind.INSTANT, "timestamp", *_CHAR),  # the session's zone is UTC
    **_forms(ColumnKind.TIME, "time", *_CHAR),
    **_forms(ColumnKind.BYTES, "binary, varbinary, tinyblob, blob, mediumblob, longblob", "HEX(", ")"),
}
_SQLSERVER = {
    **_forms(ColumnKind.INTEGER, "tinyint, smallint", "CONVERT(varchar(20), ", ")", "int16"),
    **_forms(ColumnKind.INTEGER, "int", "CONVERT(varchar(20), ", ")", "int32"),
    **_forms(ColumnKind.INTEGER, "bigint", "CONVERT(varchar(20), ", ")"),
    **_forms(ColumnKind.DECIMAL, "decimal, numeric", "CONVERT(varchar(50), ", ")"),
    **_forms(ColumnKind.DECIMAL, "money, smallmoney", "CONVERT(varchar(50), CAST(", " AS decimal(19,4)))"),
    **_forms(ColumnKind.FLOAT, "float", "CONVERT(varchar(50), ", ", 3)"),
    **_forms(ColumnKind.FLOAT, "real", "CONVERT(varchar(50), ", ", 3)", "float"),
    **_forms(ColumnKind.BOOLEAN, "bit", "CONVERT(varchar(1), ", ")"),
    **_forms(ColumnKind.TEXT, "char, varchar, text, nchar, nvarchar, ntext, xml", "CONVERT(nvarchar(max), ", ")"),
    **_forms(ColumnKind.TEXT, "uniqueidentifier", "CONVERT(varchar(36), ", ")"),
    **_forms(ColumnKind.DATE, "date", "CONVERT(varchar(10), ", ", 23)"),
    **_forms(ColumnKind.TIMESTAMP, "datetime, smalldatetime", "CONVERT(varchar(33), ", ", 126)"),
    **_forms(ColumnKind.NANO_TIMESTAMP, "datetime2", "CONVERT(varchar(33), ", ", 126)"),
    **_forms(ColumnKind.INSTANT, "datetimeoffset", "CONVERT(varchar(33), SWITCHOFFSET(", ", '+00:00'), 126)"),
    **_forms(ColumnKind.TIME, "time", "CONVERT(varchar(16), ", ")"),
    **_forms(
        ColumnKind.BYTES,
        "binary, varbinary, image, timestamp, rowversion",
        "CONVERT(varchar(max), CONVERT(varbinary(max), ",
        "), 2)",
    ),
}
FORMS: Mapping[Dialect, Mapping[str, Form]] = {
    Dialect.POSTGRESQL: _POSTGRESQL,
    Dialect.MYSQL: _MYSQL,
    Dialect.SQLSERVER: _SQLSERVER,
}
"""By the name of a type, the kind of its values and their text; other types are not read."""

_QUOTES = {Dialect.POSTGRESQL: ('"', '"'), Dialect.MYSQL: ("`", "`"), Dialect.SQLSERVER: ("[", "]")}
_COLUMNS = {
    Dialect.POSTGRESQL: (
        "SELECT c.ordinal_position AS place, c.column_name AS name, CASE WHEN t.typtype = 'e' THEN 'enum' "
        "WHEN c.data_type = 'USER-DEFINED' THEN c.udt_name ELSE c.data_type END AS type, "
        "CASE WHEN c.data_type = 'numeric' THEN c.numeric_precision || ',' || c.numeric_scale END AS digits "
        "FROM information_schema.columns c "
        "JOIN pg_catalog.pg_namespace n ON n.nspname = c.udt_schema "
        "JOIN pg_catalog.pg_type t ON t.typname = c.udt_name AND t.typnamespace = n.oid "
        "WHERE c.table_schema = "
    ),
    Dialect.MYSQL: (
        "SELECT c.ordinal_position AS place, c.column_name AS name, "
        "CASE WHEN c.data_type = 'bit' THEN c.column_type "
        "WHEN c.column_type LIKE '%unsigned%' THEN CONCAT(c.data_type, ' unsigned') ELSE c.data_type END AS type, "
        "CASE WHEN c.data_type = 'decimal' THEN CONCAT(c.numeric_precision, ',', c.numeric_scale) END AS digits "
        "FROM information_schema.columns c WHERE c.table_schema = "
    ),
    Dialect.SQLSERVER: (
        "SELECT c.ORDINAL_POSITION AS place, c.COLUMN_NAME AS name, c.DATA_TYPE AS type, "
        "CASE WHEN c.DATA_TYPE IN ('decimal', 'numeric') THEN CONCAT(c.NUMERIC_PRECISION, ',', c.NUMERIC_SCALE) "
        "WHEN c.DATA_TYPE LIKE '%money' THEN '19,4' END AS digits "
        "FROM INFORMATION_SCHEMA.COLUMNS c WHERE c.TABLE_SCHEMA = "
    ),
}
_PRIMARY_KEYS = {
    # Not information_schema, which hides constraints from users that may only read the table.
    Dialect.POSTGRESQL: (
        "SELECT k.place AS place, CAST(a.attname AS text) AS name FROM pg_catalog.pg_constraint c "
        "JOIN pg_catalog.pg_class t ON t.oid = c.conrelid "
        "JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace "
        "CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY AS k(number, place) "
        "JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number "
        "WHERE c.contype = 'p' AND n.nspname = '{schema}' AND t.relname = '{name}'"
    ),
    Dialect.MYSQL: (
        "SELECT s.seq_in_index AS place, s.column_name AS name FROM information_schema.statistics s "
        "WHERE s.index_name = 'PRIMARY' AND s.table_schema = '{schema}' AND s.table_name = '{name}'"
    ),
    Dialect.SQLSERVER: (
        "SELECT CAST(k.key_ordinal AS int) AS place, c.name AS name FROM sys.schemas s "
        "JOIN sys.tables t ON t.schema_id = s.schema_id "
        "JOIN sys.indexes i ON i.object_id = t.object_id AND i.is_primary_key = 1 "
        "JOIN sys.index_columns k ON k.object_id = i.object_id AND k.index_id = i.index_id AND k.key_ordinal > 0 "
        "JOIN sys.columns c ON c.object_id = k.object_id AND c.column_id = k.column_id "
        "WHERE s.name = '{schema}' AND t.name = '{name}'"
    ),
}
SESSION_INIT = {Dialect.MYSQL: "SET time_zone = '+00:00'"}
"""What every session begins with: the text of MySQL's moments depends on its zone."""


def select(what: Sequence[str], table: str) -> str:
    """A query of a whole table; ``what`` and ``table`` are SQL already."""
    return " ".join(("SELECT", ", ".join(what), "FROM", table))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sql:
    """The SQL of one dialect."""

    dialect: Dialect

    def quoted(self, name: str) -> str:
        """A name as SQL, whatever is in it."""
        left, right = _QUOTES[self.dialect]
        return f"{left}{name.replace(right, right * 2)}{right}"

    def table(self, table: SourceTable) -> str:
        """A table's name as SQL."""
        return f"{self.quoted(table.schema)}.{self.quoted(table.name)}"

    def columns(self, table: SourceTable) -> str:
        """Asks for the columns that this user may see: place, name, type, digits; none when there is no such table."""
        # Neither has a quote or a backslash in it: SourceTable takes none.
        table_column = "c.TABLE_NAME" if self.dialect is Dialect.SQLSERVER else "c.table_name"
        return f"{_COLUMNS[self.dialect]}'{table.schema}' AND {table_column} = '{table.name}'"

    def primary_key(self, table: SourceTable) -> str:
        """Asks for the columns of the primary key: place, name; none when the table has no primary key."""
        return _PRIMARY_KEYS[self.dialect].format(schema=table.schema, name=table.name)  # neither has a quote in it

    def column(self, name: str, type_: str, digits: str | None = None) -> JdbcColumn | None:
        """The column as it is read; None when its type is none that is. ``digits`` are ``precision,scale``."""
        form = FORMS[self.dialect].get(type_.lower())
        if not form:
            return None
        precision, _, scale = (digits or "").partition(",")
        return JdbcColumn(
            name=name,
            kind=form[0],
            before=form[1],
            behind=form[2],
            type=form[3],
            digits=(int(precision), int(scale)) if precision and form[0] is ColumnKind.DECIMAL else None,
        )

    def cut_kind(self, column: JdbcColumn) -> ColumnKind:
        """The kind by which parts of a column are made: MySQL compares moments as its session's wall clock has them."""
        is_wall_clock = column.kind is ColumnKind.INSTANT and self.dialect is Dialect.MYSQL
        if is_wall_clock or column.kind is ColumnKind.NANO_TIMESTAMP:
            return ColumnKind.TIMESTAMP
        return column.kind

    def extent(self, table: SourceTable, column: JdbcColumn | None) -> str:
        """Asks how many rows there are, and for the least and the greatest value of a column, all as text."""
        count = "COUNT_BIG(*)" if self.dialect is Dialect.SQLSERVER else "COUNT(*)"
        as_text = FORMS[self.dialect]["bigint"]
        asked = [f"{as_text[1]}{count}{as_text[2]} AS counted"]
        if column:
            quoted = self.quoted(column.name)
            asked += [
                f"{column.as_text(f'{end}({quoted})')} AS {name}" for end, name in (("MIN", "low"), ("MAX", "high"))
            ]
        return select(asked, self.table(table))
