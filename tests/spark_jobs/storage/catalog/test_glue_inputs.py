"""Whatever an entry of Glue says otherwise is noticed, leaf by leaf; what others added to it is not, and stays."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from spark_jobs.contracts.catalogs import CatalogColumn, CatalogTable
from spark_jobs.contracts.instants import Instant
from spark_jobs.storage.catalog.glue_inputs import differences, partition_differs, partition_input, table_input

COLUMNS = tuple(
    CatalogColumn(name=name, type=kind, comment=f"of {name}") for name, kind in (("a", "int"), ("b", "int"))
)
TABLE = CatalogTable(
    name="log",
    description="what it is",
    location="s3://lake/log",
    columns=COLUMNS,
    partition_keys=(CatalogColumn(name="day", type="string", comment=""),),
    input_format="some.Format",
    instant=Instant("20260102030405678"),
    is_read_optimized=False,
    parameters={"lakehouse.lake": "sales", "lakehouse.held": "no"},
)
WANTED = table_input(TABLE, synced=TABLE.instant)
PARTITION = partition_input(TABLE, "2026-01-01", "day=2026-01-01")


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every text in it."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if isinstance(value, str):
        yield path
    for name, child in children:
        yield from leaves(child, (*path, name))


def changed(value: Any, path: tuple[Any, ...], text: str) -> Any:
    found = copy.deepcopy(value)
    place = found
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = text
    return found


NOTICED = [path for path in leaves(WANTED) if path[0] not in ("Name", "TableType", "PartitionKeys")]
"""The name finds the entry; other partition columns are another matter, since they need a new entry."""


@pytest.mark.parametrize("path", NOTICED, ids=lambda path: ".".join(map(str, path)))
def test_every_text_that_is_otherwise_is_noticed(path: tuple[Any, ...]):
    assert list(differences(WANTED, changed(WANTED, path, "other")))


def test_what_is_the_same_is_no_difference():
    assert len(NOTICED) > 12
    assert list(differences(WANTED, copy.deepcopy(WANTED))) == []
    assert not partition_differs(PARTITION, copy.deepcopy(PARTITION))


def test_columns_in_another_order_or_too_many_or_too_few_are_noticed():
    columns = WANTED["StorageDescriptor"]["Columns"]
    for other in (columns[::-1], columns[:1], [*columns, {"Name": "c", "Type": "int"}], []):
        found = {**WANTED, "StorageDescriptor": {**WANTED["StorageDescriptor"], "Columns": other}}
        assert list(differences(WANTED, found))
        there = {**PARTITION, "StorageDescriptor": {**PARTITION["StorageDescriptor"], "Columns": other}}
        assert partition_differs(PARTITION, there)


def test_parameters_of_others_stay_and_are_no_difference():
    found = {**WANTED, "Parameters": {**WANTED["Parameters"], "classification": "parquet", "recordCount": "7"}}
    assert list(differences(WANTED, found)) == []
    made = table_input(TABLE, synced="later", found=found)
    assert made["Parameters"].items() >= {"classification": "parquet", "recordCount": "7"}.items()
    assert made["Parameters"].items() >= TABLE.parameters.items()
