"""Rows kept in the session: the same tables as when every run reads its files.

Five batches of 30 sales events over twelve keys each, with partial records and deletes, go through a lake whose session
keeps its tables. In the third batch somebody else commits (the job without kept rows), so what the session
holds is stale and must not be used.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.settings import Settings
from spark_jobs.storage import stored_rows
from tests.support.envelopes import Envelope, line, sqlserver
from tests.support.lakes import Lake, assert_equals_oracle

pytestmark = pytest.mark.hudi


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmLake(Lake):
    """A lake whose session keeps the tables' rows between runs."""

    @property
    def settings(self) -> Settings:
        return replace(super(WarmLake, self).settings, warm_tables="on")


def _event(rng: random.Random, position: int) -> Envelope:
    sale = {
        "SaleId": rng.randrange(12),
        "AgentId": rng.choice([1, 2, 3, None]),
        "AgentName": rng.choice(["Ann", "Bob", None]),
        "UnitId": rng.choice([7, 8]),
        "UnitName": rng.choice(["a", "b", None]),
        "ContractSubtotal": rng.choice(["1.5000", "2.2500", None]),
    }
    return sqlserver(rng.choice("cccud"), sale, position)


def _kept_views(spark: SparkSession) -> set[str]:
    return {view.name for view in spark.catalog.listTables("global_temp", "*_as_of_*")}


@pytest.mark.parametrize(
    ("most_layers", "tables_kept"), [(32, 3), (1, 2)], ids=["many layers", "sales let go with its second layer"]
)
def test_kept_rows_give_the_same_tables(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_layers: int, tables_kept: int
) -> None:
    monkeypatch.setattr(stored_rows, "MAX_LAYERS", most_layers)
    kept_before = _kept_views(spark)
    (tmp_path / "landing").mkdir()
    warm = WarmLake(spark=spark, folder=tmp_path)
    cold = Lake(spark=spark, folder=tmp_path)
    rng = random.Random(5)
    positions = list(range(1, 151))
    rng.shuffle(positions)  # late events in every batch
    lines: list[bytes] = []
    for batch in range(5):
        new = [line(_event(rng, position)) for position in positions[batch * 30 : batch * 30 + 30]]
        warm.land(f"{batch}.jsonl", new)
        lines += new
        lake = cold if batch == 2 else warm
        lake.run("ingest")
        lake.run("split")
    assert_equals_oracle(warm, lines)
    kept = _kept_views(spark) - kept_before
    assert len(kept) == tables_kept, "agents and units are kept, and sales unless it was let go"
