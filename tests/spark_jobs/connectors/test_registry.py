"""What holds for every connector and dialect that is registered, and for events of an unknown connector."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from spark_jobs.connectors.address import JdbcAddress, connection_url
from spark_jobs.connectors.registry import CONNECTORS, DIALECTS, connector_of
from spark_jobs.contracts.rejections import Reason, RejectedRecordError

PLACES: dict[str, dict[str, Any]] = {
    "sqlserver": {"commit_lsn": "00000027:00000ac0:0002", "change_lsn": None, "event_serial_no": 1},
    "postgresql": {"lsn": 26371016},
    "mysql": {"file": "binlog.000007", "pos": 1543, "row": 0},
    "mariadb": {"file": "mariadb-bin.000042", "pos": "7", "row": 2},
}
"""Of each connector, a source block with the place of a change."""


def test_there_is_a_source_block_here_for_every_connector() -> None:
    assert PLACES.keys() == CONNECTORS.keys()


@pytest.mark.parametrize("name", PLACES)
def test_a_place_is_digits_that_sort_and_is_needed(name: str) -> None:
    connector = connector_of(name)
    place = connector.position_of(PLACES[name], {})
    assert set(place) <= set("0123456789abcdef")
    without = {field: value for field, value in PLACES[name].items() if field != connector.place_field}
    with pytest.raises(RejectedRecordError, match=rf"source\.{connector.place_field} is missing in a change of {name}"):
        connector.position_of({**without, "ts_ms": 1}, {"ts_ms": 1})


def test_changes_of_an_unknown_connector_are_ordered_by_time() -> None:
    unknown = connector_of("oracle")
    assert unknown.position_of({"ts_ms": 255}, {"ts_ms": 1}) == f"{255:016x}"
    assert unknown.position_of({}, {"ts_ms": 16}) == f"{16:016x}"
    with pytest.raises(RejectedRecordError, match="ts_ms gives no place") as caught:
        unknown.position_of({}, {})
    assert caught.value.reason is Reason.MISSING_POSITION


def test_no_scheme_and_no_type_of_connection_is_of_two_databases() -> None:
    schemes = Counter(scheme for dialect in DIALECTS for scheme in dialect.schemes)
    types = Counter(type_ for dialect in DIALECTS for type_ in dialect.connection_types)
    assert {*schemes.values(), *types.values()} == {1}
    assert {scheme for dialect in DIALECTS for scheme in dialect.connection_types.values()} <= schemes.keys()


@pytest.mark.parametrize("dialect", DIALECTS, ids=str)
def test_a_database_is_found_by_what_people_give(dialect) -> None:
    assert all(JdbcAddress.parse(example).dialect is dialect for example in dialect.example.split(", "))
    for type_ in dialect.connection_types:
        url = connection_url(type_, "db:1", "erp", ["a=b", "c=d"])
        assert JdbcAddress.parse(url).dialect is dialect
        assert url.index("erp") < url.index("a=b") < url.index("c=d")
    assert connection_url("http", "db:1", "erp", []) == ""
