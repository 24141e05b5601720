"""How many Spark jobs a block starts, in whichever of its threads; those of others in a shared Spark do not count.

Job groups do not say it: Hudi gives its own jobs groups of its own. Tags stay, so each thread of a pool is given the
block's before it works.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import SparkSession


class StartedJobs:
    """The jobs with a tag, as Spark's own store of the application's state knows them."""

    def __init__(self, spark: SparkSession) -> None:
        self._context: Any = spark.sparkContext
        self._tag = f"counted-{uuid.uuid4().hex}"

    def tag(self) -> None:
        """Count what this thread starts from now on."""
        self._context.addJobTag(self._tag)

    def untag(self) -> None:
        """Do not count it any more."""
        self._context.removeJobTag(self._tag)

    def names(self) -> list[str]:
        """What each of them was for, in the order in which they began: Hudi's word, or where it was called."""
        java = self._context._jsc.sc()
        java.listenerBus().waitUntilEmpty()
        jobs = java.statusStore().jobsList(None)  # newest first
        found = [jobs.apply(number) for number in reversed(range(jobs.size()))]
        return [f"{job.name()} {job.description()}" for job in found if job.jobTags().contains(self._tag)]


@contextmanager
def counting_jobs(spark: SparkSession) -> Iterator[StartedJobs]:
    """The jobs that the block starts, as far as it has come."""
    started, submitted = StartedJobs(spark), ThreadPoolExecutor.submit

    def submit(pool: ThreadPoolExecutor, work: Callable[..., Any], /, *values: Any, **named: Any) -> Future[Any]:
        def tagged() -> Any:
            started.tag()
            return work(*values, **named)

        return submitted(pool, tagged)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ThreadPoolExecutor, "submit", submit)
        started.tag()
        try:
            yield started
        finally:
            started.untag()
