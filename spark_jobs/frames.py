"""DataFrames of rows that the driver has, the union of several, and into how many parts work on them is cut."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.names import column_names

_SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"


@contextmanager
def shuffled_into(spark: SparkSession, parts: int) -> Iterator[None]:
    """What is computed in the block is cut into at least so many parts by each shuffle.

    Few are best for a micro-batch; a large batch in few parts does not fit into a task's memory, and leaves processors
    of a cluster without work. The setting is the session's: nothing else may plan in it meanwhile.
    """
    before = (spark.conf.get(_SHUFFLE_PARTITIONS) or "1") if parts > 1 else ""
    if not before or parts <= int(before):
        yield
        return
    spark.conf.set(_SHUFFLE_PARTITIONS, str(parts))
    try:
        yield
    finally:
        spark.conf.set(_SHUFFLE_PARTITIONS, before)


def literal_frame(spark: SparkSession, rows: Sequence[Sequence[Any]], schema: str) -> DataFrame:
    """A few rows as a part of the plan, in one partition.

    With ``createDataFrame`` processes of Python on the executors would copy the rows, each time that a plan with them
    runs: a tenth of a second of a processor for each of their tasks.

    Args:
        spark: the session.
        rows: values in the order of the columns: texts, numbers, booleans, dates, times with a zone, lists, None.
        schema: DDL of the columns (:func:`spark_jobs.contracts.names.column_names` says how it is written).

    Raises:
        ValueError: a row has more or fewer values than there are columns.
    """
    names = column_names(schema)
    content = json.dumps([dict(zip(names, row, strict=True)) for row in rows], default=_to_json)
    parsed = F.from_json(F.lit(content), f"array<struct<{schema}>>", {"mode": "FAILFAST"})
    return spark.range(0, 1, 1, 1).select(F.inline(parsed))


def constant_column(spark: SparkSession, values: Sequence[Any], column: str) -> DataFrame:
    """A few values, one or more, as the one ``column`` of a query.

    What is selected from them, without sorting or counting, Spark computes while it plans, and starts no job.

    Args:
        spark: the session.
        values: of one type: texts, numbers, dates, times with a zone, None.
        column: the name of the column.
    """
    names = [f"v{number}" for number in range(len(values))]
    text = ", ".join(f"(:{name})" for name in names)
    return spark.sql(f"VALUES {text}", args=dict(zip(names, values, strict=True))).toDF(column)


def counted_rows(rows_df: DataFrame, most: int) -> tuple[int, list[Row] | None]:
    """How many rows there are, and the rows themselves unless they are more than ``most``; in one Spark job then.

    A limit by itself looks at one partition after another, in a job for each step. More rows are counted in a second
    job, so they should be pinned.

    Args:
        rows_df: any columns.
        most: so many that the driver, and one task, have room for them.
    """
    first_df = rows_df.limit(most + 1).select(F.struct("*").alias("row"))
    ((rows,),) = first_df.agg(F.collect_list("row")).collect()
    return (len(rows), list(rows)) if len(rows) <= most else (int(rows_df.count()), None)


def collect_together(queries: Mapping[str, DataFrame]) -> dict[str, list[Row]]:
    """The rows of several queries with small results, by the names of these, in one Spark job.

    What is pinned and was not used before is computed once all the same: who comes to it second waits for the first.

    Args:
        queries: with any columns, those of two may have one name, such as ``first``.
    """
    rows_of: dict[str, list[Row]] = {name: [] for name in queries}
    parts = [rows_df.select(F.struct("*").alias(name)) for name, rows_df in queries.items()]
    together_df = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    for row in together_df.collect():
        name, found = next((name, row[name]) for name in queries if row[name] is not None)
        rows_of[name].append(found)
    return rows_of


def union(parts: Iterable[DataFrame]) -> DataFrame:
    """The rows of all parts, which have the same columns by name, as the first of ``parts`` has them.

    TypeError when there is no part.

    A method of each data frame, not of pyspark's class: those of Spark Connect are of another one.
    """
    return reduce(lambda one, other: one.unionByName(other), parts)


def _to_json(value: object) -> str:
    """As Spark reads it again, with all its digits."""
    if isinstance(value, date):  # datetimes are dates too
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} is no value of a literal row")
