"""The account of a batch: it balances when every record has one fate, and in no other case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import UnbalancedError
from spark_jobs.jobs.intake import check_balance

counts = st.dictionaries(
    st.sampled_from(["written", "quarantined", "duplicates", "marked"]), st.integers(0, 5), min_size=1
)


@given(counts, st.integers(-3, 3))
def test_it_balances_when_every_record_has_one_fate(fates: dict[str, int], more: int):
    read = sum(fates.values()) + more
    if not more:
        check_balance("log", {"read": read, **fates})
        return
    with pytest.raises(UnbalancedError, match=f"^log: {read:,} rows were read, and") as caught:
        check_balance("log", {"read": read, **fates})
    assert all(f"{count:,} {name}" in str(caught.value) for name, count in fates.items())


def test_what_was_counted_stays_as_it_was():
    rows = {"read": 3, "written": 3}
    check_balance("log", rows)
    assert rows == {"read": 3, "written": 3}
