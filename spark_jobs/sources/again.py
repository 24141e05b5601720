"""Reading once more what was delivered: a plan of it, then its records as deliveries that move no checkpoint.

An event that the log has is known by its identity, whenever and however often it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.contracts.again import Again, OffsetRange
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.kafka import Progress, Start, unpack_progress
from spark_jobs.contracts.names import plain, show_all, spell
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.sources.delivery import PROGRESS_KEY, Delivery, KafkaDelivery, LandingDelivery
from spark_jobs.sources.discovery import read_ledger
from spark_jobs.sources.file_scan import LedgerEntry
from spark_jobs.sources.kafka import KafkaCluster, client_properties
from spark_jobs.sources.kafka_plan import SPAN_OFFSETS, KafkaPlan, Span, TopicState
from spark_jobs.sources.landing import list_landing, plan_landing
from spark_jobs.storage.filesystem import FileEntry, Filesystem
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline

HEADER = ("from", "what", "size", "read before")


@dataclass(frozen=True, slots=True, kw_only=True)
class OnceMore:
    """A delivery of records that were read before: it moves no checkpoint, and the log may have all of it."""

    delivery: Delivery

    @property
    def is_empty(self) -> bool:
        return self.delivery.is_empty

    @property
    def has_more(self) -> bool:
        return self.delivery.has_more

    @property
    def may_be_known(self) -> bool:
        return True

    @property
    def most_records(self) -> int:
        return self.delivery.most_records

    @property
    def counters(self) -> dict[str, int]:
        return self.delivery.counters

    @property
    def messages(self) -> tuple[str, ...]:
        return self.delivery.messages

    @property
    def checkpoint(self) -> dict[str, str]:
        return {}

    def decode(self, spark: SparkSession, spec: LakeSpec) -> DataFrame:
        return self.delivery.decode(spark, spec)

    def lines(self, spark: SparkSession, places: Mapping[str, frozenset[int]]) -> DataFrame:
        return self.delivery.lines(spark, places)

    def count_read(self, messages: int) -> int:
        return self.delivery.count_read(messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgainPlan:
    """What is there of what was requested."""

    root: str
    files: tuple[FileEntry, ...] = ()
    spans: tuple[Span, ...] = ()
    ledger: Mapping[str, LedgerEntry] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)

    def rows(self) -> list[tuple[str, ...]]:
        """For people, one row for each file and each range."""
        rows = list[tuple[str, ...]]()
        for entry in self.files:
            before = self.ledger.get(entry.path)
            read = f"{before.consumed:,} bytes of its content" if before else "nothing"
            rows.append((spell(_below(self.root, entry)), "file", f"{entry.size:,} bytes", read))
        for span in self.spans:
            what = f"offsets {span.start} to {span.end - 1}"
            rows.append((plain(span.place), what, f"{span.end - span.start:,} offsets", ""))
        return rows

    def deliveries(self, *, max_records: int) -> Iterator[OnceMore]:
        """Everything, at most so many records at a time; each has to be ingested before the next one is made."""
        yield from self._of_files(max_records)
        yield from self._of_spans(max_records)

    def _of_files(self, max_records: int) -> Iterator[OnceMore]:
        files, ledger, has_more = Filesystem(self.root), dict[str, LedgerEntry](), bool(self.files)
        while has_more:
            # No file counts as cut off: what is not complete yet is read when it is.
            plan = plan_landing(files, [*self.files], ledger, max_records=max_records, truncated_before_ns=0)
            has_more = plan.has_more and bool(plan.chunks)
            delivery = LandingDelivery(plan=plan, root=self.root, files=len(self.files), messages=plan.messages)
            ledger = dict(plan.ledger)
            if not delivery.is_empty:
                yield OnceMore(delivery=delivery)

    def _of_spans(self, max_records: int) -> Iterator[OnceMore]:
        for taken in in_turns(self.spans, max_records):
            topics = len({span.topic for span in taken})
            plan = KafkaPlan(spans=taken, progress={}, is_news=True)
            delivery = KafkaDelivery(plan=plan, topics=topics, others={}, messages=(), properties=self.properties)
            yield OnceMore(delivery=delivery)


def plan_again(spec: LakeSpec, again: Again, log_timeline: Timeline, settings: Settings) -> AgainPlan:
    """Look what is there.

    Raises:
        ContractError: nothing is there of a part, or offsets of it are gone; it says which are there.
        SettingsError: Kafka does not let us in.
        TransientError: Kafka does not answer.
    """
    entries, _ = list_landing(Filesystem(settings.landing_path), spec.source.topics)
    paths = [_below(settings.landing_path, entry) for entry in entries]
    files = tuple(entry for entry, path in zip(entries, paths, strict=True) if again.has_file(path))
    progress = unpack_progress(log_timeline.newest_metadata(METADATA_PREFIX + PROGRESS_KEY))
    topics, properties = dict[str, TopicState](), dict[str, str]()
    if settings.kafka_servers:
        properties = client_properties(settings)
        topics = KafkaCluster(properties=properties).topics(spec.source.topics, Start())
    check_found(again, paths, topics)
    return AgainPlan(
        root=settings.landing_path,
        files=files,
        spans=spans_of(again, topics, progress),
        ledger=read_ledger(log_timeline),
        properties=properties,
    )


def _below(root: str, entry: FileEntry) -> str:
    """A file's path below the landing path."""
    return entry.path.removeprefix(Filesystem(root).root).lstrip("/")


