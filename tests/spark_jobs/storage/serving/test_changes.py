"""What commits did together to each key: the last row of each, whatever way the rows of the feed come in."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.storage.serving.changes import ChangesUncertainError, FeedRow, RowChange, net_changes

STATES = st.lists(
    st.dictionaries(st.sampled_from("abc"), st.tuples(st.sampled_from("xy"), st.integers(0, 2))), min_size=2
)


@given(states=STATES, data=st.data())
def test_the_last_row_of_each_touched_key_is_what_counts(states, data):
    """The states of a mart by key: partition and value. A move to another partition is two rows of a commit."""
    commits = [f"commit {at}" for at in range(1, len(states))]
    rows: list[FeedRow] = []
    for commit, before, after in zip(commits, states[:-1], states[1:], strict=True):
        for key in {*before, *after}:
            old, new = before.get(key), after.get(key)
            if old and new and old[0] != new[0]:
                rows += [row(key, commit, was_there=True, values=None), row(key, commit, was_there=False, values=new)]
            elif old != new:
                rows.append(row(key, commit, was_there=old is not None, values=new))
    mixed = sorted(data.draw(st.permutations(rows)), key=lambda each: each.key)
    found = list(net_changes(mixed, commits))
    touched = {each.key for each in rows}
    assert [change.key for change in found] == sorted(touched)
    assert {c.key: (c.was_there, c.values) for c in found} == {
        key: (key in states[0], states[-1].get(key)) for key in touched
    }


def row(key: str, commit: str, *, was_there: bool, values: Sequence[object] | None) -> FeedRow:
    return FeedRow(key=key, commit=commit, was_there=was_there, values=values)


@pytest.mark.parametrize(
    "rows",
    [
        [row("a", "1", was_there=False, values=(1,)), row("a", "1", was_there=False, values=(2,))],
        [row("a", "1", was_there=False, values=(1,)), row("a", "2", was_there=False, values=(2,))],
        [row("a", "1", was_there=True, values=None), row("a", "2", was_there=True, values=(2,))],
        [row("a", "1", was_there=True, values=None), row("a", "1", was_there=True, values=None)],
    ],
    ids=["two rows of one key", "it came twice", "it changed and was not there", "it went twice"],
)
def test_rows_that_do_not_follow_from_each_other_are_not_certain(rows):
    with pytest.raises(ChangesUncertainError):
        list(net_changes(rows, ["1", "2"]))


def test_no_change_at_all():
    assert list(net_changes([], [])) == []
    only = [row("a", "1", was_there=True, values=(1,))]
    assert list(net_changes(only, ["1"])) == [RowChange(key="a", was_there=True, values=(1,))]
