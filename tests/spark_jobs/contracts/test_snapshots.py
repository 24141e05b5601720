"""How far snapshots have come, as commits keep it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.snapshots import Snapshot, pack_snapshots, unpack_snapshots

snapshots = st.builds(
    Snapshot,
    source=st.dictionaries(st.sampled_from(["connector", "lsn", "file"]), st.none() | st.integers() | st.text()),
    column=st.text(),
    kind=st.sampled_from(["integer", "date"]),
    **dict.fromkeys(("low", "high", "parts", "done", "expected", "read"), st.integers()),
)


@given(st.dictionaries(st.text(), snapshots, max_size=4))
def test_progress_is_read_as_it_was_written(known):
    assert unpack_snapshots(pack_snapshots(known)) == known
    assert unpack_snapshots(None) == {}
