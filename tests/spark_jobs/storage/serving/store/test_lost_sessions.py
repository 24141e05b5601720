"""Wherever a session is lost, the store holds the state before or the one after, and a retry makes it the one after.

The mart's n-th state has 40 + n rows with n in them (tests/support/serving.py); state 1 is served when 2 is lost.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier

import pytest
from pyspark.sql import types as T
from sqlalchemy import Engine, event

from local_stack.servers.databases import PASSWORD, Server
from spark_jobs.contracts.errors import TransientError
from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.storage.serving.store import ServingStore
from tests.support.proxies import Wire
from tests.support.serving import MART, SCHEMA, Place, assert_serves, rows, seen, serve

OTHER = T.StructType([*SCHEMA.fields[:2], T.StructField("total", T.DecimalType(20, 4))])
MANY = 2_500
LATER = pytest.mark.slice(name="databases")
CHANGES = ("a new column", "another type")


@pytest.fixture
def wire(server_place: Place) -> Iterator[Wire]:
    server = server_of(server_place)
    sockets = {"postgresql": server.folder / f".s.PGSQL.{server.port}", "mariadb": server.folder / "socket"}
    with Wire(sockets[server.name]) as wire:
        yield wire


def server_of(place: Place) -> Server:
    assert place.server is not None
    return place.server


def through(wire: Wire, place: Place) -> ServingStore:
    """The store at the other end of the wire."""
    return place.store(server_of(place).url(place.name, address=wire.address))


def interrupted(do: Callable[[], object]) -> Iterator[tuple[int, str, None]]:
    """Many rows, with something that happens when more than a thousand are already sent."""
    for number in range(MANY):
        if number == MANY - 500:
            do()
        yield number, "", None


def assert_one_clear_line(error: TransientError) -> None:
    text = str(error)
    assert text.startswith("serving store ")
    assert text.endswith("run it again")
    assert "\n" not in text
    assert PASSWORD not in text


def schema_of(number: int, change: str) -> T.StructType:
    """The columns of the n-th state, for each way in which they change from one to the next."""
    if change == "a new column":
        return T.StructType([*SCHEMA.fields, *(T.StructField(f"more_{n}", T.LongType()) for n in range(number))])
    return OTHER if change == "another type" and number % 2 else SCHEMA


def wide_rows(number: int, schema: T.StructType) -> list[tuple[object, ...]]:
    """The rows of the n-th state, with nulls in what it has more than others."""
    return [(*row, *[None] * (len(schema.fields) - len(row))) for row in rows(number)]


@pytest.mark.services
@pytest.mark.parametrize("server_place", ["postgresql", pytest.param("mariadb", marks=LATER)], indirect=True)
@pytest.mark.parametrize("change", ["nothing", *(pytest.param(change, marks=LATER) for change in CHANGES)])
@pytest.mark.parametrize("is_executed", [False, True], ids=["unheard", "unanswered"])
def test_a_wire_cut_at_any_message(server_place: Place, wire: Wire, change: str, is_executed: bool):
    """Every message of a replacement in turn is lost, or its answer is: each time a state follows the one before."""
    store, number = through(wire, server_place), 0
    serve(store, 0)
    is_cut = True
    while is_cut:  # until a replacement needs no more messages
        number += 1
        schema = schema_of(number, change)
        wire.cut_at(number, is_executed=is_executed)
        try:
            serve(store, number, wide_rows(number, schema), schema=schema)
        except TransientError as error:
            assert_one_clear_line(error)
        is_cut = wire.messages >= number
        wire.cut_at(None)
        assert seen(server_place) in [rows(each) for each in (number - 1, number)]
        serve(store, number, wide_rows(number, schema), schema=schema)
        assert_serves(server_place, number)
    assert number > 10, "a replacement takes more messages than that"
    assert server_place.tables() == {MART, "served_marts"}


def test_a_commit_whose_answer_is_lost_is_found_done(server_place: Place, wire: Wire):
    """The answer to each commit of a replacement in turn: the last is that of the rows."""
    store = through(wire, server_place)
    outcomes: list[int | None] = []
    while True:
        server_place.query(f"DROP TABLE IF EXISTS {MART}")
        wire.cut_at(None)
        serve(store, 1)
        wire.cut_at(len(outcomes) + 1, is_executed=True, text=b"COMMIT")
        with suppress(TransientError):
            assert serve(store, 2) == len(rows(2)), "it needs no more commits than that"
            break
        wire.cut_at(None)
        outcomes.append(serve(store, 2))
        assert_serves(server_place, 2)
    *before, last = outcomes
    assert last is None, "the rows were there: found by the record"
    assert before == [len(rows(2))] * len(before), "they were not: written again"


@pytest.mark.parametrize("schema", [SCHEMA, OTHER], ids=["same", "another type"])
def test_a_session_that_is_ended_from_outside(server_place: Place, schema: T.StructType):
    store = server_place.store()
    serve(store, 1)
    with pytest.raises(TransientError) as caught:
        serve(store, 2, interrupted(lambda: server_of(server_place).kill_sessions(server_place.name)), schema=schema)
    assert_one_clear_line(caught.value)
    assert_serves(server_place, 1)
    serve(store, 2)
    assert_serves(server_place, 2)


@pytest.mark.parametrize("schema", [SCHEMA, OTHER], ids=["same", "another type"])
def test_a_server_that_crashes_while_rows_come(server_place: Place, schema: T.StructType):
    store, server = server_place.store(), server_of(server_place)
    serve(store, 1)
    with pytest.raises(TransientError) as caught:
        serve(store, 2, interrupted(server.crash), schema=schema)
    assert_one_clear_line(caught.value)
    with pytest.raises(TransientError) as caught:  # it does not answer at all
        serve(store, 2)
    assert_one_clear_line(caught.value)
    server.start()
    assert_serves(server_place, 1)
    serve(store, 2)
    assert_serves(server_place, 2)


def test_a_server_that_restarts_between_two_states(server_place: Place):
    store, server = server_place.store(), server_of(server_place)
    serve(store, 1)
    server.stop()
    server.start()
    serve(store, 2)
    assert_serves(server_place, 2)


@pytest.mark.parametrize("schema", ["SCHEMA", "OTHER"], ids=["same", "another type"])
def test_a_process_that_is_killed_while_rows_come(place: Place, schema: str):
    serve(place.store(), 1)
    program = (
        "import os, signal; from spark_jobs.contracts.settings import Settings;"
        "from spark_jobs.storage.serving.address import parse_address;"
        "from spark_jobs.storage.serving.store import ServingStore;"
        "from tests.spark_jobs.storage.serving.store import test_lost_sessions as here;"
        "store = ServingStore(parse_address(Settings.from_environment()), wait_seconds=60);"
        f"here.serve(store, 2, here.interrupted(lambda: os.kill(os.getpid(), signal.SIGKILL)), schema=here.{schema})"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=PROJECT_ROOT, env={**os.environ, "LAKEHOUSE_SERVING_URL": place.url})
    assert done.returncode == -9
    assert_serves(place, 1)
    serve(place.store(), 2)
    assert_serves(place, 2)


def test_a_writer_waits_for_another_and_does_not_wait_for_ever(place: Place):
    """The second comes while the first sends its rows, and gives up; the first ends well."""
    serve(place.store(), 1)
    errors: list[TransientError] = []
    impatient = place.store(wait_seconds=1)

    def come_second() -> None:
        with pytest.raises(TransientError) as caught:
            serve(impatient, 3)
        errors.append(caught.value)

    assert serve(place.store(), 2, interrupted(come_second)) == MANY
    assert [error.exit_code for error in errors] == [1]
    assert "\n" not in str(errors[0])
    serve(impatient, 3)
    assert_serves(place, 3)


def test_many_writers_begin_at_once_in_an_empty_database(place: Place):
    """Each makes the record if there is none, and serves a mart of its own; two of them the same one."""
    marts = ["one", "two", "three", "three"]
    with ThreadPoolExecutor(len(marts)) as pool:

        def begin(mart: str) -> int | None:
            return serve(place.store(), 1, mart=mart)

        assert sorted(map(str, pool.map(begin, marts))) == ["41", "41", "41", "None"]
    assert place.tables() == {*marts, "served_marts"}
    recorded_rows = place.query("SELECT mart, row_count FROM served_marts ORDER BY mart")
    assert recorded_rows == [(m, 41) for m in sorted(set(marts))]


def test_records_of_new_marts_do_not_lock_each_other_out(server_place: Place):
    """Each deletes its record before it writes it. Where none is yet, MariaDB would lock the gap against the others."""
    names = ["one", "two"]
    stores = [server_place.store() for _ in names]
    both_deleted = Barrier(len(names), timeout=30)

    def wait(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("DELETE FROM served_marts"):
            both_deleted.wait()

    def begin(store: ServingStore, mart: str) -> int | None:
        return serve(store, 1, mart=mart)

    event.listen(Engine, "after_cursor_execute", wait)
    try:
        with ThreadPoolExecutor(len(names)) as pool:
            assert list(pool.map(begin, stores, names)) == [41, 41]
    finally:
        event.remove(Engine, "after_cursor_execute", wait)
