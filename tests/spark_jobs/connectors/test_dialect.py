"""The SQL of each dialect: names are quoted whatever is in them, and each kind of value has its text.

SQL Server cannot be queried here: its SQL is what its documentation says. PostgreSQL and MariaDB are queried in
tests/spark_jobs/jobs/snapshot/test_values.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from spark_jobs.connectors import mysql, postgresql, sqlserver
from spark_jobs.connectors.dialect import Query
from spark_jobs.connectors.registry import DIALECTS
from spark_jobs.connectors.source_table import SourceTable
from spark_jobs.connectors.values import ColumnKind
from spark_jobs.contracts.errors import SettingsError, TransientError
from spark_jobs.sources.positions import position_of
from spark_jobs.sources.source_types import column_of

TABLE = SourceTable(schema="dbo", name="SALES")


@pytest.mark.parametrize(
    ("dialect", "quoted"),
    [
        (postgresql.DIALECT, '"a""b`c]d"'),
        (mysql.DIALECT, '`a"b``c]d`'),
        (sqlserver.DIALECT, '[a"b`c]]d]'),
    ],
)
def test_a_name_is_quoted_whatever_is_in_it(dialect, quoted):
    assert dialect.quoted('a"b`c]d') == quoted


@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
def test_every_dialect_reads_what_most_tables_have(dialect):
    kinds = {kind for kind, *_ in dialect.forms.values()}
    assert kinds >= set(ColumnKind) - {ColumnKind.JSON, ColumnKind.NANO_TIMESTAMP}
    for _, before, behind, _ in dialect.forms.values():
        assert before.count("(") - before.count(")") == behind.count(")") - behind.count("(")


def test_a_column_of_another_type_is_not_read():
    assert sqlserver.DIALECT.column("Place", "geography") is None


MIRRORED = {
    postgresql.DIALECT: {
        "smallint": "int",
        "integer": "int",
        "bigint": "bigint",
        "real": "float",
        "double precision": "double",
        "numeric": "string",
        "boolean": "boolean",
        "date": "date",
        "timestamp without time zone": "timestamp",
        "timestamp with time zone": "timestamp",
        "bytea": "binary",
        "text": "string",
        "jsonb": "string",
    },
    mysql.DIALECT: {
        "tinyint": "int",
        "int": "int",
        "int unsigned": "bigint",
        "bigint": "bigint",
        "year": "int",
        "float": "float",
        "double": "double",
        "decimal": "string",
        "bit(1)": "boolean",
        "datetime": "timestamp",
        "timestamp": "timestamp",
        "time": "string",
        "blob": "binary",
        "enum": "string",
    },
    sqlserver.DIALECT: {
        "tinyint": "int",
        "int": "int",
        "bigint": "bigint",
        "real": "float",
        "float": "double",
        "bit": "boolean",
        "money": "string",
        "datetime2": "timestamp",
        "datetimeoffset": "timestamp",
        "nvarchar": "string",
    },
}
"""What a mirror makes of the fields that Debezium's "Data type mappings" name, with decimals as text."""


@pytest.mark.parametrize(
    ("dialect", "type_", "mirrored"), [(d, type_, of) for d, types in MIRRORED.items() for type_, of in types.items()]
)
def test_a_mirror_gets_the_types_that_the_connector_gives_it(dialect, type_, mirrored):
    column = dialect.column("Value", type_)
    assert column is not None
    assert column_of(column.name, column.field)[0] == mirrored


@pytest.mark.parametrize(
    ("dialect", "type_", "kind"),
    [
        (mysql.DIALECT, "timestamp", ColumnKind.TIMESTAMP),
        (postgresql.DIALECT, "timestamp with time zone", ColumnKind.INSTANT),
        (sqlserver.DIALECT, "datetime2", ColumnKind.TIMESTAMP),
        (sqlserver.DIALECT, "int", ColumnKind.INTEGER),
    ],
)
def test_parts_are_made_by_what_the_database_compares(dialect, type_, kind):
    column = dialect.column("At", type_)
    assert column is not None
    assert dialect.cut_kind(column) is kind


