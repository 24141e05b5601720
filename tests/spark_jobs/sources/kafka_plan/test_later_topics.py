"""What `latest` leaves out: what topics had at the first run, and nothing of a topic that appears later.

The oracle is a dictionary: how many messages each topic ever had; nothing is deleted.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.kafka import Start, has_progress, pack_progress, unpack_progress
from spark_jobs.sources.kafka_plan import Bounds, KafkaPlan, TopicState, plan_kafka

EARLIEST, LATEST = Start.parse("earliest"), Start.parse("latest")


def plan(ends: dict[str, int], packed: str | None, *, most: int = 10_000, start: Start = LATEST) -> KafkaPlan:
    topics = {
        topic: TopicState(topic_id=topic, partitions={0: Bounds(earliest=0, latest=end, start=end)})
        for topic, end in ends.items()
    }
    return plan_kafka(topics, unpack_progress(packed), start=start, max_records=most, is_first=not has_progress(packed))


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 6)), max_size=12),
    st.integers(0, 12),
    st.integers(1, 9),
    st.sampled_from([None, ""]),
)
def test_latest_leaves_out_what_was_there_at_the_first_run_and_nothing_else(sends, first_run, most, packed):
    """Topics appear with their first messages, before or after the first run, which may find none.

    The log has no commit before it, or commits of landing files, which carry on that nothing was read of Kafka.
    """
    ends, begins, read = Counter[str](), dict[str, int](), Counter[tuple[str, int]]()

    def look(packed: str | None) -> tuple[str | None, bool]:
        found = plan(dict(ends), packed, most=most)
        read.update((span.topic, at) for span in found.spans for at in range(span.start, span.end))
        return pack_progress(found.progress) if found.is_news else packed, found.has_more

    for at, (topic, count) in enumerate([*sends, ("", 0)]):
        if at == min(first_run, len(sends)):
            begins = dict(ends)
            packed, _ = look(packed)
        if topic:
            ends[topic] += count
    has_more = True
    while has_more:
        packed, has_more = look(packed)
    assert read == Counter((topic, at) for topic, end in ends.items() for at in range(begins.get(topic, 0), end))


def test_a_first_run_that_finds_no_topic_is_remembered_and_a_later_topic_is_reported():
    first = plan({}, None)
    assert (first.is_news, dict(first.progress), first.messages) == (True, {}, ())
    assert plan({}, None, start=EARLIEST).is_news is False
    packed = pack_progress(first.progress)
    later = plan({"t": 5_000}, packed)
    assert [(span.start, span.end) for span in later.spans] == [(0, 5_000)]
    assert later.messages == (
        "topic t came after the first run, so it is read from its first message, not from latest",
    )
    again = plan({"t": 5_000}, pack_progress(later.progress))
    assert (again.spans, again.is_news, again.messages) == ((), False, ())
