"""A SELECT answered without a JVM: the Rust reader's rows, computed by DuckDB, where both are certain (ADR 52)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.contracts.answers import Answer
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import IS_DELETED
from spark_jobs.lake_spec.visible import hides_deleted, shown_columns
from spark_jobs.spec_files.views import load_views
from spark_jobs.sql_analysis.local_kinds import TRUTH, WHOLE, Kind, LocalColumn
from spark_jobs.sql_analysis.local_sql import LocalSelect, NotLocalError, localize
from spark_jobs.sql_analysis.statements import names_in, reached, read_select
from spark_jobs.storage.local_tables import LocalTable, NotReadLocallyError, open_locally
from spark_jobs.storage.timeline import Timeline

if TYPE_CHECKING:
    import pyarrow

_MB = 1024 * 1024


class AnsweredBySparkError(Exception):
    """The statement is Spark's to answer; the message says why, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalQuery:
    """A SELECT that can be answered here: what runs, and the tables behind it."""

    select: LocalSelect
    tables: Mapping[str, LocalTable]
    spec: LakeSpec

    def answer(self, most: int | None) -> Answer:
        """The first rows of the answer, at most so many; all of them with None.

        Raises:
            AnsweredBySparkError: a table cannot be read here after all, or a value does not fit.
        """
        import duckdb

        connection = duckdb.connect(":memory:", config={"enable_external_access": False, "threads": 2})
        try:
            for name, table in self.tables.items():
                connection.register(name, _visible(table.read(), name, self.spec))
            found = connection.execute(self.select.sql)
            rows = found.fetchall() if most is None else found.fetchmany(most + 1)
        except NotReadLocallyError as error:
            raise AnsweredBySparkError(str(error)) from error
        except duckdb.Error as error:
            raise AnsweredBySparkError("its SQL has parts that only Spark answers") from error
        finally:
            connection.close()
        return Answer.of(self.select.columns, rows, most)


def plan_locally(sql: str, spec: LakeSpec, settings: Settings) -> LocalQuery:
    """What answers the statement here.

    Raises:
        AnsweredBySparkError: something of it is not certain.
    """
    query = read_select(sql)
    named = names_in(query) if query is not None else None
    if query is None or not named:
        raise AnsweredBySparkError("its SQL has parts that only Spark answers")
    views = {view.name: view for view in load_views(Path(settings.views_path))}
    tables = {}
    try:
        for name in sorted(reached(named, {view.name: view.reads for view in views.values()}) - views.keys()):
            if name not in spec.table_names:
                raise AnsweredBySparkError(f"{name} is no table that is stored")
            timeline = Timeline(table=name, path=settings.table_path(name))
            timeline.check_readable()
            tables[name] = open_locally(timeline, most_bytes=settings.local_query_mb * _MB)
        schema = {name: _columns(table.schema, name, spec) for name, table in tables.items()}
        select = localize(query, schema, {name: view.text for name, view in views.items()})
    except (NotReadLocallyError, NotLocalError) as error:
        raise AnsweredBySparkError(str(error)) from error
    return LocalQuery(select=select, tables=tables, spec=spec)


def _columns(schema: pyarrow.Schema, table: str, spec: LakeSpec) -> dict[str, LocalColumn]:
    """The kinds of the columns that readers see."""
    return {name: _kind(schema.field(name).type) for name in shown_columns(table, schema.names, spec)}


def _kind(kind: pyarrow.DataType) -> LocalColumn:
    import pyarrow as pa

    simple = {pa.int32(): WHOLE, pa.int64(): WHOLE, pa.bool_(): TRUTH, pa.date32(): LocalColumn(kind=Kind.DATE)}
    if kind in simple:
        return simple[kind]
    if pa.types.is_decimal(kind):
        return LocalColumn(kind=Kind.DECIMAL, digits=kind.precision, scale=kind.scale)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return LocalColumn(kind=Kind.TEXT)
    if pa.types.is_timestamp(kind) and kind.unit == "us" and kind.tz in ("UTC", "+00:00"):
        return LocalColumn(kind=Kind.TIMESTAMP)
    if pa.types.is_floating(kind) or pa.types.is_binary(kind):
        return LocalColumn(kind=Kind.SHOWN)
    return LocalColumn(kind=Kind.NESTED)


def _visible(stored: pyarrow.Table, table: str, spec: LakeSpec) -> pyarrow.Table:
    """Live rows and the columns that readers see; times without their zone, which is UTC."""
    import pyarrow as pa
    from pyarrow import compute as pc

    if hides_deleted(table, spec):
        stored = stored.filter(pc.invert(stored.column(IS_DELETED)))
    stored = stored.select(list(shown_columns(table, stored.column_names, spec)))
    zoned = [pa.types.is_timestamp(field.type) for field in stored.schema]
    columns = [
        each.cast(pa.timestamp("us")) if is_zoned else each
        for each, is_zoned in zip(stored.columns, zoned, strict=True)
    ]
    return pa.table(dict(zip(stored.column_names, columns, strict=True)))
