"""What all tests share: one Spark session for those that ask for it, and Hypothesis without a clock."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings as hypothesis_settings

from spark_jobs.contracts.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.lakes import Lake

# The same examples on every machine; `--hypothesis-profile=explore` looks for new ones.
hypothesis_settings.register_profile("repeatable", deadline=None, derandomize=True, print_blob=True)
hypothesis_settings.register_profile("explore", deadline=None, print_blob=True)
hypothesis_settings.load_profile("repeatable")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session in this process, with the settings every job has."""
    from spark_jobs.session import open_session

    jars = {name: value for name, value in os.environ.items() if name == "LAKEHOUSE_JARS_PATH"}
    settings = Settings.from_environment(
        {**jars, "LAKEHOUSE_SPARK_MASTER": "local[2]", "LAKEHOUSE_DRIVER_MEMORY": "2g"}
    )
    session = open_session(settings, app_name="lakehouse-tests")
    yield session
    session.stop()


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    """An empty lake with an empty landing folder."""
    from tests.support.lakes import Lake

    (tmp_path / "landing").mkdir()
    return Lake(spark=spark, folder=tmp_path)
