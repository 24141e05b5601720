"""What is read of Kafka's topics: whatever a cluster does between reads, nothing is missed in silence, nothing twice.

The oracle is a cluster of lists: partition p of a topic holds numbers, the first of which may be gone.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from spark_jobs.contracts.kafka import Start, TopicProgress, pack_progress, unpack_progress
from spark_jobs.sources import kafka_plan
from spark_jobs.sources.kafka_plan import (
    SPAN_OFFSETS,
    Bounds,
    Span,
    TopicState,
    first_offsets,
    place_of,
    plan_kafka,
    share,
)

EARLIEST = Start.parse("earliest")


@dataclass
class ListCluster:
    """Topics by name: their id, and of each partition where it begins and how many messages it ever had."""

    ids: dict[str, int] = field(default_factory=dict)
    begins: dict[str, list[int]] = field(default_factory=dict)
    ends: dict[str, list[int]] = field(default_factory=dict)
    made: int = 0

    def make(self, topic: str) -> None:
        self.made += 1
        self.ids[topic], self.begins[topic], self.ends[topic] = self.made, [0], [0]

    def drop(self, topic: str) -> None:
        for facts in (self.ids, self.begins, self.ends):
            del facts[topic]

    def states(self) -> dict[str, TopicState]:
        return {
            topic: TopicState(
                topic_id=str(self.ids[topic]),
                partitions={
                    number: Bounds(earliest=begin, latest=end, start=begin)
                    for number, (begin, end) in enumerate(zip(self.begins[topic], self.ends[topic], strict=True))
                },
            )
            for topic in self.ids
        }

    def messages(self) -> set[tuple[str, int, int, int]]:
        """Every message that is there: topic, its id, partition, offset."""
        return {
            (topic, self.ids[topic], number, offset)
            for topic in self.ids
            for number, (begin, end) in enumerate(zip(self.begins[topic], self.ends[topic], strict=True))
            for offset in range(begin, end)
        }


class ReadingMachine(RuleBasedStateMachine):
    """A cluster to which anything happens between reads; ``owed`` are messages that must not be skipped in silence."""

    topics, partitions, counts = st.sampled_from(["a", "b"]), st.integers(0, 2), st.integers(1, 9)

    def __init__(self) -> None:
        super().__init__()
        self.cluster = ListCluster()
        self.progress: dict[str, TopicProgress] = {}
        self.read: Counter[tuple[str, int, int, int]] = Counter()
        self.owed: set[tuple[str, int, int, int]] = set()

    @rule(topic=topics)
    def recreate(self, topic: str) -> None:
        self.cluster.make(topic)

    @rule(topic=topics)
    def drop(self, topic: str) -> None:
        if topic in self.cluster.ids:
            self.cluster.drop(topic)

    @rule(topic=topics, partition=partitions, count=counts)
    def append(self, topic: str, partition: int, count: int) -> None:
        if topic in self.cluster.ids:
            ends = self.cluster.ends[topic]
            ends[partition % len(ends)] += count
            if topic in self.progress:
                self.owed |= {message for message in self.cluster.messages() if message[0] == topic}

    @rule(topic=topics, partition=partitions, count=counts)
    def retain(self, topic: str, partition: int, count: int) -> None:
        if topic in self.cluster.ids:
            begins, ends = self.cluster.begins[topic], self.cluster.ends[topic]
            number = partition % len(ends)
            begins[number] = min(begins[number] + count, ends[number])

    @rule(topic=topics)
    def widen(self, topic: str) -> None:
        if topic in self.cluster.ids:
            self.cluster.begins[topic].append(0)
            self.cluster.ends[topic].append(0)

    @rule(most=st.integers(1, 7))
    def look(self, most: int) -> None:
        self._read(most)

    def _read(self, most: int) -> bool:
        """Read once, or accept what is lost; True when something waits."""
        states = self.cluster.states()
        plan = plan_kafka(states, self.progress, start=EARLIEST, max_records=most)
        gone = self.owed - self.cluster.messages() - set(self.read)
        lost = {loss.topic for loss in plan.losses}
        assert {message[0] for message in gone} <= lost
        if lost:
            assert (plan.spans, dict(plan.progress)) == ((), self.progress)
            self.owed -= gone
            plan = plan_kafka(states, self.progress, start=EARLIEST, max_records=most, accepted=lost)
            assert len(plan.messages) == len(lost)
        self.owed |= self.cluster.messages()
        for span in plan.spans:
            for offset in range(span.start, span.end):
                self.read[span.topic, self.cluster.ids[span.topic], span.partition, offset] += 1
        assert sum(span.end - span.start for span in plan.spans) <= most
        assert plan.is_news == (dict(plan.progress) != self.progress)
        self.progress = unpack_progress(pack_progress(plan.progress))
        return plan.has_more

    def teardown(self) -> None:
        while self._read(5):
            pass
        assert self.cluster.messages() <= set(self.read)
        assert set(self.read.values()) <= {1}


TestReading = ReadingMachine.TestCase


@given(
    st.dictionaries(st.tuples(st.sampled_from("abcd"), st.integers(0, 3)), st.integers(0, 50), max_size=8),
    st.integers(0, 120),
)
def test_everybody_gets_a_fair_share(waiting, most):
    taken = share(waiting, most)
    assert taken.keys() == waiting.keys()
    assert all(0 <= taken[key] <= waiting[key] for key in waiting)
    assert sum(taken.values()) == min(most, sum(waiting.values()))
    held_back = [taken[key] for key in waiting if taken[key] < waiting[key]]
    # A partition that has to wait got as much as any other, to the one offset that does not divide.
    assert all(taken[key] <= min(held_back, default=0) + 1 for key in waiting) or not held_back


def test_a_long_partition_is_read_side_by_side():
    bounds = Bounds(earliest=5, latest=5 + 2 * SPAN_OFFSETS + 1, start=5)
    plan = plan_kafka({"t": TopicState(topic_id="1", partitions={0: bounds})}, {}, start=EARLIEST, max_records=10**9)
    ends = [5, 5 + SPAN_OFFSETS, 5 + 2 * SPAN_OFFSETS, bounds.latest]
    assert [(span.start, span.end) for span in plan.spans] == list(pairwise(ends))
    assert plan.spans[0].place == place_of("t", 0) == "kafka:t/0"


@given(st.dictionaries(st.integers(0, 2), st.tuples(st.integers(0, 9), st.integers(0, 9))), st.integers(1, 30))
def test_spans_hold_every_offset_once_whatever_their_length(partitions, most):
    """Partitions begin anywhere and end anywhere, at multiples of a span's length and beside them."""
    state = TopicState(
        topic_id="1",
        partitions={
            n: Bounds(earliest=first, latest=first + more, start=first) for n, (first, more) in partitions.items()
        },
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kafka_plan, "SPAN_OFFSETS", 3)
        plan = plan_kafka({"t": state, "u": state}, {}, start=EARLIEST, max_records=most)
    assert all(0 < span.end - span.start <= 3 for span in plan.spans)
    read = Counter((span.topic, span.partition, at) for span in plan.spans for at in range(span.start, span.end))
    wanted = {
        (topic, number, at)
        for topic, progress in plan.progress.items()
        for number, end in progress.next.items()
        for at in range(partitions[number][0], end)
    }
    assert read == Counter(wanted)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("earliest", {0: 3, 1: 0}),
        ("latest", {0: 9, 1: 4}),
        ('{"t": {"1": 2}}', {0: 3, 1: 2}),
        ('{"other": {"0": 2}}', {0: 3, 1: 0}),
    ],
)
def test_where_a_topic_begins_that_was_never_read(text, wanted):
    assert first_offsets(Start.parse(text), "t", {0: 3, 1: 0}, {0: 9, 1: 4}) == wanted


