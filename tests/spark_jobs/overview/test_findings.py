"""What is wrong with a lake: one cause is one finding, and no table's files are listed twice for it.

The log has commits at 00:01 and 00:05 of 2026-01-01, and it is 00:30; the tables promise not to be behind for longer
than 15 minutes. A table that has read up to 00:01 is behind.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.overview.cache import LakeCache
from spark_jobs.overview.findings import all_findings, findings_of_reading
from spark_jobs.overview.lake import LakeReading, read_lake
from spark_jobs.storage.doctor.findings import Ailment, Finding
from spark_jobs.storage.services import state
from spark_jobs.storage.table_files import FileGroup, list_file_groups
from tests.support.seen_lakes import MART, NOW, SeenLake, minute


def made(folder: Path, behind: tuple[str, ...], *, current: tuple[str, ...] = ("statuses",)) -> SeenLake:
    lake = SeenLake(folder)
    newest = format_clock(NOW)
    log = [lake.write("sales_log", at, newest_event_time=newest) for at in (1, 5)]
    for names, place in ((behind, log[0]), (current, log[1])):
        for name in names:
            lake.write(name, 6, action="deltacommit", read={"sales_log": place})
    return lake


def reading_of(lake: SeenLake, *, keeps_listings: bool = False) -> LakeReading:
    return read_lake(lake.spec, lake.settings, NOW, cache=LakeCache(), keeps_listings=keeps_listings)


def behind_of(lake: SeenLake) -> list[Finding]:
    return [each for each in findings_of_reading(reading_of(lake)) if each.ailment is Ailment.BEHIND]


def test_a_table_that_is_behind_alone_is_a_finding_of_its_own(tmp_path: Path) -> None:
    (found,) = behind_of(made(tmp_path, ("units",)))
    assert (found.table, found.also) == ("units", ())
    assert found.what == "something waits since 2026-01-01 00:05 UTC, promised within 15 minutes"


@pytest.mark.parametrize("count", [2, 5])
def test_tables_that_split_left_behind_are_one_finding(tmp_path: Path, count: int) -> None:
    names = ("units", "sales", "agents", "projects", "buildings")[:count]
    lake = made(tmp_path, names)
    (found,) = behind_of(lake)
    assert found.table == "sales_log"
    assert {*found.also} == {*names}
    assert found.what.startswith(f"{count} tables that split makes of it are behind (")
    assert found.what.endswith("): something waits since 2026-01-01 00:05 UTC, promised within 15 minutes")
    assert ("and 2 more" in found.what) is (count == 5)
    assert found.is_of(("units",))
    assert not found.is_of(("statuses", MART))


def test_a_mart_that_is_behind_is_another_finding(tmp_path: Path) -> None:
    lake = made(tmp_path, ("units", "agents"), current=("sales",))
    lake.write("sales", 7, action="deltacommit", read={"sales_log": minute(5)})
    lake.write(MART, 8, clock=format_clock(NOW), read={"sales": minute(6)})
    assert [each.table for each in behind_of(lake)] == ["sales_log", MART]


def test_one_table_has_what_is_of_it_and_no_table_is_listed_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = made(tmp_path, ("units", "agents"))
    listed = list[str]()

    def listing(path: str) -> list[FileGroup]:
        listed.append(path)
        return list(list_file_groups(path))

    monkeypatch.setattr(state, "list_file_groups", listing)
    reading = reading_of(lake, keeps_listings=True)
    for names, is_found in ((("units",), True), (("statuses",), False), (("sales_log",), True)):
        found = [each for each in all_findings(reading, names) if each.ailment is Ailment.BEHIND]
        assert bool(found) is is_found, names
    assert {*listed} == {lake.settings.table_path(name) for name in reading.layouts}
    assert len(listed) == len(reading.layouts)
