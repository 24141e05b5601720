"""Rows of a log of sales from what each event says: its place in time and order, and what follows from the keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from bench.workload import pick
from spark_jobs.generator.funnel import STATUS_NAMES
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.tables import ROW_COLUMNS

AGENTS, UNITS, BUILDINGS, PROJECTS = 2_000, 50_000, 500, 50
_ORIGIN = "erp.dbo.SALES"


def build_log_rows(
    rows_df: DataFrame, spec: LakeSpec, *, op: Column, at_ms: Column, tie: Column, values: Mapping[str, Column]
) -> DataFrame:
    """One row of the log for each of ``rows_df``.

    Args:
        rows_df: what the columns are made of.
        spec: the lake.
        op: c, u or d.
        at_ms: when it happened, in milliseconds since 1970; it is also the first part of the event order.
        tie: a whole number that sets apart events of one millisecond.
        values: source columns that the event knows; names, buildings and projects follow from them.
    """
    named = [value.alias(name) for name, value in values.items()]
    order = event_order(at_ms, tie)
    events_df = rows_df.select(op.alias("op"), at_ms.alias("at_ms"), order.alias("event_order"), *named)
    derived = [column.alias(name) for name, column in dependent_columns(values).items()]
    events_df = events_df.select("*", *derived)
    time = F.timestamp_millis("at_ms")
    day = F.date_format(time, "yyyy-MM-dd")
    about = {
        "event_id": F.concat(F.lit(f"{_ORIGIN}:"), "event_order"),
        "op": F.col("op"),
        "event_order": F.col("event_order"),
        "event_time": time,
        "transaction_id": F.lit(None).cast("string"),
        "read_from": F.concat(F.lit("SALES/"), day, F.lit(".jsonl")),
        "read_offset": F.col("at_ms"),
        "ingest_time": time,
        "event_date": day,
    }
    texts = "map<string,string>"
    kept = zip(ROW_COLUMNS, ("string", texts, texts, "array<string>"), strict=True)
    about |= {name: F.lit(None).cast(type_) for name, type_ in kept}
    known = set(events_df.columns)
    for column in spec.source.columns:
        value = F.col(column.name) if column.name in known else F.lit(None)
        about[column.name] = value.cast(column.sql_type)
    return events_df.select(*(about[name].alias(name) for name in spec.log_columns))


def dependent_columns(known: Collection[str]) -> dict[str, Column]:
    """What follows from the keys that are known: the unit's building and project, and everything's name."""
    building = F.col("unit_id") % BUILDINGS + 1
    columns: dict[str, Column] = {}
    if "unit_id" in known:
        columns |= {"building_id": building, "project_id": building % PROJECTS + 1}
    keys = {key: F.col(key) for key in ("unit_id", "agent_id", "customer_id") if key in known} | dict(columns)
    for key, value in keys.items():
        columns[key.replace("_id", "_name")] = F.concat(F.lit(key.replace("_id", " ")), value.cast("string"))
    if "status_id" in known:
        names = F.array(*(F.lit(name) for name in STATUS_NAMES.values()))
        columns["status_name"] = F.when(
            F.col("status_id").isNotNull(), F.element_at(names, F.col("status_id").cast("int"))
        )
    return columns


def event_order(at_ms: Column, tie: Column) -> Column:
    """An event order like those of SQL Server: commit and change LSN, serial, hash; 48 + 1 + 16 characters."""
    lsn = F.lower(F.lpad(F.hex(at_ms), 20, "0"))
    return F.concat(lsn, lsn, F.lit("00000002-"), F.lower(F.lpad(F.hex(tie), 16, "0")))


def amount(*seed: Column) -> Column:
    """A contract subtotal of up to 140 million, with four digits after the point."""
    return (pick(1_000_000_000, *seed, "amount").cast("decimal(14,4)") / 7).cast("decimal(18,4)")


def to_ms(moment: datetime) -> int:
    """Milliseconds since 1970."""
    return int(moment.timestamp()) * 1000
