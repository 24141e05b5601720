"""Where an event comes from: its identity, its epoch, and the name that a lake spec gives to its table.

The company has two databases on one server, ERP_A and ERP_B, each with dbo.SALES; the same sale 1 is in both.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.rejections import OtherTableError
from spark_jobs.lake_spec.origins import Epochs
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_patterns import TablePattern
from spark_jobs.lake_spec.tables import OriginRule, SourceSpec
from spark_jobs.sources.envelope import DecodedEvent, EnvelopeDecoder
from spark_jobs.spec_files.table_entries import entry_of
from tests.support.envelopes import Envelope, envelope, line, postgres, sqlserver
from tests.support.shop import SOURCE, shop

ROW = {"No": 1, "BuyerId": 2}
STREAM = "sqlserver/erp/ERP_A"


def of(record: Envelope, **changes: Any) -> Envelope:
    """The same event from another place."""
    return {**record, "source": {**record["source"], **changes}}


def decode(record: Envelope, spec: LakeSpec | None = None) -> DecodedEvent:
    event = EnvelopeDecoder(spec or shop()).decode(line(record))
    assert event is not None
    return event


SALE = of(sqlserver("u", ROW, 5), db="ERP_A")


@pytest.mark.parametrize(
    "changes",
    [{"db": "ERP_B"}, {"name": "erp2"}, {"schema": "old"}, {"table": "SALES2"}, {"connector": "db2"}],
)
def test_an_event_of_another_place_is_another_event(changes: Mapping[str, str]):
    one, other = decode(SALE), decode(of(SALE, **changes))
    assert one.event_id != other.event_id
    assert one.origin != other.origin


def test_the_former_id_is_found_in_the_new_one():
    event = decode(of(SALE, db="E@R/P"))
    assert event.event_id.rpartition("@")[0] == f"erp.dbo.SALES:{event.event_order}"


def test_what_rises_in_a_stream():
    assert decode(of(postgres("u", ROW, 5), sequence='["0000001000","22000005"]')).mark == f"{1000:016x}"
    for sequence in ('[null,"22000005"]', "[]", None):
        assert decode(of(postgres("u", ROW, 5), sequence=sequence)).mark == f"{22_000_005:016x}"
    assert decode(of(postgres("r", ROW, 5), snapshot="incremental")).mark is None


@pytest.mark.parametrize(
    ("connector", "source", "identity"),
    [
        ("mysql", {"server_id": 7, "gtid": "3e11fa47-71ca:23"}, "7 3e11fa47-71ca"),
        ("mariadb", {"server_id": 7, "gtid": "0-7-270"}, "7 0-7"),
        ("mysql", {"server_id": 0, "gtid": None}, ""),
        ("mysql", {"server_id": "x", "gtid": 5}, ""),
    ],
)
def test_the_server_of_a_change(connector: str, source: Mapping[str, Any], identity: str):
    place = {"connector": connector, "name": "shop1", "db": "shop", "table": "orders", "ts_ms": 5}
    event = decode(envelope("u", ROW, {**place, **source, "file": "bin.000003", "pos": 4, "row": 0}))
    assert (event.identity, event.origin) == (identity, f"{connector}/shop1/shop.orders")


epochs = st.lists(st.integers(1, 30), unique=True, max_size=3).map(sorted)


@settings(max_examples=50)
@given(epochs, st.lists(st.tuples(st.integers(0, 40), st.integers(1, 50)), min_size=1, max_size=8), st.randoms())
def test_newer_epochs_win_and_a_redelivery_is_the_same_event(
    starts: list[int], changes: list[tuple[int, int]], rng: random.Random
):
    """The oracle sorts by what a person declared (how many epochs had begun at the time), then by the position."""
    known: Epochs = ((STREAM, tuple((since, number) for number, since in enumerate(starts, start=1))),)
    decoder = EnvelopeDecoder(shop(epochs=known))
    records = {change: of(sqlserver("u", ROW, change[1], ts_ms=change[0]), db="ERP_A") for change in changes}
    delivered = [*changes, *changes]
    rng.shuffle(delivered)
    events = [(change, event) for change in delivered if (event := decoder.decode(line(records[change])))]
    assert len({event.event_id for _, event in events}) == len({(sum(s <= t for s in starts), p) for t, p in changes})

    def truth(change: tuple[int, int]) -> tuple[int, int]:
        return sum(since <= change[0] for since in starts), change[1]

    by_order = [truth(change) for change, event in sorted(events, key=lambda pair: pair[1].event_order)]
    assert by_order == sorted(map(truth, delivered))
    assert all((event.mark or "").endswith(event.event_order.rpartition("-")[0]) for _, event in events)


def test_epochs_are_those_of_the_stream_alone():
    spec = shop(epochs=((STREAM, ((0, 1),)),))
    assert decode(SALE, spec).event_order.startswith("x0001.")
    assert decode(of(SALE, db="ERP_B"), spec).event_order == decode(of(SALE, db="ERP_B")).event_order


@given(st.tuples(st.integers(0, 9), st.integers(1, 99)), st.tuples(st.integers(0, 9), st.integers(1, 99)))
def test_by_time_the_later_of_two_origins_wins_whatever_its_position(one: tuple[int, int], other: tuple[int, int]):
    source = SourceSpec(topics=("*",), key="number", columns=SOURCE.columns, origins=OriginRule.BY_TIME)
    spec = shop(source=source)
    events = [
        decode(of(connector("u", ROW, position, ts_ms=time), db=db), spec)
        for (time, position), connector, db in ((one, sqlserver, "ERP_A"), (other, postgres, "ERP_B"))
    ]
    if one[0] != other[0]:
        assert (events[0].event_order < events[1].event_order) == (one[0] < other[0])
    assert [event.mark for event in events] == [None, None]
    assert min(event.event_order for event in events) > decode(SALE).event_order, "than by position before"


def test_patterns_of_the_wide_log_may_name_server_and_database():
    source = SourceSpec(topics=("*",), key="number", columns=SOURCE.columns, tables=("*/ERP_A/*.SALES",))
    assert decode(SALE, shop(source=source)).op == "u"
    with pytest.raises(OtherTableError):
        decode(of(SALE, db="ERP_B"), shop(source=source))


def table(**entry: Any) -> Any:
    return entry_of({"key": ["No"], **entry})


def test_two_databases_are_two_tables():
    tables = (
        table(name="sales_a", **{"from": {"database": "ERP_A", "schema": "dbo", "table": "SALES"}}),
        table(name="sales_b", **{"from": {"server": "erp", "database": "ERP_B", "schema": "dbo", "table": "SALES"}}),
        table(name="others", **{"from": {"database": "dbo", "table": "SALES"}}),
    )
    spec = shop(tables=tables)
    found = [decode(of(SALE, db=db), spec).mirrored for db in ("ERP_A", "erp_b", "ERP_C")]
    assert [row and row.origin for row in found] == ["/erp_a/dbo.sales", "erp/erp_b/dbo.sales", "dbo.sales"]
    assert [each.origins for each in spec.tables] == [(row.origin,) for row in found if row]


def test_several_databases_may_be_one_table_with_the_origin_in_its_key():
    sources = {"database": ["ERP_A", "ERP_B"], "schema": "dbo", "table": "SALES"}
    spec = shop(tables=(table(name="sales", origin="company", **{"from": sources}),))
    found = [decode(of(SALE, db=db), spec).mirrored for db in ("ERP_A", "ERP_B")]
    assert [row and row.origin for row in found] == ["/erp_a/dbo.sales", "/erp_b/dbo.sales"]
    assert spec.tables[0].key == (":origin", "No")
    with pytest.raises(OtherTableError):
        decode(of(SALE, db="ERP_C"), shop(tables=spec.tables, source=SourceSpec(topics=("*",))))


def test_a_pattern_of_databases_names_its_tables_by_them():
    entry = {"name": "{database}_{table}", "from": {"database": "ERP_*", "schema": "*", "table": "*"}}
    pattern = table(**entry)
    assert isinstance(pattern, TablePattern)
    assert pattern.name_of("/erp_a/dbo.sales") == "erp_a_dbo_sales"
    assert pattern.sources.has("/erp_a/dbo.sales")
    assert not pattern.sources.has("dbo.sales")
