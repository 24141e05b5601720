"""Origins that are taken, and positions that fell.

The company has the databases ERP_A and ERP_B of one server, with a table SALES each. Times are milliseconds; the log
knows ERP_A up to position 50 at time 50,000. Its server is restored: positions 5 to 9 come from time 60,000 on.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.epochs import MOST_FALLEN, Came, Fall, PositionsFellError, check_falls, describe_fall, judge
from spark_jobs.lake_spec.origins import WIDE, SourceBook, Stream
from spark_jobs.lake_spec.tables import OriginRule

A, B = "sqlserver/erp/ERP_A/dbo.SALES", "sqlserver/erp/ERP_B/dbo.SALES"
OLD = "sqlserver/erp/ERP_A/old.SALES"
STREAM = "sqlserver/erp/ERP_A"
BINLOG = "mysql/shop1/shop.orders"
SKEW = 10_000


def came(origin: str = A, *, at: int = 50, time: int | None = None, **changes: Any) -> Came:
    """Changes of an origin that end at a position."""
    moment = at * 1000 if time is None else time
    parts: dict[str, Any] = {"table": WIDE, "identity": "", "first": moment, "latest": moment, "time": moment}
    parts |= {"low": f"{at:04x}", "mark": f"{at:04x}", "mark_time": moment}
    return Came(origin=origin, **{**parts, **changes})


def judged(book: SourceBook, *groups: Came, rule: OriginRule = OriginRule.ONE, named: tuple[str, ...] = ()) -> Any:
    return judge(book, groups, rule=rule, named=named, skew_ms=SKEW)


KNOWN = judged(SourceBook(), came()).book


def test_the_first_origin_is_the_tables_and_another_is_refused_by_its_name():
    first = judged(SourceBook(), came(B, at=3), came(A, at=1))
    assert first.book.origins == {WIDE: (A,)}
    assert first.refused == first.newly_refused == ((WIDE, B),)
    again = judged(first.book, came(B, at=90))
    assert (again.refused, again.newly_refused) == (((WIDE, B),), ())
    assert "ERP_B" not in str(again.book.streams)


@pytest.mark.parametrize("rule", [OriginRule.BY_TIME, OriginRule.BY_POSITION])
def test_a_rule_in_the_spec_makes_several_one(rule: OriginRule):
    both = judged(KNOWN, came(A), came(B), rule=rule)
    assert (both.refused, both.book.origins) == ((), {WIDE: (A, B)})


def test_tables_of_one_stream_that_the_spec_names_are_comparable():
    assert judged(KNOWN, came(OLD)).refused == ((WIDE, OLD),)
    assert judged(KNOWN, came(OLD), named=("dbo.sales", "old.sales")).refused == ()
    assert judged(KNOWN, came(B), named=("dbo.sales", "old.sales")).refused == ((WIDE, B),)


def test_tables_at_the_source_have_an_origin_each_whatever_the_rule():
    one, other = came(A, table="dbo.sales"), came(B, table="dbo.sales")
    assert judged(SourceBook(), one, replace(other, first=10**6), rule=OriginRule.BY_TIME).refused == (
        ("dbo.sales", B),
    )
    assert judged(SourceBook(), one, replace(other, table="/erp_b/dbo.sales")).refused == ()


def test_order_by_time_cannot_be_taken_back():
    book = judged(SourceBook(), came(low="", mark=""), rule=OriginRule.BY_TIME).book
    with pytest.raises(ContractError, match="write origins: by_time again"):
        judged(book, came())


def test_events_of_a_restored_server_fell():
    (suspect,) = judged(KNOWN, came(at=9, time=61_000, low="0005")).suspects
    assert (suspect.stream, suspect.mark, suspect.time) == (STREAM, f"{50:04x}", 50_000)
    # The same within one batch, where commits have the times of their positions.
    new = came(at=90, low="0005", latest=200_000)
    assert [each.mark for each in judged(KNOWN, new).suspects] == [f"{90:04x}"]


@pytest.mark.parametrize(
    "group",
    [
        came(at=9, time=9_000),
        came(at=60, time=70_000),
        came(at=60, low="0009", first=9_000, time=60_000),
        came(at=49, time=50_000 + SKEW),
    ],
    ids=["late or again", "newer", "both", "times that are a little off"],
)
def test_ordinary_deliveries_did_not(group: Came):
    assert judged(KNOWN, group).suspects == ()


def test_what_a_person_accepted_did_not_fall():
    accepted = replace(KNOWN, streams={STREAM: replace(KNOWN.streams[STREAM], accepted=80_000)})
    assert judged(accepted, came(at=9, time=80_000)).suspects == ()
    assert judged(accepted, came(at=9, time=80_001 + SKEW)).suspects != ()


def test_a_long_statement_of_a_binlog_did_not_fall_and_another_server_did():
    """Of a binlog the time is that of the statement: the highest position may have an early one."""
    book = judged(SourceBook(), came(BINLOG, identity="1 uuid-1")).book
    assert judged(book, came(BINLOG, at=90, time=51_000, low="0033", latest=90_000, identity="1 uuid-1")).suspects == ()
    (suspect,) = judged(book, came(BINLOG, at=9, time=40_000, identity="2 uuid-2")).suspects
    assert (suspect.strangers, suspect.known_mark) == (("2 uuid-2",), f"{50:04x}")
    higher = judged(book, came(BINLOG, at=60, identity="2 uuid-2"))
    assert (higher.suspects, higher.book.streams["mysql/shop1"].identities) == ((), ("1 uuid-1", "2 uuid-2"))


def test_a_log_without_a_book_says_how_far_it_had_come():
    book = SourceBook(former={"erp.dbo.SALES": (f"{50:04x}", 50_000)})
    found = judged(book, came(at=9, time=61_000))
    assert [suspect.mark for suspect in found.suspects] == [f"{50:04x}"]
    assert (found.book.former_ids, found.book.streams[STREAM].mark) == ((A,), f"{50:04x}")


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 99), st.integers(0, 3)), min_size=1, max_size=12), st.integers(1, 5))
def test_a_source_whose_times_rise_with_its_positions_never_falls(changes: list[tuple[int, int]], batches: int):
    """Whatever the batches are, and however late or often something comes."""
    book = SourceBook()
    for at in range(batches):
        group = [position for position, batch in changes if batch % batches == at]
        if group:
            low, high = min(group), max(group)
            found = judged(book, came(at=high, low=f"{low:04x}", first=low * 1000))
            assert found.suspects == ()
            book = found.book


def fall(events: int) -> Fall:
    return Fall(stream=STREAM, events=events, low="05", high="09", since=60_000, until=61_000, mark="32", time=50_000)


def test_a_few_wait_and_more_stop_the_run_with_the_facts_and_both_ways():
    check_falls([fall(MOST_FALLEN)], may_stop=True)
    check_falls([fall(10**6)], may_stop=False)
    with pytest.raises(PositionsFellError) as caught:
        check_falls([fall(MOST_FALLEN + 1)], may_stop=True)
    for text in (
        "4 events from 1970-01-01T00:01:00.000Z to 1970-01-01T00:01:01.000Z have positions 05 to 09, below 32",
        f"source new-epoch --stream '{STREAM}' --since 1970-01-01T00:01:00.000Z --yes",
        f"source same-epoch --stream '{STREAM}' --until 1970-01-01T00:01:01.000Z --yes",
    ):
        assert text in str(caught.value)


def test_a_name_in_a_command_is_one_word_of_it():
    """It comes from the source, and people copy the line into a shell."""
    hostile = replace(fall(1), stream="sqlserver/a'; rm -r x #/b", strangers=("1 '$(x)",))
    commands = describe_fall(hostile).partition("if its positions began again: ")[2].split("; if they go on: ")
    assert [shlex.split(command)[3] for command in commands] == [hostile.stream] * 2
    assert hostile.strangers[0] in shlex.split(commands[1])


def test_the_stream_of_another_table_goes_on_from_what_it_knows():
    book = SourceBook(streams={STREAM: Stream(mark=f"{50:04x}", time=50_000)})
    assert len(judged(book, came(OLD, table="old.sales", at=5, time=90_000)).suspects) == 1
