"""A person is erased from a lake: it is as if the events had never named them, and no file below it does any more."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.contracts.errors import (
    ConsumersBehindError,
    ContractError,
    ErasureUnfinishedError,
    SettingsError,
)
from spark_jobs.pipelines.erasure import eraser, trials
from spark_jobs.storage.savepoints import SavepointRecords
from spark_jobs.storage.timeline import Timeline
from tests.support import oracle
from tests.support.crashes import CrashError
from tests.support.erasures import (
    AGENT,
    AGENT_NAMES,
    CUSTOMER,
    CUSTOMER_NAMES,
    LATE_NAME,
    Events,
    PeopleLake,
    erased,
    traces,
)
from tests.support.lakes import copy_lake, folded_tables, tables_by_rust_reader, tables_by_spark
from tests.support.mart_checks import assert_fast_is_right, assert_slow_is_right, assert_stitch_is_right

pytestmark = [pytest.mark.hudi, pytest.mark.timeout(1200), pytest.mark.slice(name="jobs")]

WORDS_OF_AGENT = (str(AGENT), *AGENT_NAMES)


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> PeopleLake:
    return PeopleLake(spark, tmp_path_factory.mktemp("people"))


@pytest.fixture
def people(made: PeopleLake, tmp_path: Path) -> PeopleLake:
    other = copy(made)
    other.rounds = list(made.rounds)
    other.lake = copy_lake(made.lake, tmp_path)
    return other


def test_nothing_of_them_is_left_and_everything_else_is_right(people: PeopleLake, monkeypatch: pytest.MonkeyPatch):
    """Erased by a run that dies amid the landing files, and by another one that finishes it."""
    lake = people.lake
    people.land_late()
    sizes = {path: path.stat().st_size for path in (lake.folder / "landing").rglob("*.jsonl")}
    assert traces(lake.folder / "lake", WORDS_OF_AGENT), "or the test shows nothing"
    plan = lake.run("erase", clock=people.clock, agent=AGENT)
    assert plan.status == "nothing_to_do"
    assert plan.counters["findings"] > 20
    erase_and_die(people, monkeypatch, "edit_files", is_done=False)
    with pytest.raises((ContractError, ErasureUnfinishedError), match="cut off; run"):
        lake.run("erase", clock=people.clock, customer=CUSTOMER, yes=True)
    result = lake.run("erase", clock=people.clock, agent=AGENT, yes=True)
    assert result.status == "done"
    assert traces(lake.folder / "lake", (*WORDS_OF_AGENT, LATE_NAME)) == []
    assert traces(lake.folder / "landing", (*WORDS_OF_AGENT, LATE_NAME)) == []
    assert {path: path.stat().st_size for path in sizes} == sizes
    events, _ = oracle.read_lines(people.lines)
    events = erased(events, "agent_id", "agent_name", AGENT, (*AGENT_NAMES, LATE_NAME))
    assert_is_right(people, events)
    assert SavepointRecords(lake.settings).all() == []
    assert lake.run("ingest", clock=people.clock).status == "nothing_to_do", "no file is read again"
    assert lake.run("split", clock=people.clock).status == "nothing_to_do"
    assert lake.run("erase", clock=people.clock, agent=AGENT, yes=True).status == "nothing_to_do"


def test_two_people_one_after_the_other(people: PeopleLake):
    events, _ = oracle.read_lines(people.lines)
    for kind, id_, names in (("agent", AGENT, AGENT_NAMES), ("customer", CUSTOMER, CUSTOMER_NAMES)):
        options: dict[str, Any] = {kind: id_, "yes": True}
        people.lake.run("erase", clock=people.clock, **options)
        assert traces(people.lake.folder, (f"{id_}", *names)) == []
        events = erased(events, f"{kind}_id", f"{kind}_name", id_, names)
        assert_is_right(people, events)


def assert_is_right(people: PeopleLake, events: Events) -> None:
    """Tables by both readers, the log row by row, and every mart."""
    lake = people.lake
    expected = folded_tables(lake, events)
    assert tables_by_rust_reader(lake) == expected
    assert tables_by_spark(lake) == expected
    wanted = sorted(repr(sorted(event.row.items())) for event in events)
    columns = [name for name, _ in oracle.COLUMNS.values()]
    logged = [{name: row[name] for name in columns if row[name] is not None} for row in lake.rows("sales_log")]
    assert sorted(repr(sorted(row.items())) for row in logged) == wanted
    assert_fast_is_right(lake, people.clock, "UTC")
    assert_stitch_is_right(lake, people.clock, "UTC")
    assert_slow_is_right(lake, "UTC")
    assert all(Timeline(table=table, path=lake.path(table)).pending == frozenset() for table in expected)


def test_one_that_dies_again_and_again_is_finished_by_the_last(people: PeopleLake, monkeypatch: pytest.MonkeyPatch):
    """Before the log, amid the landing files, after the first tables, and amid the purge."""
    people.lake.run("consumers", clock=people.clock, action="register", name="report", table="agents", at=None)
    for step, is_done in (("erase_in_log", False), ("edit_files", False), ("erase_in_table", True), ("purge", True)):
        erase_and_die(people, monkeypatch, step, is_done=is_done)
        people.lake.run("split", clock=people.clock)
        with pytest.raises((ContractError, ErasureUnfinishedError), match="cut off; run"):
            people.lake.run("erase", clock=people.clock, customer=CUSTOMER, yes=True)
        assert people.lake.run("erase", clock=people.clock, agent=AGENT).counters["findings"] > 0, (
            "or no one would run it again"
        )
    people.land_late()
    people.lake.run("erase", clock=people.clock, agent=AGENT, yes=True)
    assert traces(people.lake.folder, (*WORDS_OF_AGENT, LATE_NAME)) == []
    events, _ = oracle.read_lines(people.lines)
    assert_is_right(people, erased(events, "agent_id", "agent_name", AGENT, (*AGENT_NAMES, LATE_NAME)))
    assert people.lake.run("ingest", clock=people.clock).status == "nothing_to_do"


def test_one_that_cannot_end_is_given_up_and_done_later(people: PeopleLake, monkeypatch: pytest.MonkeyPatch):
    """It died amid the landing files, half of which are edited. None is read again, and the next one finds the rest."""
    lake = people.lake
    with pytest.raises(ContractError, match="there is none to give up"):
        lake.run("erase", clock=people.clock, agent=AGENT, give_up=True, yes=True)
    erase_and_die(people, monkeypatch, "edit_files", is_done=False)
    assert lake.run("erase", clock=people.clock, agent=AGENT, give_up=True).status == "nothing_to_do"
    before = {table: lake.rows(table) for table in ("sales_log", "quarantine")}
    result = lake.run("erase", clock=people.clock, agent=AGENT, give_up=True, yes=True)
    assert result.counters["findings"] > 0
    assert lake.run("ingest", clock=people.clock).counters["records_read"] == 0, "no file is read again"
    assert {table: lake.rows(table) for table in before} == before
    lake.run("erase", clock=people.clock, agent=AGENT, yes=True)
    assert traces(lake.folder, WORDS_OF_AGENT) == []
    events, _ = oracle.read_lines(people.lines)
    assert_is_right(people, erased(events, "agent_id", "agent_name", AGENT, AGENT_NAMES))


def test_landing_files_that_cannot_be_written_stop_it_before_anything_changes(
    people: PeopleLake, monkeypatch: pytest.MonkeyPatch
):
    lake, before = people.lake, people.lake.instants()
    why = "Read-only file system"
    monkeypatch.setattr(trials, "find_unwritable", lambda _spark, _root, paths: [f"{path}: {why}" for path in paths])
    with pytest.raises(SettingsError, match=f"nothing was changed, because these cannot be written: .*{why}"):
        lake.run("erase", clock=people.clock, agent=AGENT, yes=True)
    assert lake.instants() == before
    assert SavepointRecords(lake.settings).all() != []
    lake.run("ingest", clock=people.clock)


def erase_and_die(people: PeopleLake, patch: pytest.MonkeyPatch, step: str, *, is_done: bool) -> None:
    """An erasure that ends at a step; until it is finished, nothing else is ingested."""
    die_at(patch, step, is_done=is_done)
    with pytest.raises(CrashError):
        people.lake.run("erase", clock=people.clock, agent=AGENT, yes=True)
    patch.undo()
    with pytest.raises(ErasureUnfinishedError, match="the erasure of one agent was cut off"):
        people.lake.run("ingest", clock=people.clock)


def die_at(patch: pytest.MonkeyPatch, name: str, *, is_done: bool) -> None:
    """Die the second time a step is taken (or the first, of those taken once): before it, or when it is done.

    Of the landing files, every second one is done.
    """
    real, calls = getattr(eraser, name), []
    wanted = 2 if name in ("purge", "erase_in_table") else 1

    def step(*arguments: object, **options: object) -> object:
        calls.append(1)
        if len(calls) < wanted:
            return real(*arguments, **options)
        if is_done:
            real(*arguments, **options)
        if name == "edit_files":
            *others, parts = arguments
            assert isinstance(parts, list)
            assert len(real(*others, parts[::2])) < len(parts)
        raise CrashError

    patch.setattr(eraser, name, step)


def test_a_reader_who_is_behind_stops_it_before_anything_changes(people: PeopleLake):
    lake = people.lake
    lake.run("consumers", clock=people.clock, action="register", name="report", table="sales", at="0" * 17)
    before = lake.instants()
    with pytest.raises(ConsumersBehindError, match="consumer report of sales: would miss what they have not read"):
        lake.run("erase", clock=people.clock, agent=AGENT, yes=True)
    assert lake.instants() == before
    plan = lake.run("erase", clock=people.clock, agent=AGENT)
    assert "consumer report of sales: has to catch up first, or be forgotten" in plan.messages


def test_what_is_refused(people: PeopleLake):
    for options, message in (
        ({}, "name one person: --agent ID or --customer ID"),
        ({"agent": 7, "customer": 8}, "name one person"),
        ({"agent": "Ann"}, "agent_id is a whole number"),
        ({"agent": "0"}, "that is the stand-in of erased people"),
    ):
        with pytest.raises(ContractError, match=message):
            people.lake.run("erase", clock=people.clock, **options)
