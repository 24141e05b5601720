"""Assets by layer: what a layer writes, what it reads, what starts it.

The lake: table `units`; layer `one` has `one_b`, which reads the log, `units` and its own `one_a`; layer `two` has a
stitch mart with its cache over `units`, and `two_c` over layer one's `one_b`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from airflow.sdk import Asset

from lakehouse_provider.assets import LakeAssets, table_of
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import MartMode, MartSpec, ReadSpec, TimeSpec, TimeUnit, WindowSpec
from spark_jobs.spec_files.spec_file import load_lake_spec


def mart(name: str, *reads: str, mode: MartMode = MartMode.FULL, **more: Any) -> MartSpec:
    layer = name.partition("_")[0]
    tables = tuple(ReadSpec(table=table) for table in reads)
    return MartSpec(name=name, layer=layer, mode=mode, reads=tables, grain=("unit_id",), sql="SELECT 1", **more)


@pytest.fixture(scope="module")
def assets() -> LakeAssets:
    spec = load_lake_spec(Settings().lake_spec)
    day = TimeSpec(column="day", unit=TimeUnit.DAY)
    marts = (
        mart("one_b", "one_a", "units", "sales_log"),
        mart("one_a", "units"),
        mart("two_answer", "two_cache", mode=MartMode.STITCH, window=WindowSpec(length=1, unit=TimeUnit.YEAR)),
        mart("two_cache", "units", mode=MartMode.AGGREGATE, time=day),
        mart("two_c", "one_b"),
    )
    return LakeAssets(replace(spec, tables=(spec.table("units"),), marts=marts, expectations=()))


def names(assets: list[Asset]) -> list[str]:
    return [table_of(asset) for asset in assets]


def test_a_layer_writes_its_marts_and_their_caches(assets: LakeAssets) -> None:
    assert names(assets.layer("one")) == ["one_a", "one_b"]
    assert set(names(assets.layer("two"))) == {"two_cache", "two_answer", "two_c"}
    assert set(names(assets.marts)) == {"one_a", "one_b", "two_cache", "two_answer", "two_c"}


def test_a_layer_reads_what_others_write(assets: LakeAssets) -> None:
    assert names(assets.layer_sources("one")) == ["sales_log", "units"]
    assert names(assets.layer_sources("two")) == ["units", "one_b"]


def test_a_layer_that_reads_versions_follows_their_history() -> None:
    spec = load_lake_spec(Settings().lake_spec)
    units = replace(spec.table("units"), history=True)
    of_versions = LakeAssets(replace(spec, tables=(units,), marts=(mart("one_a", "units_versions"),), expectations=()))
    assert names(of_versions.layer_triggers("one")) == ["units_history", "sales_log/split"]


def test_a_layer_is_started_by_the_split_log_not_by_the_log(assets: LakeAssets) -> None:
    assert names(assets.layer_triggers("one")) == ["units", "sales_log/split"]
    assert names(assets.layer_triggers("two")) == ["units", "one_b", "sales_log/split"]


def test_a_layer_that_the_lake_does_not_have_is_empty(assets: LakeAssets) -> None:
    assert (assets.layer("three"), assets.layer_sources("three")) == ([], [])
    assert names(assets.layer_triggers("three")) == ["sales_log/split"]


def test_the_layers_of_the_sales_lake() -> None:
    sales = LakeAssets(load_lake_spec(Settings().lake_spec))
    assert set(names(sales.layer("stitch"))) == {"stitch_agent_days", "stitch_agent_contracts"}
    assert names(sales.layer_sources("fast")) == ["sales_log", "units", "sales"]
