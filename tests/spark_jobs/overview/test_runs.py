"""What one run read and wrote, on the lake of tests/support/seen_lakes.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.overview.cache import LakeCache
from spark_jobs.overview.models import ReadWindow
from spark_jobs.overview.runs import newest_run, run_overview
from tests.support.seen_lakes import RUN, SeenLake, minute, seen_lake


@pytest.fixture
def lake(tmp_path: Path) -> SeenLake:
    return seen_lake(tmp_path)


def test_a_run_has_its_windows_and_what_was_written_beside(lake: SeenLake):
    found = run_overview(lake.spec, lake.settings, RUN, cache=LakeCache())
    assert (found.commit.table, found.commit.instant, found.commit.rows) == ("units", minute(4), 3)
    assert found.read == (ReadWindow(source="sales_log", after=minute(1), up_to=minute(3)),)
    assert [(each.table, each.instant) for each in found.beside] == [("sales", minute(4))]
    assert [hold.table for hold in found.held] == ["customers"]
    assert found.before == minute(2)


def test_the_newest_run_of_a_table_is_its_newest_write_and_no_service(lake: SeenLake):
    lake.commit("units", 9, extraMetadata={}, operationType="COMPACT", partitionToWriteStats={})
    assert newest_run(lake.spec, lake.settings, "units", cache=LakeCache()) == minute(4)
    with pytest.raises(ContractError, match="nothing was written to agents yet"):
        newest_run(lake.spec, lake.settings, "agents", cache=LakeCache())


def test_a_first_read_begins_at_the_beginning(lake: SeenLake):
    found = run_overview(lake.spec, lake.settings, minute(2), table="units", cache=LakeCache())
    assert found.read == (ReadWindow(source="sales_log", after="", up_to=minute(1)),)
    assert found.beside == ()
    assert found.before is None


@pytest.mark.parametrize("run", ["f" * 32, minute(9), "x", "../x"])
def test_a_run_that_is_not_there_is_refused(lake: SeenLake, run: str):
    with pytest.raises(ContractError):
        run_overview(lake.spec, lake.settings, run, cache=LakeCache())


def test_an_instant_that_several_tables_have_needs_the_table(lake: SeenLake):
    with pytest.raises(ContractError, match="name the table"):
        run_overview(lake.spec, lake.settings, minute(4), cache=LakeCache())
