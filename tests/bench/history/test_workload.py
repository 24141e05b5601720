"""As many rows are changed in tables of any size: of the newest keys, and of all keys where there are many more."""

from __future__ import annotations

import pytest

from bench.workload import Workload
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec

pytestmark = pytest.mark.spark


def test_rounds_of_newest_keys_change_as_many_rows_in_small_and_in_large_tables(spark):
    spec = load_lake_spec(Settings().lake_spec)
    small, large = (Workload(spec=spec, scale=scale, newest_of=0.1).changed_keys(spark, 3) for scale in (0.1, 10))
    assert small["sales"] == pytest.approx(9_530, rel=0.01)
    assert {table: large[table] for table in ("sales", "units")} == pytest.approx(
        {table: small[table] for table in ("sales", "units")}, rel=0.1
    )
