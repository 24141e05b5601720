"""Events of the log with what they lack, when the same events are read once more and have it."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

_BESIDE = ("row_types", "row_values", "row_unknown")
_CLOCK = "ingest_time"


def richer_rows(stored_df: DataFrame, rows_df: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The stored events of the wide log that gain something, as rows to write in their place.

    An event gains a declared column that it has none of, and what is beside the declared ones where nothing was kept.
    One of which a stored value differs from what was read now is left as it is.

    Args:
        stored_df: rows of the log, all that it stores.
        rows_df: the same events as they were read now, as rows of the log.
        columns: the declared columns of the wide log.

    Returns:
        The columns of ``rows_df``: where and at which time the event was first read stays, but for ``ingest_time``.
    """
    there, names = set(stored_df.columns), rows_df.columns
    types = dict(rows_df.dtypes)
    stored = {name: F.col(name) if name in there else F.lit(None).cast(types[name]) for name in names}
    known_df = stored_df.select(*(value.alias(name) for name, value in stored.items()))
    taken = (*columns, *_BESIDE, _CLOCK)
    read_df = rows_df.select("event_id", *(F.col(name).alias(_now(name)) for name in taken))
    both_df = known_df.where(F.col("source_table").isNull()).join(read_df, "event_id")
    same = [F.col(name).isNull() | F.col(name).eqNullSafe(F.col(_now(name))) for name in columns]
    gains = [_gains(name) for name in (*columns, "row_types")]
    is_richer = reduce(operator.and_, same, F.lit(True)) & reduce(operator.or_, gains)
    changed = {name: F.coalesce(name, _now(name)) for name in (*columns, "row_types", "row_values")}
    changed |= {name: F.col(_now(name)) for name in ("row_unknown", _CLOCK)}
    return both_df.where(is_richer).select(*(changed.get(name, F.col(name)).alias(name) for name in names))


def _gains(name: str) -> Column:
    return F.col(name).isNull() & F.col(_now(name)).isNotNull()


def _now(name: str) -> str:
    return f"{name}__now"