def test_an_offset_that_is_not_there_begins_with_what_is():
    state = TopicState(
        topic_id="1",
        partitions={0: Bounds(earliest=3, latest=9, start=1), 1: Bounds(earliest=0, latest=4, start=70)},
    )
    plan = plan_kafka({"t": state}, {}, start=Start.parse('{"t": {"0": 1, "1": 70}}'), max_records=100)
    assert [(span.partition, span.start, span.end) for span in plan.spans] == [(0, 3, 9)]
    assert plan.progress == {"t": TopicProgress(topic_id="1", next={0: 9, 1: 4})}


def test_a_topic_that_begins_at_its_end_is_remembered_before_it_has_anything():
    """Else what comes before the next look would be taken for what was there before."""
    state = TopicState(topic_id="1", partitions={0: Bounds(earliest=0, latest=7, start=7)})
    plan = plan_kafka({"t": state}, {}, start=Start.parse("latest"), max_records=100)
    assert (plan.spans, plan.is_news) == ((), True)
    later = TopicState(topic_id="1", partitions={0: Bounds(earliest=0, latest=9, start=9)})
    after = plan_kafka({"t": later}, plan.progress, start=Start.parse("latest"), max_records=100)
    assert after.spans == (Span(topic="t", partition=0, start=7, end=9),)


