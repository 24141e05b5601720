"""The Spark that the processes of a test run share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.run.levels import ROOT
from tests.run.shared_spark import FOLDER, is_offered, offering_spark

LOOK = """
import json
from tests.run.shared_spark import attach, find_jvm
spark = attach()
before = spark.conf.get("spark.sql.shuffle.partitions")
spark.conf.set("spark.sql.shuffle.partitions", "7")
seen = spark.sparkContext.applicationId, find_jvm(), before, spark.conf.get("hoodie.write.table.version")
print(json.dumps(seen))
"""


def look(environment: dict[str, str]) -> list[str | int]:
    command = [sys.executable, "-c", LOOK]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    seen: list[str | int] = json.loads(done.stdout)
    return seen


@pytest.mark.spark
def test_processes_share_a_jvm_that_outlives_them_and_have_settings_of_their_own(tmp_path: Path) -> None:
    """A session can write tables at once: without the options for Hudi's procedures it would upgrade them."""
    with nullcontext(os.environ) if is_offered() else offering_spark(os.environ, tmp_path / "log") as offered:
        first, second = look(dict(offered)), look(dict(offered))
        assert first == second
        _, jvm, partitions, version = first
        assert (partitions, version) == ("2", "6")
        assert Path(f"/proc/{jvm}").exists()


def test_nothing_is_started_when_no_test_wants_it(tmp_path: Path) -> None:
    without_programs = {"PATH": ""}
    with offering_spark(without_programs, tmp_path / "log") as offered:
        folder = Path(offered[FOLDER])
        assert list(folder.iterdir()) == []
    assert not folder.exists()


def test_a_process_that_was_started_by_hand_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER, raising=False)
    assert not is_offered()
