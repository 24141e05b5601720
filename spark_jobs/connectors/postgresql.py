"""PostgreSQL, read by Debezium's connector (a change's place is its LSN) and by JDBC."""

from __future__ import annotations

import re
import time
from typing import Any

from spark_jobs.connectors.dialect import Dialect, Form, Query, forms
from spark_jobs.connectors.events import Blocks, Connector, hexadecimal, numbers_of
from spark_jobs.connectors.source_table import SourceTable
from spark_jobs.connectors.values import ColumnKind
from spark_jobs.contracts.errors import SettingsError, TransientError

_COMMITTED = re.compile(r'\["([0-9]{1,20})",')
WAIT_SECONDS = 300.0
_POLL_SECONDS = 1.0


class Postgresql(Connector):
    """Its transactions are sent when they end, and their changes are placed where they began."""

    name = "postgresql"
    place_field = "lsn"
    transaction_field = "txId"
    rises_by_commit = True

    def mark_of(self, source: dict[str, Any], position: str) -> str:
        """The position of the last commit before it."""
        committed = _COMMITTED.match(sequence) if isinstance(sequence := source.get("sequence"), str) else None
        return f"{int(committed[1]):016x}" if committed and int(committed[1]) < 2**64 else position

    def places_of(self, blocks: Blocks) -> list[str] | None:
        numbers = numbers_of(blocks["lsn"])
        return None if numbers is None else [f"{number:016x}" for number in numbers]

    def marks_of(self, blocks: Blocks, places: list[str]) -> list[str]:
        sequences = blocks.get("sequence", (None,) * len(places))
        return [self.mark_of({"sequence": each}, place) for each, place in zip(sequences, places, strict=True)]

    def _place(self, source: dict[str, Any], payload: dict[str, Any]) -> str:
        return hexadecimal(source["lsn"], "lsn")


_TEXT = ("CAST(", " AS text)")
_FORMS: dict[str, Form] = {
    **forms(ColumnKind.INTEGER, "smallint", *_TEXT, "int16"),
    **forms(ColumnKind.INTEGER, "integer", *_TEXT, "int32"),
    **forms(ColumnKind.INTEGER, "bigint, oid", *_TEXT),
    **forms(ColumnKind.DECIMAL, "numeric", *_TEXT),
    **forms(ColumnKind.DECIMAL, "money", "CAST(CAST(", " AS numeric) AS text)"),
    **forms(ColumnKind.FLOAT, "real", *_TEXT, "float"),
    **forms(ColumnKind.FLOAT, "double precision", *_TEXT),
    **forms(ColumnKind.BOOLEAN, "boolean", *_TEXT),
    **forms(ColumnKind.TEXT, "character varying, text, name, uuid, xml, inet, cidr, macaddr, macaddr8", *_TEXT),
    **forms(ColumnKind.TEXT, "citext, enum", *_TEXT),
    # A cast would take away the blanks that it is filled up with, and that its change events have.
    **forms(ColumnKind.TEXT, "character", "textin(bpcharout(", "))"),
    **forms(ColumnKind.JSON, "json, jsonb", *_TEXT),
    **forms(ColumnKind.DATE, "date", *_TEXT),
    **forms(ColumnKind.TIMESTAMP, "timestamp without time zone", *_TEXT),
    **forms(ColumnKind.INSTANT, "timestamp with time zone", "CAST((", " AT TIME ZONE 'UTC') AS text)"),
    **forms(ColumnKind.TIME, "time without time zone", *_TEXT),
    **forms(ColumnKind.BYTES, "bytea", "encode(", ", 'hex')"),
}
_COLUMNS = (
    "SELECT c.ordinal_position AS place, c.column_name AS name, CASE WHEN t.typtype = 'e' THEN 'enum' "
    "WHEN c.data_type = 'USER-DEFINED' THEN c.udt_name ELSE c.data_type END AS type, "
    "CASE WHEN c.data_type = 'numeric' THEN c.numeric_precision || ',' || c.numeric_scale END AS digits "
    "FROM information_schema.columns c "
    "JOIN pg_catalog.pg_namespace n ON n.nspname = c.udt_schema "
    "JOIN pg_catalog.pg_type t ON t.typname = c.udt_name AND t.typnamespace = n.oid "
    "WHERE c.table_schema = "
)
_PRIMARY_KEY = (  # not information_schema, which hides constraints from users that may only read the table
    "SELECT k.place AS place, CAST(a.attname AS text) AS name FROM pg_catalog.pg_constraint c "
    "JOIN pg_catalog.pg_class t ON t.oid = c.conrelid "
    "JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace "
    "CROSS JOIN LATERAL unnest(c.conkey) WITH ORDINALITY AS k(number, place) "
    "JOIN pg_catalog.pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number "
    "WHERE c.contype = 'p' AND n.nspname = '{schema}' AND t.relname = '{name}'"
)
_DATABASE = "SELECT current_database() AS db"
_WAL = (
    "SELECT current_database() AS db, "
    "CASE WHEN NOT pg_is_in_recovery() THEN CAST(pg_current_wal_lsn() - '0/0' AS text) END AS lsn"
)
# A number of its own: the snapshot's xmax is no bound, since transactions above it may be open already.
_NEXT_TRANSACTION = "SELECT CAST(pg_current_xact_id() AS text) AS number"
_OLDEST_TRANSACTION = "SELECT CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS number"


def _read_position(table: SourceTable, query: Query) -> dict[str, Any]:
    found = query(_WAL)[0]
    if found["lsn"] is None:
        raise SettingsError(
            "the PostgreSQL server is a standby, which does not report which transactions were open at its position; "
            "name its primary in LAKEHOUSE_JDBC_URL"
        )
    _await_transactions(query)
    lsn = max(int(found["lsn"]) - 1, 0)
    block = {"connector": "postgresql", "db": found["db"], "schema": table.schema, "table": table.name}
    return {**block, "lsn": lsn}


def _await_transactions(query: Query) -> None:
    """Wait until each transaction has ended that may have written something below the position.

    A change is ordered by where it is in the log, and not by its commit: one that is still open would be read as if it
    had not been, and lose against what was there before it.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    after = int(query(_NEXT_TRANSACTION)[0]["number"])
    while int(query(_OLDEST_TRANSACTION)[0]["number"]) < after:
        if time.monotonic() > deadline:
            raise TransientError(
                f"transactions that were open when the snapshot began have not ended in {WAIT_SECONDS:.0f} s; end them "
                f"(pg_stat_activity and pg_prepared_xacts show which), or run the job again later"
            )
        time.sleep(_POLL_SECONDS)


DIALECT = Dialect(
    name="PostgreSQL",
    schemes=("postgresql",),
    connection_types={"postgres": "postgresql", "postgresql": "postgresql"},
    example="jdbc:postgresql://host/database",
    driver="org.postgresql.Driver",
    waits={"loginTimeout": 1, "connectTimeout": 1, "socketTimeout": 1},
    quotes=('"', '"'),
    forms=_FORMS,
    columns_sql=_COLUMNS,
    primary_key_sql=_PRIMARY_KEY,
    database_sql=_DATABASE,
    read_position=_read_position,
)
