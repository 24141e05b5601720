"""Names of origins, epochs by an event's time, and the book of sources as text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.lake_spec.origins import (
    NEVER,
    Epoch,
    SourceBook,
    Stream,
    epoch_at,
    escaped,
    former_name,
    order_prefix,
    pack_sources,
    stream_of,
    table_in,
    unescaped,
    unpack_sources,
)
from spark_jobs.sources.positions import build_origin

names = st.text(st.sampled_from("aB./%@2F5E"), max_size=6)
numbers = st.integers(0, 9999)


@given(names)
def test_an_escaped_name_can_be_read_back_and_holds_no_separator(name: str):
    assert unescaped(escaped(name)) == name
    assert not {"/", ".", "@"} & {*escaped(name)}


@given(st.tuples(*[names] * 5), st.tuples(*[names] * 5))
def test_two_tables_never_have_one_origin(one: tuple[str, ...], other: tuple[str, ...]):
    origins = [build_origin(("sqlserver", *parts[1:])) for parts in (one, other)]
    assert (origins[0].name == origins[1].name) == (one[1:] == other[1:])


def test_the_parts_of_an_origin():
    origin = build_origin(("sqlserver", "erp", "ERP_A", "dbo", "SALES"))
    assert origin.name == "sqlserver/erp/ERP_A/dbo.SALES"
    assert (stream_of(origin.name), table_in(origin.name)) == ("sqlserver/erp/ERP_A", "dbo.sales")
    assert former_name(origin.name) == "erp.dbo.SALES"
    assert (origin.id_start, origin.id_end) == ("erp.dbo.SALES:", "@sqlserver/ERP_A")
    assert build_origin(("mysql", "shop1", "", "shop", "orders")).name == "mysql/shop1/shop.orders"


@given(numbers, numbers, st.text("0123456789abcdef-", min_size=1), st.text("0123456789abcdef-", min_size=1))
def test_a_newer_epoch_sorts_after_an_older_one_whatever_the_position(one: int, other: int, a: str, b: str):
    if one < other:
        assert order_prefix(one) + a < order_prefix(other) + b
    assert order_prefix(0) == ""


@given(st.lists(st.integers(-5, 20), unique=True, max_size=4), st.integers(-10, 25))
def test_an_event_is_of_the_newest_epoch_that_had_begun_at_its_time(starts: list[int], time: int):
    epochs = tuple((since, number) for number, since in enumerate(sorted(starts), start=1))
    assert epoch_at(epochs, time) == sum(since <= time for since in starts)


def test_the_book_as_text_is_the_same_book():
    epoch = Epoch(number=1, since=NEVER, at="2026-01-01T00:00:00Z", by="ann", because="moved")
    book = SourceBook(
        streams={"a/b/c": Stream(epochs=(epoch,), mark="x0001.ff", time=7, identities=("1 u",), accepted=5)},
        origins={"": ("a/b/c/d.e",)},
        refused={"": ("a/b/C/d.e", "a/b/D/d.e")},
        former={"b.d.e": ("0f", 3)},
        former_ids=("a/b/c/d.e",),
        is_by_time=True,
    )
    assert unpack_sources(pack_sources(book)) == book
    assert pack_sources(book) == pack_sources(unpack_sources(pack_sources(book)) or SourceBook())
    assert unpack_sources(None) is None
    assert book.epochs == (("a/b/c", ((NEVER, 1),)),)
