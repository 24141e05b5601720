"""What grows: lag, small files, the disk, the catalog; each at its limit and just below it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.catalogs import CatalogTable
from spark_jobs.contracts.instants import Instant, format_instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.lake_spec.tables import TableType
from spark_jobs.storage.catalog.synced import SyncedTables
from spark_jobs.storage.consumer_places import ConsumerPlace, PlaceState
from spark_jobs.storage.doctor.findings import Ailment, Finding
from spark_jobs.storage.doctor.pressure import check_catalog, check_disk, check_lag, check_small_files
from spark_jobs.storage.layouts import StorageForm, TableLayout
from spark_jobs.storage.timeline import Timeline
from tests.support.incidents import fill_disk
from tests.support.made_tables import MadeTable

LOG = TableLayout(name="log", record_key="id", form=StorageForm.APPENDED)
UNITS = TableLayout(name="units", record_key="id", form=StorageForm.KEYED, type=TableType.MERGE_ON_READ)
MB = 1024 * 1024
NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("behind", "state", "is_found"),
    [
        (5, PlaceState.ON_TIMELINE, False),
        (6, PlaceState.ON_TIMELINE, True),
        (6, PlaceState.LOST, False),
    ],
)
def test_a_consumer_that_holds_the_archive_back_is_named(behind: int, state: PlaceState, is_found: bool):
    place = ConsumerPlace(consumer="report", table="log", checkpoint="1", behind=behind, state=state)
    other = ConsumerPlace(consumer="report", table="gone", checkpoint="1", behind=99, state=state)
    findings = list(check_lag([place, other], {"log": ServiceTargets(archive_commits=10)}))
    assert [(each.table, each.ailment) for each in findings] == [("log", Ailment.CONSUMER_BEHIND)] * is_found


@given(
    partitions=st.dictionaries(
        st.sampled_from(["a", "b", "c"]), st.lists(st.sampled_from([MB, 31 * MB, 32 * MB, 99 * MB]), max_size=12)
    )
)
def test_small_files_of_one_partition_are_counted(partitions: Mapping[str, list[int]]):
    targets = ServiceTargets(cluster_small_files=2)
    findings = list(check_small_files(LOG, [(sizes, ()) for sizes in partitions.values()], targets))
    most = max((sum(size < 32 * MB for size in sizes) for sizes in partitions.values()), default=0)
    assert [each.what.split()[0] for each in findings] == ([str(most)] if most >= 8 else [])


@pytest.mark.parametrize(("logs", "is_found"), [(15, False), (16, True)])
def test_log_files_are_counted_for_each_base_file(logs: int, is_found: bool):
    files = [([MB, MB], [1] * logs)]
    findings = list(check_small_files(UNITS, files, ServiceTargets(compact_log_files=2)))
    assert [each.ailment for each in findings] == [Ailment.SMALL_FILES] * is_found


@pytest.mark.parametrize(
    ("free", "size", "is_found"),
    [
        (512 * MB, 0, False),
        (512 * MB - 1, 0, True),
        (900 * MB, 900 * MB, False),
        (900 * MB - 1, 900 * MB, True),
    ],
)
def test_a_disk_has_room_for_the_largest_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, size: int, is_found: bool
):
    fill_disk(monkeypatch, free=free)
    findings = list(check_disk(str(tmp_path), {"units": size, "log": 1}))
    assert [each.ailment for each in findings] == [Ailment.DISK] * is_found


def test_a_lake_that_is_not_there_has_no_disk(tmp_path: Path):
    assert list(check_disk(str(tmp_path / "nothing"), {})) == []


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A lake with a table of two commits: three hours ago and an hour ago."""
    own = Settings(base_path=str(tmp_path), catalog="glue")
    units = MadeTable(UNITS, tmp_path / "units")
    for hours in (3, 1):
        units.commits(int(hours_ago(hours)), extraMetadata={"schema": "{}"})
    return own


def hours_ago(hours: float) -> Instant:
    return format_instant(NOW - timedelta(hours=hours))


def stale(settings: Settings) -> list[Finding]:
    timeline = Timeline(table="units", path=settings.table_path("units"))
    return list(check_catalog({"units": UNITS}, {"units": timeline}, settings, NOW))


def brought(settings: Settings, **instants: Instant) -> None:
    tables = [
        CatalogTable(
            name=name, description="", location="", columns=(), partition_keys=(), input_format="", instant=instant
        )
        for name, instant in instants.items()
    ]
    SyncedTables(settings).remember(tables, NOW, is_partial=True)


def test_a_catalog_that_lacks_old_commits_is_stale(settings: Settings):
    """Each table has two entries there; it is as far as the one that is less far."""
    assert ["no sync has ended yet" in each.what for each in stale(settings)] == [True]
    brought(settings, units_ro=hours_ago(3), units_rt=hours_ago(4))
    assert [each.ailment for each in stale(settings)] == [Ailment.CATALOG]
    brought(settings, units_rt=hours_ago(3))
    assert stale(settings) == [], "what it lacks is an hour old"


def test_without_a_catalog_none_is_stale(settings: Settings):
    assert stale(Settings(base_path=settings.base_path)) == []