def test_sqlserver_is_queried_for_its_rows_and_ends():
    sql = sqlserver.DIALECT
    assert sql.extent(TABLE, sql.column("Day", "date")) == (
        "SELECT CONVERT(varchar(20), COUNT_BIG(*)) AS counted, CONVERT(varchar(10), MIN([Day]), 23) AS low, "
        "CONVERT(varchar(10), MAX([Day]), 23) AS high FROM [dbo].[SALES]"
    )


def test_every_dialect_selects_the_primary_key_of_one_table_and_no_other_constraint():
    queries = {dialect: dialect.primary_key(TABLE) for dialect in DIALECTS}
    assert queries[sqlserver.DIALECT].endswith("WHERE s.name = 'dbo' AND t.name = 'SALES'")
    assert "i.is_primary_key = 1" in queries[sqlserver.DIALECT]
    assert queries[mysql.DIALECT].endswith(
        "WHERE s.index_name = 'PRIMARY' AND s.table_schema = 'dbo' AND s.table_name = 'SALES'"
    )
    assert queries[postgresql.DIALECT].endswith("WHERE c.contype = 'p' AND n.nspname = 'dbo' AND t.relname = 'SALES'")
    assert "information_schema" not in queries[postgresql.DIALECT], "a user who may only read sees no constraints there"


def answering(*answers: Mapping[str, Any]) -> Query:
    left = list(answers)

    def query(_sql: str, *, session_init: str = "") -> Sequence[Mapping[str, Any]]:
        return [left.pop(0)]

    return query


def test_the_position_of_sqlserver_is_its_newest_captured_commit():
    found = sqlserver.DIALECT.read_position(TABLE, answering({"db": "erp", "lsn": "0000002700000AC00002"}))
    assert found["commit_lsn"] == "00000027:00000ac0:0002"
    change = {**found, "change_lsn": "00000027:00000ac0:0001", "event_serial_no": 1}
    earlier = {**change, "commit_lsn": "00000027:00000abf:ffff"}
    place, later, before = (position_of(block, "sqlserver", {}) for block in (found, change, earlier))
    assert before < place < later


def test_mysql_is_queried_in_its_own_way():
    table = SourceTable(schema="erp", name="SALES")
    answers = answering({"version": "8.4.3"}, {"file": "binlog.000007", "pos": "1543"})
    found = mysql.DIALECT.read_position(table, answers)
    expected = {"connector": "mysql", "db": "erp", "table": "SALES", "file": "binlog.000007", "pos": 1542, "row": 0}
    assert found == expected


@pytest.mark.parametrize(
    ("dialect", "answers", "message"),
    [
        (sqlserver.DIALECT, [{"db": "erp", "lsn": None}], "change data capture"),
        (mysql.DIALECT, [{"version": "8.0"}, {"file": None, "pos": None}], "no binlog"),
        (mysql.DIALECT, [{"version": "11.4.2-MariaDB"}, {"file": "", "pos": "0"}], "no binlog"),
        (postgresql.DIALECT, [{"db": "erp", "lsn": None}], "standby"),
    ],
)
def test_a_database_without_a_position_is_refused(dialect, answers, message):
    with pytest.raises(SettingsError, match=message):
        dialect.read_position(TABLE, answering(*answers))


def test_postgresql_is_polled_until_earlier_transactions_have_ended():
    """What has begun since does not matter."""
    place = {"db": "erp", "lsn": "26371016"}
    found = postgresql.DIALECT.read_position(TABLE, answering(place, *({"number": n} for n in ("729", "727", "730"))))
    assert found["lsn"] == 26371015, "just below: no record of the log begins there"


def test_transactions_that_do_not_end_are_not_waited_for_for_ever(monkeypatch):
    """The snapshot would be older than what they write, and win over it."""
    monkeypatch.setattr(postgresql, "WAIT_SECONDS", 0.0)
    monkeypatch.setattr(postgresql, "_POLL_SECONDS", 0.0)

    def query(query: str, *, session_init: str = "") -> Sequence[Mapping[str, Any]]:
        return [{"db": "erp", "lsn": "26371016", "number": "727" if "xmin" in query else "729"}]

    with pytest.raises(
        TransientError, match=r"have not ended in 0 s; end them \(pg_stat_activity .* run the job again"
    ):
        postgresql.DIALECT.read_position(TABLE, query)