def test_a_partition_that_comes_later_begins_with_its_first_message_wherever_topics_begin():
    """Of a topic that is known; what was sent to it before the next look would be lost else."""
    known = {"t": TopicProgress(topic_id="1", next={0: 4})}
    partitions = {n: Bounds(earliest=0, latest=4 + n, start=4 + n) for n in range(3)}
    for word in ("latest", "earliest", '{"t": {"1": 3}}', "2026-01-01T00:00:00Z"):
        topics = {"t": TopicState(topic_id="1", partitions=partitions)}
        plan = plan_kafka(topics, known, start=Start.parse(word), max_records=100)
        assert [(span.partition, span.start, span.end) for span in plan.spans] == [(1, 0, 5), (2, 0, 6)]


@pytest.mark.parametrize("number", [0, 1])
def test_every_single_offset_that_is_gone_is_a_loss(number):
    """Whatever the bounds of a partition and the next offset are, and whichever of two partitions it is."""
    for earliest, more, after in product(range(4), repeat=3):
        own = Bounds(earliest=earliest, latest=earliest + more, start=0)
        partitions = {1 - number: Bounds(earliest=0, latest=9, start=0), number: own}
        known = {"t": TopicProgress(topic_id="1", next={1 - number: 9, number: after})}
        plan = plan_kafka({"t": TopicState(topic_id="1", partitions=partitions)}, known, start=EARLIEST, max_records=9)
        assert bool(plan.losses) is not (own.earliest <= after <= own.latest), (own, after)


bounds = st.tuples(st.integers(0, 4), st.integers(0, 4)).map(
    lambda ends: Bounds(earliest=min(ends), latest=max(ends), start=min(ends))
)
states = st.builds(
    TopicState, topic_id=st.sampled_from("12"), partitions=st.dictionaries(st.integers(0, 1), bounds, min_size=1)
)
known_progress = st.builds(
    TopicProgress, topic_id=st.sampled_from("12"), next=st.dictionaries(st.integers(0, 1), st.integers(0, 4))
)
topics_of = st.sampled_from("abc")


@given(st.dictionaries(topics_of, states), st.dictionaries(topics_of, known_progress), st.sets(topics_of))
def test_a_loss_stops_the_run_until_it_is_accepted_of_each_topic_that_has_one(topics, known, accepted):
    """Beside a model: of a topic that was read, every offset from the next one on is there, and none below is new."""
    lost = set()
    for topic, progress in known.items():
        state = topics.get(topic)
        numbers = {*progress.next, *(state.partitions if state else ())}
        is_same = state is not None and state.topic_id == progress.topic_id
        if not is_same or any(
            number not in state.partitions
            or not state.partitions[number].earliest <= progress.next.get(number, 0) <= state.partitions[number].latest
            for number in numbers
        ):
            lost.add(topic)
    plan = plan_kafka(topics, known, start=EARLIEST, max_records=1000, accepted=accepted)
    assert {loss.topic for loss in plan.losses} == lost - accepted
    if lost - accepted:
        assert (plan.spans, dict(plan.progress), plan.is_news) == ((), known, False)
    else:
        assert len(plan.messages) == len(lost)


LOST = {
    "retention": ({0: Bounds(earliest=5, latest=9, start=5)}, "1", "t: partition 0 lost offsets 3 to 4, deleted"),
    "an end that went back": ({0: Bounds(earliest=0, latest=2, start=0)}, "1", "ends at 2, and was read up to 3"),
    "another topic": ({0: Bounds(earliest=0, latest=2, start=0)}, "2", "t was deleted and recreated.*0: 3"),
    "a partition": ({}, "1", "t: partition 0 is gone$"),
    "no topic": (None, "1", "topic t is gone"),
}


@pytest.mark.parametrize(("partitions", "topic_id", "details"), LOST.values(), ids=LOST.keys())
def test_what_is_lost_is_reported_by_its_range(partitions, topic_id, details):
    topics = {} if partitions is None else {"t": TopicState(topic_id=topic_id, partitions=partitions)}
    known = {"t": TopicProgress(topic_id="1", next={0: 3})}
    (loss,) = plan_kafka(topics, known, start=EARLIEST, max_records=10).losses
    assert loss.topic == "t"
    assert re.search(details, loss.details)
