"""Which spans of Kafka's partitions a task reads, and how far it has come with each of them."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.sources.kafka_plan import Span

TASK_OFFSETS = 5_000
"""So many offsets of several partitions one task reads: it and its client begin in the time that so many decode in."""


def share_out(spans: Sequence[Span]) -> list[tuple[Span, ...]]:
    """The spans of each task, in their order: together of no more than ``TASK_OFFSETS``, or one; none twice.

    No two of a task are of one partition, which a client can read at one place only.
    """
    tasks, size, places = list[list[Span]](), 0, set[str]()
    for span in spans:
        length = span.end - span.start
        if not tasks or size + length > TASK_OFFSETS or span.place in places:
            tasks.append([])
            size, places = 0, set()
        tasks[-1].append(span)
        size += length
        places.add(span.place)
    return [tuple(task) for task in tasks]


class SpansLeft:
    """What is left of spans of different partitions while their messages come, in whatever order the partitions do.

    Args:
        spans: those that are read.
        most: a span is done after so many of its messages; None for all.
    """

    def __init__(self, spans: Sequence[Span], *, most: int | None = None) -> None:
        self.spans = tuple(span for span in spans if span.start < span.end)
        self._of = {(span.topic, span.partition): span for span in self.spans}
        self._next = {place: span.start for place, span in self._of.items()}
        self._wanted = dict.fromkeys(self._of, most)
        self.offsets = sum(span.end - span.start for span in self.spans)
        """How many have not been passed."""

    def take(self, topic: str | None, partition: int | None, offset: int, *, is_message: bool) -> Span | None:
        """Go on to what a client gave: a message, or the end of a partition; its span when it is a message of one.

        Offsets without a message are marks of transactions, or what compaction took out.
        """
        place = (topic or "", -1 if partition is None else partition)
        span = self._of.get(place)
        if span is None or offset < self._next[place]:
            return None
        is_of_span = is_message and offset < span.end
        self._pass_to(place, span, offset + 1 if is_message else offset)
        wanted = self._wanted[place]
        if is_of_span and wanted is not None:
            self._wanted[place] = wanted - 1
            if wanted == 1:
                self._pass_to(place, span, span.end)
        return span if is_of_span else None

    def _pass_to(self, place: tuple[str, int], span: Span, offset: int) -> None:
        reached = min(offset, span.end)
        self.offsets -= reached - self._next[place]
        self._next[place] = reached

    def is_done(self, topic: str | None, partition: int | None) -> bool:
        """True for the partition of a span that was read to its end."""
        span = self._of.get((topic or "", -1 if partition is None else partition))
        return span is not None and self._next[span.topic, span.partition] >= span.end

    def place_of(self, topic: str | None, partition: int | None) -> tuple[str, int]:
        """Where reading is in a partition, or in the first one that is left: the log's word for it, and the offset."""
        left = [span for place, span in self._of.items() if self._next[place] < span.end]
        span = self._of.get((topic or "", -1 if partition is None else partition)) or left[0]
        return span.place, self._next[span.topic, span.partition]
