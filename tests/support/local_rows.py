"""Rows that a test makes, without processes of Python that copy them on the executors."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.rdd import RDD
from pyspark.serializers import BatchedSerializer


def keep_local_rows(patch: pytest.MonkeyPatch) -> None:
    """Let ``createDataFrame`` give its rows to the JVM as it has packed them.

    PySpark unpacks and packs them again in a Python task for each partition, whenever a plan with them runs, because it
    takes the two serializers of its batches for different ones; the JVM reads both. The transforms' tests take a third
    less time without it.
    """
    reserialize = RDD._reserialize

    def keep(rows: RDD[Any], serializer: Any = None) -> RDD[Any]:
        is_local = type(rows) is RDD and type(rows._jrdd_deserializer) is BatchedSerializer
        return rows if is_local else reserialize(rows, serializer)

    patch.setattr(RDD, "_reserialize", keep)
