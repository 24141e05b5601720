"""Files that are read once more: a plan first; what the log has stays, what it lacks is added, twice is once.

The source sends customers from the first event on. At first the lake spec drops what it does not declare, as releases
before kept nothing of it; later it keeps it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import ContractError
from tests.support.envelopes import SQLSERVER_TOPIC, line, sqlserver
from tests.support.lakes import NARROW, SpecLake, read_shipped_spec

pytestmark = pytest.mark.hudi


def _lake(spark: SparkSession, folder: Path, name: str, *, drop: list[str]) -> SpecLake:
    document = read_shipped_spec(NARROW)
    del document["marts"], document["expectations"], document["people"]["agent"]
    document["source"]["columns"] = [each for each in document["source"]["columns"] if "customer" not in each["name"]]
    document["source"]["drop"] = drop
    document["tables"] = [
        {**table, "columns": [column for column in table["columns"] if "customer" not in column]}
        for table in document["tables"]
    ]
    document["people"] = {}
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return SpecLake(spark=spark, folder=folder, spec=path)


def _sale(number: int, **more: Any) -> bytes:
    return line(sqlserver("c", {"SaleId": number, "UnitId": 1, **more}, number))


def test_what_the_log_lacks_is_added_once(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    before, now = (_lake(spark, tmp_path, name, drop=drop) for name, drop in (("old", ["*"]), ("new", [])))
    before.land("1.jsonl", [_sale(1, CustomerId=100), _sale(2)])
    before.run("ingest")
    before.run("split")
    instants = now.instants()
    planned = now.run("ingest", again=SQLSERVER_TOPIC)
    assert (planned.status, planned.counters) == ("nothing_to_do", {"planned": 1})
    assert f"{SQLSERVER_TOPIC}/1.jsonl" in capsys.readouterr().out
    assert now.instants() == instants

    done = now.run("ingest", again=SQLSERVER_TOPIC, yes=True)
    assert done.counters["events_new"] == 0
    assert done.counters["events_supplemented"] == 1
    assert [alert.split(" came, which")[0] for alert in done.alerts] == ["sales_log: column CustomerId (bigint)"]
    rows = {row["sale_id"]: row["row_values"] for row in now.rows_by_spark("sales_log")}
    assert rows == {1: {"CustomerId": "100"}, 2: None}
    instants = now.instants()
    again = now.run("ingest", again=f"{SQLSERVER_TOPIC}/1.jsonl", yes=True)
    assert (again.status, again.counters["events_supplemented"], again.alerts) == ("nothing_to_do", 0, ())
    assert now.instants() == instants
    assert now.run("ingest").status == "nothing_to_do", "the ledger did not move"
    with pytest.raises(ContractError, match="there is no such file"):
        now.run("ingest", again=f"{SQLSERVER_TOPIC}/2.jsonl", yes=True)
