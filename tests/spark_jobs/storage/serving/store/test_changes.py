"""A mart's columns change: new ones are added, those that went stay with nulls, another type rebuilds the table.

The mart's n-th state has 40 + n rows (tests/support/serving.py). An index that was made by hand stays as long as the
table does, which tells apart a changed table and one rebuilt.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from decimal import Decimal

import pytest
import sqlalchemy as sa
from pyspark.sql import types as T

from spark_jobs.contracts.errors import ContractError, TransientError
from spark_jobs.storage.serving import sessions
from spark_jobs.storage.serving.address import Database
from tests.support.serving import MART, SCHEMA, Place, assert_serves, rows, serve

OTHER = T.StructType([*SCHEMA.fields[:2], T.StructField("total", T.DecimalType(20, 4))])


def with_column(name: str, kind: T.DataType) -> T.StructType:
    return T.StructType([*SCHEMA.fields, T.StructField(name, kind)])


def wide(number: int, value: object) -> list[tuple[object, ...]]:
    return [(*row, value) for row in rows(number)]


def column_types(place: Place) -> dict[str, str]:
    with place.session() as connection:
        return {column["name"]: str(column["type"]) for column in sa.inspect(connection).get_columns(MART)}


def make_index(place: Place) -> None:
    place.query(f"CREATE INDEX made_by_hand ON {MART} (agent_id)")


def has_index(place: Place) -> bool:
    with place.session() as connection:
        return "made_by_hand" in {index["name"] for index in sa.inspect(connection).get_indexes(MART)}


def test_a_new_column(place: Place):
    store = place.store()
    serve(store, 1)
    make_index(place)
    serve(store, 2, wide(2, "north"), schema=with_column("region", T.StringType()))
    assert_serves(place, 2)
    assert place.query(f"SELECT DISTINCT region FROM {MART}") == [("north",)]
    assert has_index(place)


def test_a_column_that_went_and_comes_back(place: Place):
    """With the type it had it is filled again; with another one the table is rebuilt."""
    store = place.store()
    serve(store, 1, wide(1, "north"), schema=with_column("region", T.StringType()))
    make_index(place)
    serve(store, 2)
    assert_serves(place, 2)
    assert place.query(f"SELECT DISTINCT region FROM {MART}") == [(None,)]
    serve(store, 3, wide(3, "south"), schema=with_column("region", T.StringType()))
    assert place.query(f"SELECT DISTINCT region FROM {MART}") == [("south",)]
    serve(store, 4)
    assert has_index(place)
    serve(store, 5, wide(5, 7), schema=with_column("region", T.LongType()))
    assert place.query(f"SELECT DISTINCT region FROM {MART}") == [(7,)]
    assert_serves(place, 5)
    assert not has_index(place)


def test_columns_in_another_order(place: Place):
    store = place.store()
    serve(store, 1)
    make_index(place)
    turned = T.StructType(SCHEMA.fields[::-1])
    serve(store, 2, [row[::-1] for row in rows(2)], schema=turned)
    assert_serves(place, 2)
    assert has_index(place)


def test_another_type(place: Place):
    store = place.store()
    serve(store, 1)
    before = column_types(place)
    serve(store, 2, [(a, b, str(c)) for a, b, c in rows(2)], schema=T.StructType(
        [*SCHEMA.fields[:2], T.StructField("total", T.StringType())]
    ))  # fmt: skip
    assert_serves(place, 2)
    after = column_types(place)
    assert (after["total"] == before["total"]) == (place.database is Database.SQLITE), "decimals are text there anyway"
    serve(store, 3)
    assert_serves(place, 3)
    assert column_types(place) == before
    assert place.tables() == {MART, "served_marts"}


def test_other_types_with_the_same_values(place: Place):
    """A wider decimal: nothing of the new ones may be cut to the old type."""
    store = place.store()
    serve(store, 1, [(1, "a", Decimal("1.5"))], schema=OTHER)
    serve(store, 2, [(1, "a", Decimal("9" * 34 + ".9999"))])
    ((found,),) = place.query(f"SELECT total FROM {MART}")
    assert str(found) == "9" * 34 + ".9999"


def test_what_a_dead_attempt_left_is_removed(place: Place):
    """A change of tables is part of the transaction, but not in MySQL: there the new one is left, and taken over."""
    store = place.store()
    serve(store, 1)

    def dying() -> Iterator[tuple[int, str, Decimal]]:
        yield from rows(2) * 60  # more than one chunk
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        serve(store, 2, dying(), schema=OTHER)
    assert len(place.tables()) == (3 if place.database is Database.MYSQL else 2)
    assert_serves(place, 1)
    serve(store, 2, schema=OTHER)
    assert_serves(place, 2)
    assert place.tables() == {MART, "served_marts"}


def test_the_longest_names(place: Place):
    """Two marts whose names of 63 characters differ in the last one only."""
    store = place.store()
    for last, schema in (("a", SCHEMA), ("b", SCHEMA), ("a", OTHER), ("b", OTHER)):
        mart = "m" * 62 + last
        number = 1 if schema is SCHEMA else 2
        serve(store, number, schema=schema, mart=mart, timeline=(1, 2))
    for last in "ab":
        assert place.query(f"SELECT COUNT(*) FROM {'m' * 62}{last}") == [(len(rows(2)),)]
    assert len(place.tables()) == 3


def test_a_view_goes_on_where_names_are_looked_up_late(place: Place):
    """PostgreSQL binds a view to the table itself, so there the table cannot be rebuilt below it."""
    store = place.store()
    serve(store, 1)
    place.query(f"CREATE VIEW busy AS SELECT agent_id FROM {MART} WHERE total > 0")
    serve(store, 2)
    if place.database is Database.POSTGRESQL:
        with pytest.raises(ContractError, match=r"refuses: .*depend.*; correct that there"):
            serve(store, 3, schema=OTHER)
        assert_serves(place, 2)
        place.query("DROP VIEW busy")
        serve(store, 3, schema=OTHER)
    else:
        serve(store, 3, schema=OTHER)
        assert len(place.query("SELECT * FROM busy")) == len(rows(3))
    assert_serves(place, 3)


@pytest.mark.services
def test_readers_keep_their_rights_on_a_table_rebuilt(server_place: Place):
    store, server = server_place.store(), server_place.server
    assert server is not None
    serve(store, 1)
    readers = [f"reader_{number}_of_{server_place.name}" for number in range(3)]
    for reader in readers:
        account = f"{reader}@localhost" if server_place.database is Database.MYSQL else reader
        server.admin(f"CREATE USER {account}")
        server_place.query(f"GRANT SELECT, UPDATE ON {MART} TO {account}")
    serve(store, 2, schema=OTHER)
    for reader in readers:
        with server_place.session() as connection:
            if server_place.database is Database.POSTGRESQL:
                connection.exec_driver_sql(f"SET ROLE {reader}")
                assert connection.exec_driver_sql(f"SELECT COUNT(*) FROM {MART}").scalar() == len(rows(2))
                assert connection.exec_driver_sql(f"UPDATE {MART} SET agent_id = 1 WHERE false").rowcount == 0
            else:
                rights = [row[0] for row in connection.exec_driver_sql(f"SHOW GRANTS FOR {reader}@localhost")]
                assert any(f"GRANT SELECT, UPDATE ON `{server_place.name}`.`{MART}`" in right for right in rights)


@pytest.mark.services
@pytest.mark.parametrize("schema", [OTHER, with_column("more", T.LongType())], ids=["another type", "a new column"])
def test_a_dashboard_that_forgot_to_end_its_transaction(server_place: Place, schema: T.StructType, monkeypatch):
    """A table in use cannot change; the writer gives way soon, lest every other reader waits behind it."""
    monkeypatch.setattr(sessions, "_DDL_WAIT_SECONDS", 1)
    store = server_place.store(wait_seconds=100_000)  # for another writer, not for readers
    serve(store, 1)
    values = rows(2) if schema is OTHER else wide(2, 7)
    with server_place.session() as connection:
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql(f"SELECT COUNT(*) FROM {MART}").scalar()
        rescue = threading.Timer(30, connection.exec_driver_sql, ["ROLLBACK"])  # a writer that waits on succeeds then
        rescue.start()
        with pytest.raises(TransientError, match=r"(?i)lock.*timeout"):
            serve(store, 2, values, schema=schema)
        rescue.cancel()
        assert_serves(server_place, 1)
        connection.exec_driver_sql("ROLLBACK")
    serve(store, 2, values, schema=schema)
    assert_serves(server_place, 2)
