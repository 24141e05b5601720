"""Packing keyed rows and unpacking them gives the same rows, whatever their texts hold."""

from __future__ import annotations

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from spark_jobs.transforms.keyed_rows import SLOT_TYPE
from spark_jobs.transforms.packed import pack_rows, unpack_rows

pytestmark = pytest.mark.spark

SLOTS = ("slot_0", "slot_1", "slot_2")
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ORDER = st.sampled_from(["", "1", "2", "10", "0a-0b-1"])
SLOT = st.none() | st.tuples(ORDER, TEXT)
ROW = st.tuples(st.sampled_from(["units", "sales"]), TEXT, st.none() | ORDER, st.none() | ORDER, SLOT, SLOT, SLOT)


@settings(max_examples=10, phases=[Phase.generate], deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=80))
def test_unpacked_is_what_was_packed(spark, rows):
    slots = ", ".join(f"{slot} {SLOT_TYPE}" for slot in SLOTS)
    rows_df = spark.createDataFrame(rows, f"table string, key string, row_order string, deleted_order string, {slots}")
    unpacked = unpack_rows(pack_rows(rows_df), SLOTS).collect()
    assert [tuple(tuple(v) if isinstance(v, tuple) else v for v in row) for row in unpacked] == rows


def test_rows_packed_before_a_slot_was_known_have_nothing_there(spark):
    rows_df = spark.createDataFrame(
        [("units", "7", None, None, ("1", "a"))],
        f"table string, key string, row_order string, deleted_order string, slot_0 {SLOT_TYPE}",
    )
    (row,) = unpack_rows(pack_rows(rows_df), SLOTS).collect()
    assert (tuple(row["slot_0"]), row["slot_1"], row["slot_2"]) == (("1", "a"), None, None)
