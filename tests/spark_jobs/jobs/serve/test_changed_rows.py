"""From landing files to the store: of marts that are served already, a run writes the rows that changed.

``unit_totals`` counts the sales of each unit, ``sale_events`` has a row an event. The second batch moves a sale to
another unit, so that its unit has none any more, and brings a sale.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.faults.small_lakes import LAYER, SmallLake, Units, make_small_lake
from tests.support.envelopes import line, sqlserver

_APPEND = "layer: small\nmode: append\ngrain: [event_id]\nreads: [{table: sales_log}]\n"
_APPEND_SQL = "SELECT event_id, sale_id, unit_id FROM sales_log\n"


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> SmallLake:
    lake = make_small_lake(spark, tmp_path)
    (tmp_path / "marts/sale_events.yaml").write_text(_APPEND)
    (tmp_path / "marts/sale_events.sql").write_text(_APPEND_SQL)
    return lake


def take(lake: SmallLake, number: int, batch: Units) -> None:
    """A batch of sales with their units, into the marts."""
    rows = [{"SaleId": sale, "UnitId": unit} for sale, unit in batch.items()]
    lake.land(f"{number}.jsonl", [line(sqlserver("u", row, 10 + number)) for row in rows])
    lake.run("ingest")
    lake.split()
    lake.refresh()


def query(lake: SmallLake, sql: str) -> list[Any]:
    with closing(sqlite3.connect(lake.folder / "serving.db")) as database:
        return database.execute(sql).fetchall()


@pytest.mark.hudi
def test_rows_that_changed_are_written_and_those_that_went_are_deleted(lake: SmallLake):
    take(lake, 0, {1: 10, 2: 10, 3: 20, 4: 30})
    first = lake.run("serve", layer=[LAYER])
    assert (first.counters, first.messages) == ({"rows_written": 3 + 4, "rows_deleted": 0}, ())
    take(lake, 1, {3: 10, 5: 50})
    second = lake.run("serve", layer=[LAYER])
    assert (second.counters, second.messages) == ({"rows_written": 2 + 2, "rows_deleted": 1}, ())
    assert query(lake, "SELECT unit_id, sales FROM unit_totals ORDER BY 1") == [(10, 3), (30, 1), (50, 1)]
    events = query(lake, "SELECT sale_id, unit_id FROM sale_events ORDER BY 1, 2")
    assert events == [(1, 10), (2, 10), (3, 10), (3, 20), (4, 30), (5, 50)]
    kept = {path.parent.name for path in (lake.folder / "lake/.changes").glob("*/*")}
    assert kept >= {"unit_totals"}
    assert "sale_events" not in kept, "the rows of an append-only mart are pulled"
    again = lake.run("serve", layer=[LAYER])
    assert again.counters == {"rows_written": 0, "rows_deleted": 0}
