"""From what a Kafka cluster has and what was read of it to a plan: which offsets of which partitions this run reads.

Nothing is skipped in silence. What the cluster had and has no more, and was not read, is a loss that a person accepts:
messages that retention deleted first, a topic that is gone or is another one of the same name, an end that went back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from spark_jobs.contracts.kafka import EARLIEST, LATEST, Progress, Start, TopicProgress
from spark_jobs.contracts.names import plain

SPAN_OFFSETS = 50_000
"""Offsets that one task reads: a partition with more of them is read side by side."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Of a partition, the first offset that is there and the one after the last committed.

    ``start`` is where a topic of the lake's first run is to begin.
    """

    earliest: int
    latest: int
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicState:
    """A topic as the cluster has it now."""

    topic_id: str
    partitions: Mapping[int, Bounds]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Messages of one partition, offsets ``start`` to ``end``, which is not one of them."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def place(self) -> str:
        """What the log calls their place."""
        return place_of(self.topic, self.partition)


MESSAGES = "kafka:"
"""How ``read_from`` of rows begins that were messages."""


def place_of(topic: str, partition: int) -> str:
    """``kafka:<topic>/<partition>``: ``read_from`` of rows whose ``read_offset`` is the message's offset."""
    return f"{MESSAGES}{topic}/{partition}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What of a topic can be read no more, and was not."""

    topic: str
    details: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaPlan:
    """What one run reads, how far the topics are read then, and what is lost: with losses nothing is to be read."""

    spans: tuple[Span, ...] = ()
    progress: Progress
    is_news: bool = False
    """True when the progress has to be kept, whether there are messages or not."""
    has_more: bool = False
    losses: tuple[Loss, ...] = ()
    messages: tuple[str, ...] = ()


def first_offsets(start: Start, topic: str, earliest: Mapping[int, int], latest: Mapping[int, int]) -> dict[int, int]:
    """Where each partition of a topic of the first run begins, unless ``start`` is a time."""
    if start.offsets:
        return {number: start.offsets.get(topic, {}).get(number, first) for number, first in earliest.items()}
    return dict(earliest if start.word == EARLIEST else latest)


def plan_kafka(
    topics: Mapping[str, TopicState],
    progress: Progress,
    *,
    start: Start,
    max_records: int,
    accepted: Collection[str] = (),
    is_first: bool = True,
) -> KafkaPlan:
    """Decide what to read: at most ``max_records`` offsets, shared fairly among the partitions.

    Only topics of the lake's first run begin at their end, where ``start`` says so: a topic that is there later began
    after that run, and none of its messages was ever skipped. That the first run was is kept, even of no topics.

    Args:
        topics: those of the lake that are there now.
        progress: how far they were read; topics that are not the lake's are no part of it.
        start: where topics begin that were never read.
        max_records: most to read.
        accepted: topics whose losses a person accepts: reading goes on there with the first message that is left. What
            was read before changes nothing when it is read again.
        is_first: no run of this lake has looked at Kafka yet.
    """
    begins_late = start.word == LATEST and not is_first
    losses = tuple(loss for topic in sorted({*topics, *progress}) for loss in _losses(topic, topics, progress))
    if open_losses := tuple(loss for loss in losses if loss.topic not in accepted):
        return KafkaPlan(progress=progress, losses=open_losses)
    known = {topic: progress.get(topic) or (_unread(state) if begins_late else None) for topic, state in topics.items()}
    begin = {topic: _next_offsets(state, known[topic]) for topic, state in topics.items()}
    waiting = {
        (topic, number): topics[topic].partitions[number].latest - offset
        for topic, of in begin.items()
        for number, offset in of.items()
    }
    taken = share(waiting, max_records)
    ends = {topic: {n: offset + taken[topic, n] for n, offset in of.items()} for topic, of in begin.items()}
    after = {topic: TopicProgress(topic_id=topics[topic].topic_id, next=of) for topic, of in ends.items()}
    # A topic that begins at its first message does so whenever it is looked at; other places are kept.
    is_begun = {topic for topic in after if topic in progress or start.word != EARLIEST}
    is_read = {topic for topic, number in taken if taken[topic, number]}
    kept = {topic: of for topic, of in after.items() if topic in is_begun | is_read}
    return KafkaPlan(
        spans=tuple(span for (topic, number), count in taken.items() for span in _spans(topic, number, begin, count)),
        progress=kept,
        is_news=kept != dict(progress) or (is_first and start.word == LATEST),
        has_more=sum(taken.values()) < sum(waiting.values()),
        messages=(
            *(f"accepted: {loss.details}" for loss in losses),
            *(_message_of_later(topic) for topic in sorted(topics.keys() - progress.keys()) if begins_late),
        ),
    )


