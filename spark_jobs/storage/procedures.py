"""Hudi's SQL procedures (``CALL …``). Some take options from the session alone, which has them (session.py)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from pyspark.sql import Row, SparkSession


def call(
    spark: SparkSession,
    table: str,
    path: str,
    procedure: str,
    given: Mapping[str, str | int | bool],
    *,
    options: Mapping[str, str] | None = None,
    database: str = "",
) -> list[Row]:
    """Run a procedure on the table at ``path``; gives its rows.

    Args:
        spark: the session.
        table: the table's name.
        path: its folder.
        procedure: such as ``run_clean``.
        given: its arguments but for the table.
        options: write options, of a procedure that takes them; no value may hold a comma.
        database: the database in which a procedure is to find the table that takes its own from there.
    """
    arguments: dict[str, str | int | bool] = {"table": register_table(spark, table, path, database), **given}
    if options:
        arguments["options"] = ",".join(f"{key}={value}" for key, value in options.items())
    listed = ", ".join(f"{name} => {_literal(value)}" for name, value in arguments.items())
    return spark.sql(f"CALL {procedure}({listed})").collect()


def register_table(spark: SparkSession, table: str, path: str, database: str = "") -> str:
    """Make the table known to Spark SQL under a name of its own and return it: procedures want names, not paths."""
    name = f"lakehouse_{hashlib.sha256(path.encode()).hexdigest()[:12]}_{table}"
    if database:
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {database}")
        name = f"{database}.{name}"
    spark.sql(f"CREATE TABLE IF NOT EXISTS {name} USING hudi LOCATION {_literal(path)}")
    return name


def _literal(value: str | int | bool) -> str:
    if not isinstance(value, str):
        return str(value).lower()
    text = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"
