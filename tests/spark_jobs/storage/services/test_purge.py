"""A purged table: its newest state by both readers, no file of another, and older states refused instead of short."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.instants import NO_INSTANT
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.consumers import ConsumerRegistry, ConsumerState
from spark_jobs.storage.layouts import TableLayout
from spark_jobs.storage.reader import plan_pull, read_as_of, read_pull
from spark_jobs.storage.services.purge import purge
from spark_jobs.storage.table_files import list_file_groups
from tests.support.contexts import CLOCK
from tests.support.crashes import CrashError
from tests.support.numbered_tables import COPIED, LOG, MERGED, NumberedTable

pytestmark = pytest.mark.hudi


@pytest.fixture(params=[MERGED, COPIED, LOG], ids=lambda layout: layout.name)
def table(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> NumberedTable:
    layout: TableLayout = request.param
    return NumberedTable(spark, layout, Settings(base_path=str(tmp_path), lease_wait_seconds=1))


def test_only_the_newest_state_is_left(table: NumberedTable):
    first = table.put(0) or NO_INSTANT
    table.put_all(1, 4)
    last = table.timeline.last or NO_INSTANT
    registry, name = ConsumerRegistry(table.settings.base_path), table.layout.name
    registry.write("mart", ConsumerState(checkpoints={"log": last}, tables={name: last}, notes={"clock": "x"}), CLOCK)
    registry.write("other", ConsumerState(checkpoints={name: last}, tables={name: first}), CLOCK)
    registry.write("behind", ConsumerState(checkpoints={name: first, "log": last}, tables={"x": last}), CLOCK)
    registry.write("outside", ConsumerState(checkpoints={name: last}), CLOCK)
    removed = purge(table.spark, table.layout, table.settings, CLOCK)
    assert_newest_alone(table, 4)
    if table.layout is LOG:
        assert removed == 0, "nothing of it was ever replaced"
        assert table.timeline.last == last
        return
    assert removed > 0
    now = table.timeline.last or NO_INSTANT
    assert now > last
    with pytest.raises(Exception, match=r"[Cc]lean"):
        read_as_of(table.spark, table.timeline.path, first).collect()
    assert registry.read("mart") == ConsumerState(checkpoints={"log": last}, tables={name: now}, notes={"clock": "x"})
    other = registry.read("other")
    assert other.tables == {name: first}, "it did not know the newest state before either"
    assert other.checkpoints == {name: now}, "it had read all: after the empty commit no reader recomputes"
    assert registry.read("behind").checkpoints == {name: first, "log": last}, "it has changes yet to read"
    assert registry.read("behind").tables == {"x": last}, "an instant of another table, which happens to be the same"
    assert registry.read("outside").checkpoints == {name: last}, "who reads from outside keeps their own place"
    assert read_pull(table.spark, table.timeline.path, plan_pull(table.timeline, after=last)).collect() == []
    assert purge(table.spark, table.layout, table.settings, CLOCK) == 0
    assert table.timeline.last == now, "nothing to do, no commit"
    max((Path(table.timeline.path) / ".hoodie").glob("*.clean")).unlink()  # a run that died when all files were gone
    pending, last = table.timeline.pending_cleans, table.timeline.last
    assert (len(pending), last) == (1, now)
    assert purge(table.spark, table.layout, table.settings, CLOCK) == 0
    after = table.timeline
    assert (list(after.pending_cleans), after.last) == ([], now)
    table.put(5)
    assert table.rows_by_spark() == table.rows_by_rust() == table.expected(5)


def test_one_that_dies_before_the_clean_is_finished_by_the_next(table: NumberedTable, monkeypatch: pytest.MonkeyPatch):
    table.put_all(0, 3)
    real = purge.__globals__["call"]

    def die(spark: SparkSession, name: str, path: str, procedure: str, *given: object, **options: object) -> object:
        if procedure == "run_clean":
            raise CrashError
        return real(spark, name, path, procedure, *given, **options)

    monkeypatch.setattr("spark_jobs.storage.services.purge.call", die)
    if table.layout is not LOG:
        with pytest.raises(CrashError):
            purge(table.spark, table.layout, table.settings, CLOCK)
    monkeypatch.undo()
    purge(table.spark, table.layout, table.settings, CLOCK)
    assert_newest_alone(table, 3)


def assert_newest_alone(table: NumberedTable, number: int) -> None:
    """One slice a file group, without log files, and the rows of the last commit."""
    groups = list_file_groups(table.timeline.path)
    assert groups
    assert all(len(group.slices) == 1 and not group.slices[0].logs for group in groups)
    assert table.rows_by_spark() == table.rows_by_rust() == table.expected(number)
    assert table.timeline.pending == frozenset()
