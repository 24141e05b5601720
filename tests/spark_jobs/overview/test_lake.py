"""What is seen of a lake, on the one of tests/support/seen_lakes.py."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from spark_jobs.overview.cache import LakeCache
from spark_jobs.overview.lake import lake_overview
from spark_jobs.overview.models import Edge, FileTotals, LakeOverview, NodeKind, TableKind
from spark_jobs.storage.consumer_places import PlaceState
from tests.support.seen_lakes import MART, NOW, SPEC, START, SeenLake, empty_lake, minute, seen_lake


@pytest.fixture
def lake(tmp_path: Path) -> SeenLake:
    return seen_lake(tmp_path)


def see(lake: SeenLake, cache: LakeCache | None = None) -> LakeOverview:
    return lake_overview(lake.spec, lake.settings, NOW, cache=cache or LakeCache())


def test_an_empty_lake_has_all_its_tables_and_nothing_in_them(tmp_path: Path):
    found = see(empty_lake(tmp_path))
    assert {table.name for table in found.tables} == {*SPEC.table_names}
    assert all(not t.commits and t.newest is None and not t.problem and not t.files.files for t in found.tables)
    assert all(edge.behind is None and not edge.is_lost for edge in found.edges)


def test_a_table_is_seen_with_its_files_reads_and_what_is_pending(lake: SeenLake):
    units = see(lake).by_name["units"]
    assert (units.kind, units.commits, units.newest, units.last) == (TableKind.TABLE, 2, minute(4), minute(4))
    assert units.files == FileTotals(base_files=1, base_bytes=1000, log_files=2, log_bytes=20, partitions=1)
    assert [(step.time, step.action, step.state) for step in units.pending] == [(minute(6), "compaction", "requested")]
    assert units.reads == ("sales_log",)
    assert units.freshness is not None
    assert units.freshness.waiting_since == START + timedelta(minutes=5)
    assert units.freshness.newest_event == START + timedelta(minutes=3)


def test_quality_and_holds_are_those_of_the_last_run(lake: SeenLake):
    tables = see(lake).by_name
    mart, log, customers = tables[MART], tables["sales_log"], tables["customers"]
    assert mart.quality is not None
    assert [(r.expectation, r.outcome.value, r.broken) for r in mart.quality.not_held] == [
        ("deals_are_few", "warned", 4)
    ]
    assert mart.layer == "fast"
    assert log.quality is not None
    assert log.quality.rows == {"read": 12, "written": 10, "quarantined": 2}
    assert customers.held is not None
    assert customers.held.reasons == ("id (id not null): 1 of 5 rows broke it",)


def test_consumers_have_their_distance(lake: SeenLake):
    places = {place.consumer: place for place in see(lake).by_name["sales_log"].consumers}
    assert {name: place.behind for name, place in places.items()} == {"audit": 2, "lost": 3, "split": 1}
    assert {name for name, place in places.items() if place.state is PlaceState.LOST} == {"lost"}


def test_edges_have_the_lag_of_who_reads(lake: SeenLake):
    edges = {(edge.source, edge.target): edge for edge in see(lake).edges}
    waiting = START + timedelta(minutes=5)
    assert edges["sales_log", "units"] == Edge(source="sales_log", target="units", behind=1, waiting_since=waiting)
    assert edges["sales", MART].behind == 0
    assert edges["sales_log", "lost"].is_lost
    assert edges["sales_log", "audit"].target_kind is NodeKind.CONSUMER
    assert edges["stitch_agent_days", "stitch_agent_contracts"].behind is None
    assert {edge.source for edge in see(lake).edges if edge.source_kind is NodeKind.SOURCE} == {*SPEC.source.topics}


def test_a_table_that_cannot_be_read_is_no_problem_of_the_others(lake: SeenLake):
    folder = Path(lake.settings.table_path("units"), ".hoodie")
    (folder / "hoodie.properties").write_text("hoodie.table.version=8\n")
    (folder.parents[1] / "sales/.hoodie" / f"{minute(4)}.deltacommit").write_text("{")
    tables = see(lake).by_name
    assert "version 8" in tables["units"].problem
    assert tables["sales"].problem
    assert tables["units"].commits == 0
    assert tables["sales_log"].commits == 3
    assert not tables["sales_log"].problem


def test_a_table_whose_files_have_lost_their_times_is_shown_with_that(lake: SeenLake):
    os.utime(Path(lake.settings.table_path("sales_log"), ".hoodie", f"{minute(1)}.commit"))
    log = see(lake).by_name["sales_log"]
    assert "run: doctor repair" in log.problem
    assert log.commits == 3


def test_what_was_read_before_is_read_again_only_where_it_changed(lake: SeenLake):
    clock = [0]
    cache = LakeCache(now_ns=lambda: clock[0])
    before = see(lake, cache)
    clock[0] = 2**62  # no folder changed a moment ago
    assert see(lake, cache).tables == before.tables
    lake.write("units", 8, action="deltacommit", rows=1, read={"sales_log": minute(5)})
    lake.table("units").logs("f-0", int(minute(2)), 1, size=10, version=3)
    after = see(lake, cache)
    assert after.tables == see(lake).tables
    assert (after.by_name["units"].commits, after.by_name["units"].files.log_files) == (3, 3)


def test_a_folder_that_changed_a_moment_ago_is_listed_again(lake: SeenLake):
    cache = LakeCache(now_ns=lambda: Path(lake.settings.table_path("units"), ".hoodie").stat().st_mtime_ns)
    path = lake.settings.table_path("units")
    first = cache.timeline("units", path)
    stamp = Path(path, ".hoodie").stat()
    lake.write("units", 9, action="deltacommit")
    os.utime(Path(path, ".hoodie"), ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # within the precision of its time
    assert len(cache.timeline("units", path).writes) == len(first.writes) + 1


def test_a_lake_that_went_is_empty(lake: SeenLake):
    cache = LakeCache(now_ns=lambda: 2**62)
    see(lake, cache)
    see(lake, cache)
    shutil.rmtree(lake.settings.base_path)
    assert all(not table.commits for table in see(lake, cache).tables)


def test_what_is_delivered_cannot_be_looked_at(lake: SeenLake):
    settings = replace(lake.settings, landing_path="nothing://here")
    found = lake_overview(lake.spec, settings, NOW, cache=LakeCache())
    assert "nothing://here" in found.source_problem
    assert found.by_name["units"].commits == 2
