"""Lines between boxes: they begin and end at the boxes' sides, whichever way they go."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.lake_docs.curves import curve, cut

PLACES = st.tuples(st.integers(0, 2000), st.integers(0, 2000))


@given(start=PLACES, end=PLACES, width=st.integers(1, 300), bend=st.integers(1, 60))
def test_a_line_goes_from_side_to_side(start: tuple[int, int], end: tuple[int, int], width: int, bend: int):
    numbers = [int(each) for each in re.findall(r"-?\d+", curve(start, end, width=width, bend=bend))]
    is_around = end[0] <= start[0]
    assert numbers[:2] == [*start]
    assert numbers[-2:] == [end[0] + width * is_around, end[1]]
    assert numbers[2] == start[0] + bend
    assert numbers[4] - numbers[-2] == (bend if is_around else -bend)


@given(text=st.text(max_size=40), most=st.integers(1, 40))
def test_a_label_fits(text: str, most: int):
    assert len(cut(text, most)) <= most
    assert cut(text, len(text)) == text
