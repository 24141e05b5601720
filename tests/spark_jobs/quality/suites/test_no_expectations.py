"""A table of which nothing is expected costs nothing: Great Expectations is not even started."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import DataFrame

from spark_jobs.quality.suites import Suites

NO_ROWS = cast("DataFrame", None)
"""They are not read, so no session is needed."""


def no_others(table: str) -> DataFrame:
    pytest.fail(f"rows of {table} were read")


def test_without_expectations_there_are_no_verdicts_and_no_site(tmp_path: Path):
    assert Suites(tmp_path / "docs").check("agents", NO_ROWS, (), no_others) == ()
    assert not (tmp_path / "docs").exists()
