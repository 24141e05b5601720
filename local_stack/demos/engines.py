"""Tables and views as Trino and Athena's client see them, compared with what the lake's own readers see."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from local_stack.demos.lake_view import Rows, read_with_rust
from local_stack.demos.truth_check import same_rows
from local_stack.servers import trino_server
from local_stack.servers.bucket import open_session
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.catalog.view_ddl import ViewDdl, ViewEngine, build_views
from spark_jobs.storage.layouts import all_layouts

READ_OPTIMIZED = {"hoodie.read.use.read_optimized.mode": "true"}
"""Of the Rust reader: base files alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrinoLake:
    """The tables of a lake in Trino, by the entries that ``sync`` keeps in ``database``."""

    address: str
    database: str
    spec: LakeSpec
    settings: Settings

    def rows(self, entry: str) -> Rows:
        """Every column of a table's entry but Hudi's own."""
        sql = f'TABLE "{self.database}"."{entry}"'
        rows = trino_server.query(self.address, sql, catalog=trino_server.TABLES)
        return [{name: value for name, value in row.items() if not name.startswith("_hoodie_")} for row in rows]

    def differences(self, tables: Sequence[str]) -> list[str]:
        """In what Trino and the Rust reader differ, table by table; empty when they are alike.

        Of a merge-on-read table both read the base files alone, which is all that Trino can read.
        """
        wrong: list[str] = []
        for layout in all_layouts(self.spec):
            if layout.name in tables:
                entry = f"{layout.name}_ro" if layout.is_merged else layout.name
                options = READ_OPTIMIZED if layout.is_merged else {}
                rust = read_with_rust(self.settings.table_path(layout.name), options)
                wrong += same_rows(entry, self.rows(entry), rust, readers="Trino and the Rust reader")
        return wrong

    def make_views(self, *, is_masked: bool = False) -> ViewDdl:
        """Make the views that readers query, as ``views ddl --engine trino`` prints them."""
        views = build_views(
            self.spec, self.settings, database=self.database, engine=ViewEngine.TRINO, is_masked=is_masked
        )
        trino_server.query(self.address, f"CREATE SCHEMA IF NOT EXISTS {views.database}")
        for statement in views.statements.values():
            trino_server.query(self.address, statement)
        return views

    def query(self, sql: str, *, schema: str) -> Rows:
        """The rows of a query over views."""
        return trino_server.query(self.address, sql, schema=schema)


def answer_as(rows: Rows, *, endpoint: str, region: str) -> None:
    """Let the AWS server answer Athena's next query with these rows: it speaks Athena's protocol, and runs no SQL."""
    columns = list(rows[0]) if rows else []
    head = {"Data": [{"VarCharValue": name} for name in columns]}
    result = {
        "rows": [head, *({"Data": [_cell(row[name]) for name in columns]} for row in rows)],
        "column_info": [_column(name, [row[name] for row in rows]) for name in columns],
    }
    request = urllib.request.Request(
        f"{endpoint}/moto-api/static/athena/query-results",
        data=json.dumps({"region": region, "results": [result]}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30):
        return


def query_athena(sql: str, *, schema: str, environ: Mapping[str, str], results: str) -> Rows:
    """The rows of a query by PyAthena's client."""
    from pyathena import connect
    from pyathena.cursor import DictCursor

    with connect(
        s3_staging_dir=results,
        session=open_session(environ),
        region_name=environ["AWS_REGION"],
        endpoint_url=environ["AWS_ENDPOINT_URL"],
        schema_name=schema,
        cursor_class=DictCursor,
    ) as connection:
        return [dict(row) for row in connection.cursor().execute(sql).fetchall()]


def _cell(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    return {"VarCharValue": value.isoformat(sep=" ") if isinstance(value, datetime) else str(value)}


def _column(name: str, values: Sequence[Any]) -> dict[str, Any]:
    known = next((value for value in values if value is not None), "")
    kinds = {"bool": "boolean", "int": "bigint", "float": "double", "Decimal": "decimal", "datetime": "timestamp"}
    kind = kinds.get(type(known).__name__, "varchar")
    facts = {"CatalogName": "hive", "SchemaName": "", "TableName": "", "Name": name, "Label": name, "Type": kind}
    return {**facts, "Precision": 38, "Scale": 4, "Nullable": "UNKNOWN", "CaseSensitive": False}
