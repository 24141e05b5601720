"""Pulls by the files that commits name give what Hudi's incremental relation gives, whatever happens to a table.

Steps come in any order; after each of them a window with a random beginning is read both ways.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.instants import InstantRange
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.commit_files import files_of_commit, files_of_window
from spark_jobs.storage.reader import Pull, read_pull, read_snapshot
from tests.support.real_logs import RealLog, found

pytestmark = pytest.mark.hudi


def assert_equal(log: RealLog, window: InstantRange) -> bool:
    """Both ways give the same; True when there are two."""
    timeline = log.timeline
    files = files_of_window(timeline, window)
    if files is None:
        return False
    by_files_df = read_pull(log.spark, timeline.path, Pull(window=window, files=files))
    by_hudi_df = read_pull(log.spark, timeline.path, Pull(window=window))
    assert by_files_df.schema.simpleString() == by_hudi_df.schema.simpleString()
    assert found(by_files_df) == found(by_hudi_df)
    return True


@pytest.fixture
def log(spark: SparkSession, tmp_path: Path) -> RealLog:
    made = RealLog(spark, Settings(base_path=str(tmp_path)))
    made.append()
    return made


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slice(name="tables")) for n in range(1, 5))])
def test_whatever_happens_to_a_log_both_ways_give_the_same_rows(log: RealLog, seed: int) -> None:
    rng = random.Random(seed)
    steps: list[Callable[[], object]] = [log.append, log.evolve, log.cluster, log.narrow]
    steps += [log.append, log.evolve, log.clean, log.restore, log.erase] if seed else []
    rng.shuffle(steps)
    equal = 0
    for step in steps:
        step()
        writes = log.timeline.writes
        after, up_to = sorted([rng.choice(writes[:-1] or writes), rng.choice(writes)], key=lambda write: write.time)
        equal += assert_equal(log, InstantRange(after=after.time, up_to=up_to.time))
    log.append()
    writes = log.timeline.writes
    assert assert_equal(log, InstantRange(after=writes[-2].time, up_to=writes[-1].time))
    assert equal


def test_a_part_of_a_commit_is_cast_to_the_columns_of_now(log: RealLog) -> None:
    """Also of a commit of an earlier release, which does not say what is in its files."""
    log.narrow()
    timeline = log.timeline
    before, write = timeline.writes[-2:]
    log.evolve()
    window = InstantRange(after=before.time, up_to=write.time)
    assert files_of_window(log.timeline, window) is None
    expected_df = read_pull(log.spark, timeline.path, Pull(window=window))
    files = files_of_commit(log.timeline, write, list(timeline.files_written(write)))
    assert files.stored is not None
    assert files.stored["v"].dataType.simpleString() == "int"
    for known in (files, replace(files, stored=None), replace(files, stored=None, columns=None)):
        part_df = read_pull(log.spark, timeline.path, Pull(window=window, files=known), is_alone=True)
        assert part_df.schema.simpleString() == expected_df.schema.simpleString()
        assert found(part_df) == found(expected_df)


def test_a_pull_by_files_is_one_spark_job_in_a_plan_with_anything(log: RealLog) -> None:
    """Hudi's reader turns vectorized reading off for the session; the join has a scan of either kind."""
    spark, path = log.spark, log.timeline.path
    window = InstantRange(after=log.timeline.writes[-1].time, up_to=log.append())
    files = files_of_window(log.timeline, window)
    jobs = {}
    for name, pull in (("hudi", Pull(window=window)), ("files", Pull(window=window, files=files))):
        spark.sparkContext.setJobGroup(f"{name} {path}", name)
        assert found(read_pull(spark, path, pull).select("v")) == ["Row(v=3)", "Row(v=4)"]
        jobs[name] = len(spark.sparkContext.statusTracker().getJobIdsForGroup(f"{name} {path}"))
    assert (jobs["files"], jobs["hudi"] > 1) == (1, True)
    came_df = read_pull(spark, path, Pull(window=window, files=files)).cache()
    again_df = read_pull(spark, path, Pull(window=window)).select("id")
    assert came_df.join(again_df, "id").join(read_snapshot(spark, path).select("id"), "id").count() == 2
    came_df.unpersist()
