"""What is read once more: exactly what was requested and is there, in turns, each offset once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.again import Again
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.kafka import TopicProgress
from spark_jobs.sources.again import AgainPlan, check_found, in_turns, joined, spans_of
from spark_jobs.sources.kafka_plan import Bounds, Span, TopicState
from spark_jobs.storage.filesystem import Filesystem

TOPICS = {
    "erp.dbo.SALES": TopicState(
        topic_id="one",
        partitions={
            0: Bounds(earliest=10, latest=50, start=10),
            1: Bounds(earliest=0, latest=7, start=0),
        },
    ),
    "shop.orders": TopicState(topic_id="new", partitions={0: Bounds(earliest=0, latest=5, start=0)}),
}
PROGRESS = {
    "erp.dbo.SALES": TopicProgress(topic_id="one", next={0: 40, 1: 7}),
    "shop.orders": TopicProgress(topic_id="old", next={0: 3}),
}
ranges = st.sets(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=6)


def spans(text: str) -> list[tuple[str, int, int, int]]:
    found = spans_of(Again.parse(text), TOPICS, PROGRESS)
    return [(span.topic, span.partition, span.start, span.end) for span in found]


def test_of_a_topic_what_was_read_and_is_still_there() -> None:
    assert spans("erp.DBO.sales") == [("erp.dbo.SALES", 0, 10, 40), ("erp.dbo.SALES", 1, 0, 7)]
    assert spans("shop.*") == [], "it is another topic of the same name, of which nothing was read"


def test_a_range_is_read_with_both_of_its_ends() -> None:
    assert spans("erp.dbo.SALES/0:12-12,erp.dbo.SALES/0:13-19") == [("erp.dbo.SALES", 0, 12, 20)]
    assert spans("erp.dbo.SALES/0:45-") == [("erp.dbo.SALES", 0, 45, 50)]
    assert spans("erp.dbo.SALES/0") == [("erp.dbo.SALES", 0, 10, 50)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("erp.dbo.SALES/0:9-12", "offsets 9 to 12 are not all there; there are 10 to 49"),
        ("erp.dbo.SALES/0:49-50", "offsets 49 to 50 are not all there"),
        ("erp.dbo.SALES/2", r"no such partition; there are \[0, 1\]"),
        ("erp.dbo.SALE/0", "no such topic in Kafka"),
    ],
)
def test_offsets_that_are_not_there_are_refused(text: str, message: str) -> None:
    with pytest.raises(ContractError, match=message):
        spans(text)


@pytest.mark.parametrize("text", ["erp.dbo.SALE", "erp.dbo.SALES/b.jsonl"])
def test_names_of_which_nothing_is_there_are_refused(text: str) -> None:
    with pytest.raises(ContractError, match="there is no such"):
        check_found(Again.parse(text), ["erp.dbo.SALES/a.jsonl"], {})
    check_found(Again.parse("erp.dbo.SALES,erp.dbo.SALES/a*,shop.orders"), ["erp.dbo.SALES/a.jsonl"], TOPICS)


@given(parts=ranges)
def test_ranges_that_overlap_are_read_once(parts: set[tuple[int, int]]) -> None:
    wanted = {offset for first, end in parts for offset in range(first, end)}
    found = [offset for first, end in joined(parts) for offset in range(first, end)]
    assert found == sorted(wanted)


@given(parts=ranges, most=st.integers(1, 30))
def test_turns_have_every_offset_once_and_none_is_too_large(parts: set[tuple[int, int]], most: int) -> None:
    whole = [Span(topic="t", partition=0, start=first, end=end) for first, end in joined(parts)]
    turns = list(in_turns(whole, most))
    read = [offset for turn in turns for span in turn for offset in range(span.start, span.end)]
    assert read == [offset for span in whole for offset in range(span.start, span.end)]
    sizes = [sum(span.end - span.start for span in turn) for turn in turns]
    assert all(size == most for size in sizes[:-1])
    assert all(0 < size <= most for size in sizes)


@given(most=st.integers(1, 9))
def test_files_are_read_whole_in_parts_whatever_was_read_before(
    tmp_path_factory: pytest.TempPathFactory, most: int
) -> None:
    root: Path = tmp_path_factory.mktemp("landing")
    (root / "t").mkdir()
    lines = {
        name: [f'{{"{name}": {number}}}\n'.encode() for number in range(count)] for name, count in (("a", 5), ("b", 3))
    }
    for name, of_file in lines.items():
        (root / "t" / f"{name}.jsonl").write_bytes(b"".join(of_file))
    files = tuple(Filesystem(str(root)).list_files("t"))
    deliveries = list(AgainPlan(root=str(root), files=files).deliveries(max_records=most))
    read = [delivery.counters["records_read"] for delivery in deliveries]
    assert sum(read) == 8
    assert all(0 < count <= most for count in read)
    assert all(delivery.checkpoint == {} and delivery.may_be_known for delivery in deliveries)
