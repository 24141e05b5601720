"""A real lake, damaged: the doctor names each damage, repairs what is safe, and the tables are what they were."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.storage.doctor.findings import Ailment
from spark_jobs.storage.services.run import TableServices
from tests.support.crashes import CrashError
from tests.support.lakes import SpecLake, assert_equals_oracle, copy_lake
from tests.support.schedules import build_schedule
from tests.support.service_lakes import make_service_lake

pytestmark = pytest.mark.hudi

LATER = datetime.now(UTC) + timedelta(days=2)


Damaged = tuple[SpecLake, list[bytes]]


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Damaged:
    """Two rounds of a schedule, and what five accidents left: see the comments."""
    lake, schedule = make_service_lake(spark, tmp_path_factory.mktemp("damaged")), build_schedule(5, 1)
    for number in range(2):
        schedule.land(lake.folder / "landing", number)
        lake.run("ingest")
        lake.run("split")
    # A plan that was not carried out.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TableServices, "_carry_out", _die)
        with pytest.raises(CrashError):
            lake.run("services", clock=LATER, action="run", table="sales", service="compaction", all=True)
    # A base file of a writer that was rolled back while it slept: the rows of agents once more.
    agents = Path(lake.path("agents"))
    base = next(agents.glob("*.parquet"))
    shutil.copy(base, agents / f"{base.name.rpartition('_')[0]}_{'9' * 17}.parquet")
    # Markers of a commit that ended, a lock of another program's writer.
    last = max(path.name.split(".")[0] for path in (agents / ".hoodie").glob("*commit"))
    (agents / f".hoodie/.temp/{last}").mkdir(parents=True)
    (Path(lake.path("units")) / ".hoodie/lock").touch()
    # A file beside the tables that a process was writing when it died.
    (lake.folder / "lake" / ".consumers" / "split.json.tmp").touch()
    schedule.land(lake.folder / "landing", 2)
    return lake, schedule.lines


@pytest.fixture
def damaged(made: Damaged, tmp_path: Path) -> Damaged:
    """A copy of it."""
    lake, lines = made
    return copy_lake(lake, tmp_path), lines


def _die(*_: Any) -> None:
    raise CrashError


def file_names(lake: SpecLake) -> set[Path]:
    return {path for path in (lake.folder / "lake").rglob("*") if ".leases" not in path.parts}


def ailments(lake: SpecLake, action: str, **options: Any) -> set[tuple[str, str]]:
    result = lake.run("doctor", clock=LATER, action=action, **options)
    return {(message.split(": ")[0], message.split(": ")[1]) for message in result.messages}


def test_each_damage_is_named_and_what_is_safe_is_repaired(damaged: Damaged):
    lake, lines = damaged
    expected = {
        ("sales", Ailment.PENDING_PLAN.value),
        ("agents", Ailment.ORPHAN.value),
        ("agents", Ailment.MARKERS.value),
        ("units", Ailment.LOCK.value),
        ("lake", Ailment.TEMPORARY.value),
    }
    assert ailments(lake, "check") == expected
    assert ailments(lake, "check", deep=True) == expected
    of_units = {("units", Ailment.LOCK.value), ("lake", Ailment.TEMPORARY.value)}
    assert ailments(lake, "check", table="units") == of_units
    before = file_names(lake)
    planned = lake.run("doctor", clock=LATER, action="repair", deep=True)
    assert planned.counters == {"findings": 5, "repaired": 0, "planned": 5}
    assert planned.messages[-1] == "nothing was changed; do it with --yes"
    assert file_names(lake) == before
    result = lake.run("doctor", clock=LATER, action="repair", deep=True, yes=True)
    assert result.counters == {"findings": 0, "repaired": 5}
    lake.run("ingest")
    lake.run("split")
    assert_equals_oracle(lake, lines)
    assert lake.run("doctor", clock=LATER, action="check", deep=True).status == "nothing_to_do"


def test_duplicate_rows_are_found_by_looking_at_them(damaged: Damaged):
    """The same file, once it counts: a second base file in a group of its own, of the instant of a commit."""
    lake, _ = damaged
    agents = Path(lake.path("agents"))
    base = next(file for file in agents.glob("*.parquet") if "9" * 17 not in file.name)
    shutil.copy(base, agents / base.name.replace("0000000", "7000000", 1))
    assert ("agents", Ailment.DUPLICATES.value) in ailments(lake, "check", deep=True)
    assert ("agents", Ailment.DUPLICATES.value) not in ailments(lake, "check")
