"""Looks at the rows and the cleans of a table, with Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.storage.doctor.findings import Ailment, Finding
from spark_jobs.storage.doctor.timelines import is_old
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.time_travel import cleaned_up_to

_SHOWN = 3


def check_deep(spark: SparkSession, state: TableState, clock: datetime) -> Iterator[Finding]:
    """Keys that are in the table more than once, and files that a clean should have removed."""
    table, key = state.layout.name, state.layout.record_key
    if state.timeline.last is None:
        return
    rows_df = spark.read.format("hudi").load(state.timeline.path)
    twice = rows_df.groupBy(key).count().where(F.col("count") > 1).orderBy(key).limit(_SHOWN + 1).collect()
    if twice:
        more = " and more" if len(twice) > _SHOWN else ""
        yield Finding(
            table=table,
            ailment=Ailment.DUPLICATES,
            what=f"keys that are in it more than once: {', '.join(str(row[key]) for row in twice[:_SHOWN])}{more}",
            then="look for files of no commit (lakehouse doctor check); else make the table again from what it is "
            "made of",
        )
    earliest = cleaned_up_to(spark, state.timeline)
    left = [file for file in state.superseded(earliest) if is_old(file.modified_ns, clock)] if earliest else []
    if left:
        yield Finding(
            table=table,
            ailment=Ailment.UNCLEANED,
            what=f"{len(left)} files that a clean should have removed ({sum(file.size for file in left):,} bytes)",
            then="lakehouse doctor repair removes them; look whether the user may delete there",
            paths=tuple(file.path for file in left),
        )
