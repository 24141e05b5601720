"""The statements that make a table known by hand, for catalogs without sync: Hive's DDL, which Athena takes too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spark_jobs.contracts.catalogs import OWNER, CatalogColumn, CatalogTable
from spark_jobs.storage.catalog.glue_inputs import OUTPUT_FORMAT, SERDE


def create_table(table: CatalogTable, partitions: Mapping[str, str]) -> str:
    """``CREATE EXTERNAL TABLE``, and ``ALTER TABLE … ADD`` for its partitions when it has some."""
    keys = f"PARTITIONED BY (\n{_columns(table.partition_keys)}\n)\n" if table.partition_keys else ""
    read_optimized = str(table.is_read_optimized).lower()
    statement = (
        f"CREATE EXTERNAL TABLE IF NOT EXISTS `{table.name}` (\n{_columns(table.columns)}\n)\n"
        f"COMMENT {_text(table.description)}\n"
        f"{keys}"
        f"ROW FORMAT SERDE '{SERDE}'\n"
        f"WITH SERDEPROPERTIES ('hoodie.query.as.ro.table' = '{read_optimized}', 'path' = {_text(table.location)})\n"
        f"STORED AS INPUTFORMAT '{table.input_format}'\n"
        f"OUTPUTFORMAT '{OUTPUT_FORMAT}'\n"
        f"LOCATION {_text(table.location)}\n"
        f"TBLPROPERTIES ('{OWNER}' = {_text(table.parameters[OWNER])});"
    )
    if not partitions:
        return statement
    key = table.partition_keys[0].name
    added = "\n".join(
        f"  PARTITION (`{key}` = {_text(value)}) LOCATION {_text(f'{table.location}/{folder}')}"
        for value, folder in sorted(partitions.items())
    )
    return f"{statement}\nALTER TABLE `{table.name}` ADD IF NOT EXISTS\n{added};"


def _columns(columns: Sequence[CatalogColumn]) -> str:
    return ",\n".join(f"  `{c.name}` {c.type}{f' COMMENT {_text(c.comment)}' if c.comment else ''}" for c in columns)


def _text(value: str) -> str:
    """A literal: quotes and backslashes in it stay what they are."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
