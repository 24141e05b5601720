"""Spans in which values of versions are others than before: from the first such moment to the last.

Each key is a case of its own: events of it, of which some come late. Times are small whole numbers.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable

import pytest
from pyspark.sql import SparkSession

from spark_jobs.marts.versions import FROM, KEY, TO, changed_spans
from tests.support.oracle_versions import RowChange, Version, versions_of

pytestmark = pytest.mark.spark

KEYS, MOMENTS = range(40), range(14)
SCHEMA = "id bigint, a string, valid_from bigint, valid_to bigint"
Span = tuple[int, int | None]


def spans_of(spark: SparkSession, before: Iterable[Version], after: Iterable[Version]) -> dict[int, Span]:
    then, now = Counter(before), Counter(after)
    came_df, left_df = (
        spark.createDataFrame(sorted(side.elements(), key=repr), SCHEMA) for side in (now - then, then - now)
    )
    return {row[KEY]: (row[FROM], row[TO]) for row in changed_spans(came_df, left_df, "id", ["a"]).collect()}


def values_at(versions: Iterable[Version], moment: int) -> dict[int, str]:
    return {key: a for key, a, begin, end in versions if begin <= moment and (end is None or moment < end)}


def random_events(rng: random.Random, key: int) -> list[RowChange]:
    return [
        RowChange(
            key=(key,),
            order=order,
            time=max(0, order + rng.choice((0, 0, -3))),
            is_delete=rng.random() < 0.2,
            values={"a": rng.choice("xy")},
        )
        for order in rng.sample(MOMENTS, rng.randint(1, 7))
    ]


def test_a_span_is_from_the_first_moment_with_another_value_to_the_last(spark):
    rng = random.Random("spans")
    events = [event for key in KEYS for event in random_events(rng, key)]
    late = [event for event in events if rng.random() < 0.25]
    before, after = (versions_of(each, ("a",)) for each in ([e for e in events if e not in late], events))
    differing = defaultdict[int, list[int]](list)
    for moment in MOMENTS:
        then, now = values_at(before, moment), values_at(after, moment)
        for key in {key for key in {*then, *now} if then.get(key) != now.get(key)}:
            differing[key].append(moment)
    expected = {key: (found[0], found[-1] + 1) for key, found in differing.items()}
    spans = spans_of(spark, before, after)
    assert {key: (begin, len(MOMENTS) if end is None else end) for key, (begin, end) in spans.items()} == expected
    assert 0 < len(spans) < len(KEYS)


@pytest.mark.parametrize(
    ("after", "span"),
    [
        ([(1, "x", 0, 5), (1, "y", 5, 9), (1, "z", 9, None)], (9, None)),
        ([(1, "x", 0, 3), (1, "z", 3, 5), (1, "y", 5, None)], (3, 5)),
        ([(1, "x", 0, 7), (1, "y", 7, None)], (5, 7)),
        ([(1, "x", 0, 5), (1, "z", 5, 5), (1, "y", 5, None)], None),
        ([(1, "x", 2, 5), (1, "y", 5, None)], (0, 2)),
        ([(1, "x", 0, 3), (1, "x", 3, 5), (1, "y", 5, None)], None),
        ([], (0, None)),
    ],
    ids=["newest", "in the midst", "an end moves", "of no duration", "a begin moves", "two alike", "all go"],
)
def test_what_stays_as_it_was_is_outside(spark, after, span):
    before = [(1, "x", 0, 5), (1, "y", 5, None)]
    assert spans_of(spark, before, after) == ({1: span} if span else {})
