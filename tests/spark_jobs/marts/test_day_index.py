"""The days of a key are those on which the log has events of it, after every delivery; if in doubt all are read."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import ReadSpec
from spark_jobs.lake_spec.undeclared_columns import UNDECLARED_KEY, KeptColumn, pack_kept
from spark_jobs.marts import day_index
from spark_jobs.marts.day_index import days_of, indexed_columns
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.layouts import log_layout
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline
from tests.support.contexts import context_of
from tests.support.envelopes import line, sqlserver
from tests.support.lakes import Lake
from tests.support.made_tables import MadeTable, at
from tests.support.mart_lakes import make_mart_lake

SALES, DAYS, ROUNDS = range(1, 9), range(12), 3
SPEC = load_lake_spec(Settings().lake_spec)
READ = ReadSpec(table="sales_log", scope="sale_id")
NOVEMBER_MS, DAY_MS = 1_762_000_000_000, 24 * 60 * 60 * 1000


def _deliver(lake: Lake, rng: random.Random, number: int) -> None:
    """Events of some sales, deletes among them, and one without a sale; late ones in every round but the first."""
    lines = []
    for position in range(number * 20 + 1, number * 20 + 15):
        sale = {"SaleId": rng.choice(SALES), "StatusId": 1}
        lines.append(line(sqlserver(rng.choice("ccud"), sale, position, ts_ms=NOVEMBER_MS + rng.choice(DAYS) * DAY_MS)))
    lines.append(line(sqlserver("c", {"StatusId": 2}, number * 20 + 19, ts_ms=NOVEMBER_MS + 40 * DAY_MS)))
    lake.land(f"{number}.jsonl", lines)
    lake.run("ingest")


def _days_of(lake: Lake, *sales: int) -> Any:
    spec = read_lake_spec(lake.settings)
    context = context_of("mart", lake.settings, spec=spec, spark=lake.spark, layer="slow")
    up_to = Timeline(table="sales_log", path=lake.path("sales_log")).readable_up_to
    values_df = lake.spark.createDataFrame([(sale,) for sale in sales], "sale bigint")
    return days_of(context, READ, up_to, values_df)


@pytest.mark.hudi
def test_days_are_those_of_the_log_after_every_delivery(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(day_index, "LEAST_DAYS", 1)
    lake, rng = make_mart_lake(spark, tmp_path, layers=("fast", "slow")), random.Random(7)
    for number in range(ROUNDS):
        _deliver(lake, rng, number)
        rows = lake.rows("sales_log")
        for chosen in ([1], [2, 5, 99], [99]):
            wanted = sorted({row["event_date"] for row in rows if row["sale_id"] in chosen})
            assert _days_of(lake, *chosen) == wanted, number
    before = [_days_of(lake, sale) for sale in SALES]
    assert len(set(map(tuple, before))) > 2
    root = tmp_path / "lake" / ".row_index" / "sales.days.sale_id"
    assert len([*root.glob("*/")]) == ROUNDS
    lake.run("services", action="run", service="index", all=True)
    assert len([*root.glob("*/")]) == 1
    assert [_days_of(lake, sale) for sale in SALES] == before


@pytest.mark.parametrize(
    ("read", "what"),
    [
        (READ, {"days": 1}),
        (READ, {"pending": 4}),
        (READ, {"kept": "SaleId"}),
        (ReadSpec(table="sales_log", scope="coalesce(sale_id, 0)"), {}),
        (ReadSpec(table="sales_log", scope="contract_signing_date"), {}),
        (ReadSpec(table="sales_log", scope="event_id"), {}),
        (ReadSpec(table="sales", scope="sale_id"), {}),
    ],
    ids=["few days", "a write is not finished", "declared later", "an expression", "a time", "not declared", "no log"],
)
def test_when_it_is_not_certain_all_days_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: ReadSpec, what: dict[str, Any]
) -> None:
    settings = Settings(base_path=str(tmp_path))
    made = MadeTable(log_layout(SPEC), tmp_path / "sales_log")
    known = {what["kept"]: KeptColumn(types=("int",), order="", place="", at="")} if "kept" in what else {}
    made.commits(1, 3, action="commit", extraMetadata={METADATA_PREFIX + UNDECLARED_KEY: pack_kept(known)})
    for number in range(what.get("days", day_index.LEAST_DAYS + 1)):
        (tmp_path / "sales_log" / f"event_date={number}").mkdir()
    if "pending" in what:
        made.pending(what["pending"], "commit")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the index was opened")

    monkeypatch.setattr(day_index, "day_index", refuse)
    nothing: Any = None
    assert days_of(context_of("mart", settings, spec=SPEC, layer="slow"), read, at(3), nothing) is None


def test_an_index_that_is_behind_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when a commit ended after the index was brought up to date."""
    settings = Settings(base_path=str(tmp_path))
    made = MadeTable(log_layout(SPEC), tmp_path / "sales_log")
    made.commits(1, 3, action="commit")
    for number in range(day_index.LEAST_DAYS):
        (tmp_path / "sales_log" / f"event_date={number}").mkdir()

    class Behind:
        def catch_up(self, *_: object) -> None:
            """Nothing new was found."""

        def instant_of(self, _: str) -> Instant:
            return at(1)

    monkeypatch.setattr(day_index, "day_index", lambda *_: Behind())
    values: Any = SimpleNamespace(sparkSession=None)
    assert days_of(context_of("mart", settings, spec=SPEC, layer="slow"), READ, at(3), values) is None


def test_columns_by_which_marts_read_the_log() -> None:
    assert indexed_columns(SPEC) == {"sale_id"}
    assert indexed_columns(replace(SPEC, marts=())) == set()
