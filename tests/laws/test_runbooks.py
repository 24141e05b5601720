"""Runbooks that need an engine, followed to their end on one real lake: afterwards the doctor finds nothing.

The lake has two deliveries in the log and in its tables. Tests stage one incident each, on a copy of it.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from spark_jobs.command.app import run
from spark_jobs.storage.doctor.findings import Ailment
from spark_jobs.storage.lake_names import make_lake
from tests.support.documents import groups
from tests.support.incidents import fill_disk, make_old
from tests.support.lakes import SpecLake, copy_lake
from tests.support.schedules import build_schedule
from tests.support.service_lakes import HUNGRY, make_service_lake

pytestmark = [pytest.mark.hudi, pytest.mark.slice(name="jobs")]
TARGETS = {**HUNGRY, "cluster_small_files": 1, "archive_commits": 240, "keep_commits": 10}


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SpecLake:
    lake, schedule = make_service_lake(spark, tmp_path_factory.mktemp("incidents")), build_schedule(5, 1)
    document = yaml.safe_load(lake.spec.read_text())
    document |= {"services": TARGETS, "quarantine_limit": {"most_percent": 100, "from_records": 10**6}}
    lake.spec.write_text(yaml.safe_dump(document, sort_keys=False))
    make_lake(document["lake"], lake.settings, may_adopt=True)
    for number in range(2):
        schedule.land(lake.folder / "landing", number)
        lake.run("ingest")
    lake.run("split")
    return lake


@pytest.fixture
def lake(made: SpecLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SpecLake:
    """A copy, to which commands go by the environment; they use the session of the test."""
    lake = copy_lake(made, tmp_path)
    for name, value in (
        ("BASE_PATH", lake.settings.base_path),
        ("LANDING_PATH", lake.settings.landing_path),
        ("LAKE_SPEC", lake.settings.lake_spec),
        ("SOURCE_SKEW_SECONDS", str(10**9)),
    ):
        monkeypatch.setenv(f"LAKEHOUSE_{name}", value)
    monkeypatch.setattr(lake.spark, "stop", lambda: None)
    monkeypatch.setattr("spark_jobs.session.open_session", lambda *_, **__: lake.spark)
    return lake


def ailments(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    capsys.readouterr()
    assert run(["doctor", "check", "--json"]) == 0
    messages = json.loads(capsys.readouterr().out)["messages"]
    return [(message.split(": ")[0], message.split(": ")[1]) for message in messages]


def follow(runbook: str) -> None:
    """Run the commands of a runbook in their order, those of another program too."""
    for group in groups(f"docs/runbooks/{runbook}.md"):
        for command in group.commands:
            program, *words = shlex.split(os.path.expandvars(command))
            if program == ".venv/bin/lakehouse":
                assert run(words) == 0, command
            else:
                assert program == "mv"
                shutil.move(words[0], words[1])


def begin_write(lake: SpecLake, table: str) -> str:
    """A write that was announced and wrote nothing yet, as the engine leaves it when it is killed then."""
    instant = f"{datetime.now(UTC):%Y%m%d%H%M%S}000"
    folder = Path(lake.path(table)) / ".hoodie"
    action = next(folder.glob("*commit")).suffix
    (folder / f"{instant}{action}.requested").touch()
    return instant


def test_a_stuck_instant(lake: SpecLake, capsys: pytest.CaptureFixture[str]):
    begin_write(lake, "sales")
    assert ("sales", Ailment.PENDING_WRITE.value) in ailments(capsys)
    follow("stuck-instant")
    assert [each for each in ailments(capsys) if each[0] == "sales"] == []


def test_a_dead_driver(lake: SpecLake, capsys: pytest.CaptureFixture[str]):
    beat = Path(lake.path("sales")) / ".hoodie/.heartbeat" / begin_write(lake, "sales")
    beat.parent.mkdir(exist_ok=True)
    beat.touch()
    make_old(beat, 5)
    assert ("sales", Ailment.DEAD_WRITER.value) in ailments(capsys)
    follow("dead-driver")
    assert [each for each in ailments(capsys) if each[0] == "sales"] == []


def test_a_flood_of_the_quarantine(lake: SpecLake, capsys: pytest.CaptureFixture[str]):
    lake.land("noise.json", [b"noise %d" % number for number in range(1_000)])
    lake.run("ingest")
    assert ("quarantine", Ailment.QUARANTINE.value) in ailments(capsys)
    follow("quarantine")
    assert [each for each in ailments(capsys) if each[0] == "quarantine"] == []


def test_small_files(lake: SpecLake, capsys: pytest.CaptureFixture[str]):
    """Three more deliveries, and table services did not run meanwhile."""
    schedule = build_schedule(5, 2)
    for number in range(3):
        schedule.land(lake.folder / "landing", number)
        lake.run("ingest")
    assert ("sales_log", Ailment.SMALL_FILES.value) in ailments(capsys)
    follow("small-files")
    assert [each for each in ailments(capsys) if each[1] == Ailment.SMALL_FILES.value] == []


def test_another_version(lake: SpecLake, capsys: pytest.CaptureFixture[str]):
    properties = Path(lake.path("agents")) / ".hoodie/hoodie.properties"
    text = properties.read_text().replace("hoodie.table.version=6", "hoodie.table.version=9")
    properties.write_text(text)
    assert ("agents", Ailment.VERSION.value) in ailments(capsys)
    follow("table-version")
    assert [each for each in ailments(capsys) if each[0] == "agents"] == []
    assert lake.rows("agents")


def test_a_full_disk(lake: SpecLake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as full:
        fill_disk(full, free=1_000_000)
        assert ("lake", Ailment.DISK.value) in ailments(capsys)
        follow("full-disk")
    assert ("lake", Ailment.DISK.value) not in ailments(capsys), "there is room again"