def check_found(again: Again, paths: Sequence[str], topics: Mapping[str, TopicState]) -> None:
    """Raise ContractError for a part of which nothing is there."""
    known = sorted({*topics, *(path.partition("/")[0] for path in paths)})
    for name in again.topics:
        one = Again(topics=(name,))
        if not any(map(one.has_file, paths)) and not any(map(one.has_topic, topics)):
            raise ContractError(f"--again {plain(name)}: there is no such topic; there are {show_all(known)}")
    for name in again.files:
        if not any(map(Again(files=(name,)).has_file, paths)):
            raise ContractError(
                f"--again {plain(name)}: there is no such file in the landing path; its topics are {show_all(known)}"
            )


def spans_of(again: Again, topics: Mapping[str, TopicState], progress: Progress) -> tuple[Span, ...]:
    """What was read of the requested topics, and the requested ranges; ContractError when offsets are not there.

    Of a whole topic it is what is still there: retention took the rest, which ``ingest`` has read.
    """
    found: dict[tuple[str, int], set[tuple[int, int]]] = {}
    for topic, state in topics.items():
        known = progress.get(topic)
        if known is None or known.topic_id != state.topic_id or not again.has_topic(topic):
            continue
        for number, bounds in state.partitions.items():
            end = min(known.next.get(number, bounds.earliest), bounds.latest)
            found.setdefault((topic, number), set()).add((bounds.earliest, end))
    for wanted in again.ranges:
        topic, state = _state_of(wanted, topics)
        there = state.partitions.get(wanted.partition)
        if there is None:
            raise ContractError(
                f"--again {plain(topic)}/{wanted.partition}: there is no such partition; there are "
                f"{sorted(state.partitions)}"
            )
        end = there.latest if wanted.last is None else wanted.last + 1
        first = there.earliest if not wanted.first and wanted.last is None else wanted.first
        if first < there.earliest or end > there.latest:
            raise ContractError(
                f"--again {plain(topic)}/{wanted.partition}: offsets {first} to {end - 1} are not all there; there are "
                f"{there.earliest} to {there.latest - 1}"
            )
        found.setdefault((topic, wanted.partition), set()).add((first, end))
    return tuple(
        Span(topic=topic, partition=number, start=start, end=end)
        for (topic, number), parts in sorted(found.items())
        for start, end in joined(parts)
    )


def joined(parts: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges, ends excluded, with those that touch or overlap made one; empty ones are none."""
    whole: list[tuple[int, int]] = []
    for start, end in sorted(part for part in parts if part[0] < part[1]):
        if whole and start <= whole[-1][1]:
            whole[-1] = (whole[-1][0], max(end, whole[-1][1]))
        else:
            whole.append((start, end))
    return whole


def in_turns(spans: Sequence[Span], most: int) -> Iterator[tuple[Span, ...]]:
    """The spans in their order, each turn of at most ``most`` offsets, no span longer than one task reads."""
    turn, left = list[Span](), most
    for span in spans:
        at = span.start
        while at < span.end:
            end = min(span.end, at + min(left, SPAN_OFFSETS))
            turn.append(replace(span, start=at, end=end))
            left -= end - at
            at = end
            if not left:
                yield tuple(turn)
                turn, left = [], most
    if turn:
        yield tuple(turn)


def _state_of(wanted: OffsetRange, topics: Mapping[str, TopicState]) -> tuple[str, TopicState]:
    for topic, state in topics.items():
        if topic.lower() == wanted.topic.lower():
            return topic, state
    raise ContractError(
        f"--again {plain(wanted.topic)}/{wanted.partition}: there is no such topic in Kafka; there are "
        f"{show_all(sorted(topics))}"
    )
