"""Options of jobs that write files: looked at before a session is opened."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.entrypoint import parse_arguments
from spark_jobs.job_options.query import QueryOptions
from spark_jobs.pipelines.exporting import find_target

CLOCK = datetime(2026, 1, 1, tzinfo=UTC)
JOBS = [["query", "--sql", "SELECT 1"], ["changes", "--table", "sales", "--from", "2026-01-01"]]


def settings_of(folder: Path) -> Settings:
    return Settings(base_path=str(folder / "lake"), landing_path=str(folder / "landing"))


@pytest.mark.parametrize("job", JOBS, ids=["query", "changes"])
def test_both_jobs_have_the_same_options(tmp_path: Path, job: list[str]) -> None:
    nothing = parse_arguments(job)
    assert find_target(nothing.options, settings_of(tmp_path)) is None
    path = str(tmp_path / "out.txt")
    given = parse_arguments([*job, "--output", path, "--format", "csv", "--overwrite", "--for-spreadsheets"])
    target = find_target(given.options, settings_of(tmp_path))
    assert target is not None
    assert (target.path, target.format, target.overwrite) == (path, "csv", True)
    assert given.options.for_spreadsheets is True


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"overwrite": True}, r"--overwrite is for files; say where they go with --output"),
        ({"format": "parquet"}, r"--format 'parquet' is for files, which --output names; printed are table, csv, json"),
        ({"for_spreadsheets": True}, r"--for-spreadsheets is for files"),
        ({"output": "a.parquet", "for_spreadsheets": True}, r"--for-spreadsheets is for CSV"),
        ({"output": "lake/a.csv"}, r"are one in the other"),
        ({"output": "landing/a.csv"}, r"are one in the other"),
        ({"output": "there.csv"}, r"is there already"),
        ({"output": "a.xlsx"}, r"does not say its format"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").touch()
    with pytest.raises(ContractError, match=message):
        find_target(QueryOptions(sql="SELECT 1", **options), settings_of(tmp_path))