def share(waiting: Mapping[tuple[str, int], int], most: int) -> dict[tuple[str, int], int]:
    """Of each partition how much is read: all when it is little, and an equal part of ``most`` when it is not."""
    taken, left = dict.fromkeys(waiting, 0), most
    for number, key in enumerate(sorted(waiting, key=lambda key: (waiting[key], key))):
        taken[key] = min(waiting[key], left // (len(waiting) - number))
        left -= taken[key]
    return {key: taken[key] for key in sorted(taken)}


def _losses(topic: str, topics: Mapping[str, TopicState], progress: Progress) -> list[Loss]:
    """What of a topic that was read before is lost; offsets are given as ranges, the last one included."""
    name, known, state = plain(topic), progress.get(topic), topics.get(topic)
    if known is None:
        return []
    if state is None:
        return [Loss(topic=topic, details=f"topic {name} is gone, and whatever of it was not read")]
    if known.topic_id != state.topic_id:
        return [
            Loss(
                topic=topic,
                details=f"topic {name} was deleted and recreated; the old one's messages are lost from "
                f"offsets {_listed(known.next)} on",
            )
        ]
    found = []
    for number in sorted({*known.next, *state.partitions}):
        bounds, offset = state.partitions.get(number), known.next.get(number, 0)
        if bounds is None:
            found.append(f"partition {number} is gone")
        elif offset < bounds.earliest:
            lost = f"offsets {offset} to {bounds.earliest - 1}"
            found.append(f"partition {number} lost {lost}, deleted before they were read")
        elif offset > bounds.latest:
            found.append(f"partition {number} ends at {bounds.latest}, and was read up to {offset}: its end went back")
    return [Loss(topic=topic, details=f"topic {name}: {text}") for text in found]


def _unread(state: TopicState) -> TopicProgress:
    """Of a topic that came after the first run: nothing of it was read yet."""
    return TopicProgress(topic_id=state.topic_id, next={number: of.earliest for number, of in state.partitions.items()})


def _message_of_later(topic: str) -> str:
    return f"topic {plain(topic)} came after the first run, so it is read from its first message, not from {LATEST}"


def _next_offsets(state: TopicState, known: TopicProgress | None) -> dict[int, int]:
    """Where each partition goes on, or begins: one that came later with its first message."""
    if known is None:
        return {number: min(max(of.start, of.earliest), of.latest) for number, of in state.partitions.items()}
    is_same = known.topic_id == state.topic_id
    offsets = {number: known.next.get(number, 0) if is_same else 0 for number in state.partitions}
    return {
        number: offset
        if state.partitions[number].earliest <= offset <= state.partitions[number].latest
        else state.partitions[number].earliest
        for number, offset in offsets.items()
    }


def _spans(topic: str, number: int, begin: Mapping[str, Mapping[int, int]], count: int) -> list[Span]:
    first = begin[topic][number]
    return [
        Span(topic=topic, partition=number, start=at, end=min(at + SPAN_OFFSETS, first + count))
        for at in range(first, first + count, SPAN_OFFSETS)
    ]


def _listed(offsets: Mapping[int, int]) -> str:
    return ", ".join(f"{number}: {offsets[number]}" for number in sorted(offsets))
