"""Leases keep two processes from one table; the operating system ends them with their holder.

The other process is a real one: it takes the lease of ``units``, says so, and waits on its standard input.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import LeaseLostError, SettingsError, TableBusyError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.contracts.stages import STAGES, Stage
from spark_jobs.storage import file_leases, lease
from spark_jobs.storage.file_leases import lease_folder
from spark_jobs.storage.lease import check_lease, hold_tables, hold_whole, service_lease

HOLDER = """
import sys
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.lease import check_lease, hold_tables, hold_whole, service_lease
with hold_tables(sys.argv[2:], job="split", settings=Settings(base_path=sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_process(settings: Settings, *tables: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLDER, settings.base_path, *tables]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT_ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(base_path=str(tmp_path / "lake"), lease_wait_seconds=0)


def test_a_lease_can_be_taken_again_and_again(settings):
    for _ in range(2):
        with hold_tables(("units", "agents", "units"), job="split", settings=settings):
            assert (lease_folder(settings.base_path) / "units.lease").exists()


def test_the_holder_is_named_when_it_does_not_let_go(settings):
    with another_process(settings, "units") as holder:
        with pytest.raises(TableBusyError) as caught, hold_tables(("units",), job="ingest", settings=settings):
            pytest.fail("two writers hold one table")
        assert caught.value.exit_code == 1
        assert f'"pid": {holder.pid}' in caught.value.holder
        assert '"job": "split"' in caught.value.holder


def test_other_tables_stay_free(settings):
    with another_process(settings, "units"), hold_tables(("agents",), job="split", settings=settings):
        assert True


def test_what_was_taken_before_the_busy_one_is_let_go(settings):
    both = hold_tables(("agents", "units"), job="split", settings=settings)
    with another_process(settings, "units"), pytest.raises(TableBusyError), both:
        pytest.fail("two writers hold one table")
    with another_process(settings, "agents"):
        assert True


def test_a_killed_holder_leaves_nothing_behind(settings):
    with another_process(settings, "units") as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with hold_tables(("units",), job="split", settings=settings):
            assert holder.returncode == -signal.SIGKILL


def test_a_paused_holder_keeps_its_lease(settings):
    with another_process(settings, "units") as holder:
        holder.send_signal(signal.SIGSTOP)
        with pytest.raises(TableBusyError), hold_tables(("units",), job="split", settings=settings):
            pytest.fail("two writers hold one table")


def test_removing_the_file_does_not_end_a_lease(settings):
    """Also for those who come after the first one that was kept out, and only while its holder lives."""
    with another_process(settings, "units") as holder:
        (lease_folder(settings.base_path) / "units.lease").unlink()
        for _ in range(2):
            with pytest.raises(TableBusyError) as caught, hold_tables(("units",), job="split", settings=settings):
                pytest.fail("two writers hold one table")
            assert caught.value.holder == f"process {holder.pid}, although its lease file was removed"
        holder.kill()
        holder.wait()
        with hold_tables(("units",), job="split", settings=settings):
            assert True


def test_processes_that_end_while_a_holder_is_looked_for_are_none(settings, tmp_path, monkeypatch):
    """On a busy machine some always do, and who looks must not fail for it; nor for those of other users."""
    path, real = lease_folder(settings.base_path) / "units.lease", os.scandir
    for process in ("11", "12", "13"):
        (tmp_path / "proc" / process / "fd").mkdir(parents=True)
        (tmp_path / "proc" / process / "fd" / "3").symlink_to("/dev/null")
    (tmp_path / "proc" / "13" / "fd" / "4").symlink_to(f"{path} (deleted)")

    def scan(folder: Any = ".") -> Any:
        if str(folder).endswith("/11/fd"):
            raise FileNotFoundError(2, "it ended", str(folder))
        if str(folder).endswith("/12/fd"):
            raise PermissionError(13, "another user's", str(folder))
        return real(folder)

    monkeypatch.setattr(file_leases, "_PROCESSES", str(tmp_path / "proc"))
    monkeypatch.setattr(os, "scandir", scan)
    with pytest.raises(TableBusyError) as caught, hold_tables(("units",), job="split", settings=settings):
        pytest.fail("two writers hold one table")
    assert caught.value.holder == "process 13, although its lease file was removed"
    (tmp_path / "proc" / "13" / "fd" / "4").unlink()
    with hold_tables(("units",), job="split", settings=settings):
        assert path.exists()


def test_who_waited_for_a_file_that_was_removed_takes_the_new_one(settings, monkeypatch):
    """Its lock would be on a file that no one else looks at."""
    path, real = lease_folder(settings.base_path) / "units.lease", file_leases._try_lock
    calls: list[bool] = []

    def remove_first(descriptor: int) -> bool:
        is_locked = real(descriptor)
        if not calls:
            path.unlink()
        calls.append(is_locked)
        return is_locked

    monkeypatch.setattr(file_leases, "_try_lock", remove_first)
    patient = replace(settings, lease_wait_seconds=60)
    with hold_tables(("units",), job="split", settings=patient):
        monkeypatch.undo()
        assert calls == [True, True]
        with pytest.raises(TableBusyError), hold_tables(("units",), job="split", settings=settings):
            pytest.fail("two writers hold one table")


def test_who_waits_gets_the_table_when_it_is_free(settings):
    with another_process(settings, "units") as holder:
        assert holder.stdin is not None
        holder.stdin.close()
        with hold_tables(("units",), job="split", settings=replace(settings, lease_wait_seconds=600)):
            assert holder.wait() == 0


def test_a_folder_that_cannot_be_written_is_a_setting_to_correct(tmp_path):
    (tmp_path / "lake").write_text("a file")
    held = hold_tables(("units",), job="split", settings=Settings(base_path=str(tmp_path / "lake")))
    with pytest.raises(SettingsError, match=r"no permission to write .* set LAKEHOUSE_BASE_PATH"), held:
        pytest.fail("a lease below a file")


def test_a_local_lake_has_the_same_leases_as_a_path_and_as_a_uri():
    assert lease_folder("file:///data/lake") == lease_folder("/data/lake") == Path("/data/lake/.leases")


def is_free(settings: Settings, name: str) -> bool:
    try:
        with hold_tables((name,), job="test", settings=settings):
            return True
    except TableBusyError:
        return False


def test_all_of_several_tables_are_held_until_the_end_and_then_none(settings):
    tables, other = ("units", "agents", "sales"), replace(settings, base_path=f"{settings.base_path}2")

    def fail_while_they_are_held() -> None:
        with hold_tables(tables, job="split", settings=settings):
            assert [is_free(settings, table) for table in tables] == [False] * 3
            assert is_free(settings, "unit")
            assert [is_free(other, table) for table in tables] == [True] * 3, "another lake has tables of its own"
            raise ValueError("of the job")

    with pytest.raises(ValueError, match="of the job"):
        fail_while_they_are_held()
    assert [is_free(settings, table) for table in tables] == [True] * 3


def test_the_whole_of_some_tables_is_them_and_their_services(settings):
    """Of other tables those are held that were named: a mart's services may be at work while its tables are erased."""
    names = ("units", "agents", service_lease("units"), service_lease("sales"))
    free = ("sales", service_lease("agents"), "unrelated")
    with hold_whole(("units", "agents"), services_of=("units", "sales"), job="erase", settings=settings):
        assert [name for name in names if is_free(settings, name)] == []
        assert [name for name in free if is_free(settings, name)] == list(free)
    assert all(is_free(settings, name) for name in names)


def test_whoever_wants_the_whole_takes_services_first_and_lets_them_go_when_a_writer_is_at_work(settings):
    """In the order of a service: the other way round each could wait for what the other has."""
    whole = hold_whole(("units",), services_of=("units",), job="erase", settings=settings)
    with another_process(settings, "units"):
        with pytest.raises(TableBusyError) as caught, whole:
            pytest.fail("two writers hold one table")
        assert caught.value.table == "units"
        assert is_free(settings, service_lease("units"))
    whole = hold_whole(("units",), services_of=("units",), job="erase", settings=settings)
    with another_process(settings, service_lease("units")), pytest.raises(TableBusyError) as caught, whole:
        pytest.fail("two services of one table")
    assert caught.value.table == service_lease("units")
    whole = hold_whole(("units",), services_of=("units",), job="erase", settings=settings)
    with another_process(settings, "units", service_lease("units")), pytest.raises(TableBusyError) as caught, whole:
        pytest.fail("two writers hold one table")
    assert caught.value.table == service_lease("units"), "it is the first that is taken"


def test_a_lease_that_was_lost_is_known_by_its_lake_and_table_while_it_is_held(settings, monkeypatch):
    """ZooKeeper and S3 may take a lease away; here a set says which."""
    lost: set[tuple[str, str]] = set()

    def holder(_stack, _who, of):
        return lambda table: nullcontext(lambda: (of.base_path, table) not in lost)

    def lost_ones() -> list[str]:
        return [f"{lake.base_path[-1]} {table}" for lake in lakes for table in tables if is_lost(lake, table)]

    def is_lost(lake: Settings, table: str) -> bool:
        try:
            check_lease(table, lake)
        except LeaseLostError as error:
            return error.exit_code == 1
        return False

    monkeypatch.setattr(lease, "_holder", holder)
    lakes, tables = [replace(settings, base_path=f"/lake{n}") for n in (1, 2)], ("agents", "units", "units.services")
    with hold_tables(tables, job="split", settings=lakes[0]), hold_tables(tables, job="split", settings=lakes[1]):
        assert lost_ones() == []
        lost.add(("/lake1", "units"))
        assert lost_ones() == ["1 units"]
        lost.add(("/lake2", "units.services"))
        assert lost_ones() == ["1 units", "2 units.services"]
    assert lost_ones() == [], "who holds none has lost none"


def test_the_wait_for_a_lease_is_measured_by_table(settings: Settings):
    STAGES.take()
    with hold_tables(["units", "agents"], job="split", settings=settings):
        pass
    assert [(each.stage, each.table) for each in STAGES.take()] == [(Stage.LEASE, "agents"), (Stage.LEASE, "units")]
