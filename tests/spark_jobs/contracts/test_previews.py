"""What a preview found of a column travels in a job's result, and loses no digit there."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.previews import PREVIEW_HEADER, ColumnPreview

NUMBERS = st.none() | st.integers(-(10**20), 10**20) | st.decimals(-(10**12), 10**12, places=4)
TYPES = st.none() | st.sampled_from(["bigint", "decimal(38,4)"])
COLUMNS = st.builds(
    ColumnPreview,
    name=st.sampled_from(["total", "a_b", "\u0436"]),
    type_now=TYPES,
    type_then=TYPES,
    sum_now=NUMBERS,
    sum_then=NUMBERS,
    changed=st.integers(min_value=0),
    percent=st.none() | st.decimals(0, 100, places=2),
)


@settings(max_examples=25)
@given(COLUMNS)
def test_it_comes_back_as_it_was(column: ColumnPreview) -> None:
    found = ColumnPreview.from_facts(json.loads(json.dumps(column.facts())))
    assert found == column
    assert list(map(str, found.cells())) == list(map(str, column.cells()))
    assert len(column.cells()) == len(PREVIEW_HEADER)
