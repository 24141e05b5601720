"""Rows that a repair keeps: found by table and commit, waited for, dropped of the tables that a restore takes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.clocks import RowsKeptError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.kept_rows import AHEAD_FOLDER, check_nothing_kept, drop_kept, kept_commits


def test_they_are_waited_for_until_the_last_table_has_none(tmp_path: Path):
    settings = Settings(base_path=str(tmp_path))
    check_nothing_kept(settings)
    for table, commit in (("log", "2"), ("log", "1"), ("bad", "3")):
        (tmp_path / AHEAD_FOLDER / table / commit / "rows").mkdir(parents=True)
    assert kept_commits(settings) == {"bad": ["3"], "log": ["1", "2"]}
    with pytest.raises(RowsKeptError, match=r"^bad, log: doctor repair was cut off"):
        check_nothing_kept(settings)
    drop_kept(["log", "units"], settings)
    assert kept_commits(settings) == {"bad": ["3"]}
    drop_kept(["bad"], settings)
    check_nothing_kept(settings)


def test_a_repair_that_died_before_its_last_folder_was_removed_is_waited_for_too(tmp_path: Path):
    settings = Settings(base_path=str(tmp_path))
    (tmp_path / AHEAD_FOLDER / "log").mkdir(parents=True)
    assert kept_commits(settings) == {"log": []}
    with pytest.raises(RowsKeptError):
        check_nothing_kept(settings)
