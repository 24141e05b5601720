"""A column and a table that are declared after the lake has data.

The source sends customers from the first event on. The first spec does not know them, which an alert says once; the
second one declares the columns, the table ``customers`` and ``sales.customer_id``. New events fill them at once, the
new table has everything from the beginning, and ``schema apply`` fills the old one from what was kept.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import Interval
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import NARROW, SpecLake, read_shipped_spec, write_spec

pytestmark = pytest.mark.hudi


TABLES = (*NARROW, "customers")


def _spec_without_customers(path: Path) -> Path:
    document = read_shipped_spec(TABLES)
    del document["marts"], document["expectations"]
    source = document["source"]
    source["columns"] = [column for column in source["columns"] if not column["name"].startswith("customer")]
    document["tables"] = [table for table in document["tables"] if table["name"] != "customers"]
    for table in document["tables"]:
        table["columns"] = [column for column in table["columns"] if not column.startswith("customer")]
    del document["people"]["customer"]
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    return path


def _sale(sale_id: int, agent_id: int, customer_id: int, position: int) -> bytes:
    customer = {"CustomerId": customer_id, "CustomerName": f"customer {customer_id}"}
    return line(sqlserver("c", {"SaleId": sale_id, "AgentId": agent_id, "AgentName": "Ann", **customer}, position))


def test_a_later_declaration_needs_no_code_and_loses_nothing(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = SpecLake(spark=spark, folder=tmp_path, spec=_spec_without_customers(tmp_path / "before.yaml"))
    after = SpecLake(spark=spark, folder=tmp_path, spec=write_spec(tmp_path, read_shipped_spec(TABLES)))
    before.land("1.jsonl", [_sale(1, 1, 100, 1), _sale(2, 1, 200, 2)])
    alerts = before.run("ingest").alerts
    assert [alert.split(" came, which")[0] for alert in alerts] == [
        "sales_log: column CustomerId (bigint)",
        "sales_log: column CustomerName (string)",
    ]
    before.run("split")
    before.run("schema", action="list")
    assert "CustomerName" in capsys.readouterr().out

    after.land("2.jsonl", [_sale(2, 2, 201, 3), _sale(3, 2, 300, 4)])
    assert after.run("ingest").alerts == ()
    after.run("split")

    sales = {row["sale_id"]: (row["agent_id"], row["customer_id"]) for row in after.rows_by_spark("sales")}
    assert sales == {1: (1, None), 2: (2, 201), 3: (2, 300)}
    assert {row["sale_id"] for row in after.rows("sales")} == {1, 2, 3}
    names = {row["customer_id"]: row["customer_name"] for row in after.rows("customers")}
    assert names == {number: f"customer {number}" for number in (100, 200, 201, 300)}

    planned = after.run("schema", action="plan")
    assert planned.counters == {"changes": 2}
    assert after.run("schema", action="apply", yes=True, by="ann").status == "done"
    customers = {row["sale_id"]: row["customer_id"] for row in after.rows("sales")}
    assert customers == {1: 100, 2: 201, 3: 300}, "the newest event of sale 2 is the second one"
    assert after.run("schema", action="apply", yes=True, by="ann").counters == {"changes": 0}

    instants = after.instants()
    history = Interval(start=datetime(2026, 1, 1, tzinfo=UTC), end=datetime(2026, 1, 2, tzinfo=UTC))
    after.run("split", interval=history)
    assert after.instants() == instants


def test_a_column_that_no_event_has_yet_is_null(spark: SparkSession, tmp_path: Path) -> None:
    """Neither the log nor the table has it when `split` and a backfill run with the new spec."""
    before = SpecLake(spark=spark, folder=tmp_path, spec=write_spec(tmp_path, read_shipped_spec(NARROW)))
    before.land("1.jsonl", [_sale(1, 1, 100, 1), _sale(2, 1, 200, 2)])
    before.run("ingest")
    before.run("split")

    document = read_shipped_spec(NARROW)
    document["source"]["columns"].append({"name": "discount", "source": "Discount", "type": "string"})
    (sales,) = (table for table in document["tables"] if table["name"] == "sales")
    sales["columns"].append("discount")
    spec = tmp_path / "after.yaml"
    spec.write_text(yaml.safe_dump(document), encoding="utf-8")
    after = SpecLake(spark=spark, folder=tmp_path, spec=spec)
    assert after.run("split").status == "nothing_to_do"
    history = Interval(start=datetime(2026, 1, 1, tzinfo=UTC), end=datetime(2026, 1, 2, tzinfo=UTC))
    after.run("split", interval=history)
    after.land("2.jsonl", [_sale(3, 2, 300, 3)])
    after.run("ingest")
    after.run("split")
    assert {row["sale_id"]: (row["agent_id"], row.get("discount")) for row in after.rows("sales")} == {
        1: (1, None),
        2: (1, None),
        3: (2, None),
    }
