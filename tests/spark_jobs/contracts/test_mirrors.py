"""Mirrors refuse nonsense: a table of orders with one entry changed."""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.mirrors import MirrorSpec
from spark_jobs.contracts.tables import ColumnSpec, ColumnType

TOTAL = ColumnSpec(name="total", source="Total", type=ColumnType.BIGINT)


def orders(**changes: Any) -> MirrorSpec:
    parts: dict[str, Any] = {"name": "orders", "database": "shop", "table": "Orders", "key": ("Id", "Line")}
    return MirrorSpec(**{**parts, "drop": ("Note",), "mask": ("Email",), "partition": "PaidAt", **changes})


def test_columns_may_be_left_out_masked_and_named():
    mirror = orders(columns=(TOTAL,))
    assert (mirror.origin, mirror.names, mirror.removes_rows) == ("shop.orders", {"Total": "total"}, True)


@pytest.mark.parametrize(
    ("change", "message", "at"),
    [
        ({"drop": ("Note", "Line")}, "'Line' is of the key, which has to stay; take it out", ("drop", 1)),
        ({"mask": ("Id",)}, "'Id' is of the key, which has to stay; take it out", ("mask", 0)),
        ({"drop": ("PaidAt",)}, "'PaidAt' is its partition column; partition otherwise", ("drop", 0)),
        ({"mask": ("Email", "PaidAt")}, "'PaidAt' is its partition column; partition otherwise", ("mask", 1)),
        ({"mask": ("Note",)}, "'Note' is to be dropped and masked; choose one", ("mask", 0)),
        ({"key": ("Id", "Id")}, "its key is no list of columns; give their names at the source, each once", ("key",)),
        ({"table": "two words"}, "table 'two words' is no name of a table; give its name at the source", ("table",)),
        ({"columns": (TOTAL, TOTAL)}, "column 'total' is taken; call it otherwise", ("columns", 1, "name")),
        ({"buckets": 0}, "buckets must be at least 1; give how many file groups it is to have", ("buckets",)),
    ],
)
def test_a_mirror_that_contradicts_itself(change: dict[str, Any], message: str, at: tuple[str | int, ...]):
    with pytest.raises(ContractError) as caught:
        orders(**change)
    assert (str(caught.value), caught.value.at) == (f"mirror orders: {message}", at)
