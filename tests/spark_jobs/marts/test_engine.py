"""What an engine refuses before it reads a row; a timeline is written by hand, and Spark is not used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.clocks import MartAheadError
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.refresh import RefreshRequest
from spark_jobs.storage.layouts import mart_layout
from tests.support.contexts import context_of
from tests.support.made_tables import MadeTable
from tests.support.refreshes import MART, NOON, SPEC, settings_of


def engine_of(folder: Path, **request: Any) -> Engine:
    no_spark: Any = "no session"
    context = context_of("mart", settings_of(folder), spark=no_spark, spec=SPEC, clock=NOON, layer=MART.layer)
    return Engine(context=context, request=RefreshRequest(**request))


def test_a_mart_of_a_time_that_has_not_come_is_blocked_until_a_full_refresh(tmp_path: Path):
    """One ``mart --clock 2236-01-01`` of an earlier release emptied its window until then, without a message."""
    made = MadeTable(mart_layout(MART), tmp_path / "lake" / MART.name)
    metadata = {"lakehouse.clock": "2236-01-01T00:00:00Z", "lakehouse.definition": MART.definition}
    made.commits(4, action="commit", extraMetadata=metadata)
    command = f"mart --layer {MART.layer} --mart {MART.name} --full"
    with pytest.raises(MartAheadError, match=command), engine_of(tmp_path).refreshing(MART):
        pass
    with engine_of(tmp_path, is_full=True).refreshing(MART) as refresh:
        assert (refresh.clock, refresh.why_full) == (NOON, "--full was given")
