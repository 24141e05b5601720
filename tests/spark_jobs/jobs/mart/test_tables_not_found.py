"""A mart over a table that a pattern may find, and has not found yet: it waits, says for what, and needs no session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from spark_jobs.context import JobContext
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.job_errors import TablesFailedError
from spark_jobs.contracts.settings import Settings
from spark_jobs.jobs import mart, recompute
from spark_jobs.storage.lake_specs import read_lake_spec
from tests.support.contexts import context_of
from tests.support.shop_lakes import shop_spec

MART = {"name": "totals", "layer": "fast", "mode": "full", "grain": ["day"], "reads": [{"table": "s_orders"}]}
NO_SESSION: Any = None


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A lake of one pattern, and one mart over what it has not found."""
    (tmp_path / "marts").mkdir()
    (tmp_path / "marts" / "totals.yaml").write_text(yaml.safe_dump(MART), encoding="utf-8")
    (tmp_path / "marts" / "totals.sql").write_text(
        "SELECT day, COUNT(*) AS n FROM s_orders GROUP BY day", encoding="utf-8"
    )
    every = {"name": "s_{table}", "from": {"database": "shop", "table": "*"}}
    (tmp_path / "lake.yaml").write_text(yaml.safe_dump(shop_spec([every], marts="marts")), encoding="utf-8")
    return Settings(base_path=str(tmp_path / "lake"), lake_spec=str(tmp_path / "lake.yaml"))


def context(job: str, settings: Settings, **options: Any) -> JobContext[Any]:
    return context_of(job, settings, spark=NO_SESSION, spec=read_lake_spec(settings), layer="fast", **options)


def test_it_is_blocked_with_the_table_that_it_waits_for(settings: Settings):
    with pytest.raises(TablesFailedError, match=r"totals: reads \['s_orders'\], which no pattern has found") as caught:
        mart.run(context("mart", settings))
    assert caught.value.exit_code == 2
    result = caught.value.result
    assert result is not None
    assert result.messages == ("totals: blocked: reads ['s_orders'], which no pattern has found in the log so far",)


def test_there_is_nothing_of_it_to_recompute(settings: Settings):
    with pytest.raises(ContractError, match=r"no mart  is of layer 'fast'"):
        recompute.check(context("recompute", settings, from_date="2026-01-01", to_date="2026-01-02"))
