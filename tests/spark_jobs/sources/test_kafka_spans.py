"""Spans that a task reads together: each message is one of its own span, whatever comes, late or from elsewhere."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.sources import kafka_spans
from spark_jobs.sources.kafka_plan import Span
from spark_jobs.sources.kafka_spans import SpansLeft, share_out

PARTITIONS = [("a", 0), ("a", 1), ("b", 0)]


def span(topic: str, partition: int, start: int, end: int) -> Span:
    return Span(topic=topic, partition=partition, start=start, end=end)


@st.composite
def some_spans(draw: st.DrawFn) -> list[Span]:
    """Partition by partition, each cut at some offsets."""
    cuts = {place: sorted(draw(st.sets(st.integers(0, 60), max_size=4))) for place in PARTITIONS}
    return [span(*place, *bounds) for place, of in cuts.items() for bounds in pairwise(of)]


@given(some_spans(), st.integers(1, 90))
def test_every_span_is_read_by_one_task_and_no_partition_twice_by_one(spans, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kafka_spans, "TASK_OFFSETS", most)
        tasks = share_out(spans)
    assert [each for task in tasks for each in task] == spans
    for task in tasks:
        assert len({each.place for each in task}) == len(task)
        assert len(task) == 1 or sum(each.end - each.start for each in task) <= most


def test_small_spans_are_a_task_together_and_large_ones_by_themselves():
    many = [span(f"t{number}", 0, 0, 40) for number in range(800)]
    assert len(share_out(many)) == 7  # 125 spans each; it was a task for each of them
    assert [len(task) for task in share_out([span("a", 0, 0, 50_000), span("a", 0, 50_000, 50_010)])] == [1, 1]
    assert share_out([]) == []


ANSWERS = st.lists(st.tuples(st.sampled_from([*PARTITIONS, ("c", 0)]), st.integers(0, 9), st.booleans()), max_size=40)
"""Where a message or an end is said to be, in any order: what a client never gives is among it."""


@given(st.fixed_dictionaries(dict.fromkeys(PARTITIONS, st.integers(3, 7))), ANSWERS)
def test_messages_are_those_of_the_spans_and_each_once(ends, answers):
    """Partitions answer in any order, with gaps, with what is behind a span, and with what was given before."""
    spans = {(topic, partition): span(topic, partition, 2, end) for (topic, partition), end in ends.items()}
    left, reached = SpansLeft([*spans.values()]), dict.fromkeys(PARTITIONS, 2)
    for place, at, is_message in answers:
        is_wanted = is_message and place in ends and reached[place] <= at < ends[place]
        (topic, partition), wanted = place, spans[place] if is_wanted else None
        assert left.take(topic, partition, at, is_message=is_message) == wanted
        if place in ends:
            reached[place] = max(reached[place], min(at + is_message, ends[place]))
    assert left.offsets == sum(ends[place] - reached[place] for place in PARTITIONS)
    assert [left.is_done(*place) for place in PARTITIONS] == [reached[place] == ends[place] for place in PARTITIONS]


def test_the_end_of_a_partition_passes_offsets_without_a_message_and_ends_no_span_early():
    left = SpansLeft([span("a", 0, 0, 5)])
    assert left.take("a", 0, 3, is_message=False) is None
    assert (left.offsets, left.place_of("a", 0)) == (2, ("kafka:a/0", 3))
    assert left.take("a", 0, 5, is_message=False) is None
    assert left.offsets == 0


def test_a_span_may_end_with_its_first_message():
    left = SpansLeft([span("a", 0, 0, 5), span("b", 0, 0, 5)], most=1)
    assert left.take("a", 0, 3, is_message=True) == span("a", 0, 0, 5)
    assert left.take("a", 0, 4, is_message=True) is None
    assert (left.offsets, left.is_done("a", 0), left.is_done("b", 0), left.is_done("c", 0)) == (5, True, False, False)


def test_an_error_of_no_partition_is_one_of_the_first_that_is_left():
    left = SpansLeft([span("a", 0, 0, 5), span("b", 0, 7, 9)])
    left.take("a", 0, 4, is_message=True)
    assert left.place_of(None, None) == ("kafka:b/0", 7)
