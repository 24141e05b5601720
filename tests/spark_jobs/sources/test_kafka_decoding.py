"""Messages to rows: of two topics with two partitions each, whose offsets are the same numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import Consumer
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.rejections import IGNORED
from spark_jobs.contracts.settings import Settings
from spark_jobs.sources.envelope import EnvelopeDecoder
from spark_jobs.sources.kafka_decoding import decode_spans, read_messages
from spark_jobs.sources.kafka_plan import Span, place_of
from spark_jobs.spec_files.spec_file import load_lake_spec, parse_lake_spec
from tests.support.broken import BROKEN, good
from tests.support.envelopes import line
from tests.support.in_process import Session, rows_of
from tests.support.mirrors import change, line_of
from tests.support.small_broker import SmallBroker, small_broker

SPEC = load_lake_spec(Settings().lake_spec)
SESSION: Any = Session()
SENT: Mapping[tuple[str, int], list[bytes | None]] = {
    (topic, partition): [
        line(good(first)),
        None,
        BROKEN["not json"][1](first),
        line(good(first + 1)),
        BROKEN["key is text"][1](first),
        b"null",
        line(good(first + 2)),
    ]
    for first, (topic, partition) in enumerate([("a", 0), ("a", 1), ("b", 0), ("b", 1)])
    for first in [first * 10]
}
"""A tombstone and a bare null are no events."""
REASONS = {BROKEN[kind][1](first): BROKEN[kind][0] for kind in ("not json", "key is text") for first in (0, 10, 20, 30)}
starts = st.sets(st.integers(1, 6))


@pytest.fixture(scope="module")
def broker() -> Iterator[SmallBroker]:
    with small_broker() as started:
        for (topic, partition), values in SENT.items():
            started.send(topic, partition, values)
        yield started


def spans_of(cuts: Mapping[tuple[str, int], set[int]]) -> list[Span]:
    """All messages, each partition in spans that end at the cuts."""
    return [
        Span(topic=topic, partition=partition, start=start, end=end)
        for (topic, partition), inner in cuts.items()
        for start, end in zip([0, *sorted(inner)], [*sorted(inner), 7], strict=True)
    ]


def fate(value: bytes | None) -> str:
    if value in REASONS:
        return REASONS[value]
    event = EnvelopeDecoder(SPEC).decode(value or b"")
    return event.event_id if event else IGNORED


@settings(max_examples=3)
@given(st.fixed_dictionaries(dict.fromkeys(SENT, starts)))
def test_every_message_is_one_row_at_its_own_place(broker, cuts):
    rows = rows_of(decode_spans(SESSION, SPEC, broker.properties, spans_of(cuts)))
    found = Counter((row["read_from"], row["read_offset"], row["reason"] or row["event_id"]) for row in rows)
    assert found == Counter(
        (place_of(*place), at, fate(value)) for place, values in SENT.items() for at, value in enumerate(values)
    )


@settings(max_examples=3)
@given(st.fixed_dictionaries(dict.fromkeys(SENT, starts)), st.fixed_dictionaries(dict.fromkeys(SENT, starts)))
def test_the_bytes_of_a_message_are_found_by_partition_and_offset(broker, cuts, wanted):
    places = {place_of(*place): frozenset(offsets) for place, offsets in wanted.items() if offsets}
    rows = rows_of(read_messages(SESSION, broker.properties, spans_of(cuts), places))
    found = Counter((row["read_from"], row["read_offset"], row["raw"]) for row in rows)
    assert found == Counter((place_of(*of), at, SENT[of][at]) for of, offsets in wanted.items() for at in offsets)


def test_a_task_has_one_client_for_all_its_spans(broker, monkeypatch):
    """A client is threads, connections and a request for what the cluster has: more than some messages cost."""
    made = list[Consumer]()

    class Counted(Consumer):
        def __init__(self, configuration: dict[str, Any]) -> None:
            super().__init__(configuration)
            made.append(self)

    monkeypatch.setattr(confluent_kafka, "Consumer", Counted)
    spans = spans_of({place: set() for place in SENT})
    rows = rows_of(decode_spans(SESSION, SPEC, broker.properties, spans))
    assert (len(rows), len(made)) == (28, 1)
    wanted = {place_of(*place): frozenset({4}) for place in SENT}
    rows = rows_of(read_messages(SESSION, broker.properties, spans, wanted))
    assert {row["raw"] for row in rows} == {values[4] for values in SENT.values()}
    assert (len(rows), len(made)) == (4, 2)


def test_the_key_of_a_message_says_the_key_of_a_table_without_a_declared_one(broker):
    entry = {"name": "shop_{table}", "from": {"database": "shop", "table": "*"}}
    document = {"lake": "shop", "source": {"topics": ["*"]}, "log": "log", "quarantine": "bad", "tables": [entry]}
    row = {"id": 5, "line": 2, "text": None}
    broker.send("keyed", 0, [line_of(change("c", "lines", row, 1)), None], key=b'{"id": 5, "line": 2}')
    broker.send("keyed", 0, [line_of(change("c", "notes", row, 2))], key=b"5")
    span = Span(topic="keyed", partition=0, start=0, end=3)
    rows = rows_of(decode_spans(SESSION, parse_lake_spec(document), broker.properties, [span]))
    found = [(row["source_table"], row["key_columns"], row["reason"]) for row in rows]
    assert found == [("shop.lines", ["id", "line"], None), (None, None, IGNORED), ("shop.notes", None, None)]
