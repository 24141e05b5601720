"""DataFrames of rows that the driver has, and the union of several."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.names import column_names


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
