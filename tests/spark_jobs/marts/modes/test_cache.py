"""Of the cache of a stitch mart a refresh reads the partitions that are touched, and no others."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.marts.modes import aggregate
from spark_jobs.storage import snapshots
from spark_jobs.storage.commit_files import NamedFiles
from spark_jobs.storage.file_scans import read_named_files
from tests.support.envelopes import line, sqlserver
from tests.support.mart_checks import assert_stitch_is_right
from tests.support.mart_lakes import cells, make_mart_lake

pytestmark = pytest.mark.hudi

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def deals(days_ago: Collection[int], first: int) -> list[bytes]:
    """A sale of agent 5 for 1.0000, signed so many days ago, for each."""
    found = []
    for number, days in enumerate(days_ago, first):
        row = {"SaleId": number, "StatusId": 8, "AgentId": 5, "ContractSubtotal": "1.0000"}
        signed = int((NOON - days * DAY).timestamp() * 1000)
        found.append(line(sqlserver("u", {**row, "ContractSigningDate": signed}, number)))
    return found


def test_cells_in_partitions_that_are_not_touched_are_not_read(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Touched by the window, and by what is new when the cut moves."""
    lake, read = make_mart_lake(spark, tmp_path, layers=("stitch",)), list[str]()

    def scan(spark: SparkSession, path: str, files: NamedFiles) -> DataFrame:
        read.extend(f"{Path(path).name}/{Path(file).parent}" for file in files.paths)
        return read_named_files(spark, path, files)

    monkeypatch.setattr(snapshots, "read_named_files", scan)
    monkeypatch.setattr(aggregate, "LEAST_FOLDERS", 1)
    # The window begins 364 days ago, in a month in which it has other days too; others are before it, and after it.
    of_window = {"2025-03", "2026-01", "2026-03"}
    for number, (days, moves, expected) in enumerate(
        [
            ((1, 40, 364, 366, 400, 800, -40), False, set[str]()),
            ((1, 800), False, of_window),
            ((), True, {*of_window, "2023-12"}),
        ]
    ):
        if days:
            lake.land(f"{number}.jsonl", deals(days, 1 + 10 * number))
            lake.run("ingest")
            lake.run("split")
        read.clear()
        assert lake.run("mart", clock=NOON, layer="stitch", move_cut=moves).status == "done"
        assert_stitch_is_right(lake, NOON, "UTC")
        months = {name.partition("month=")[2] for name in read if name.startswith("stitch_agent_days")}
        assert months == expected or not number
    totals = cells(lake, "stitch_agent_contracts", "agent_id")
    assert {agent: row["contract_total"] for agent, row in totals.items()} == {5: Decimal("4.0000")}
