"""Leases keep two processes from one table; the operating system ends them with their holder.

The other process is a real one: it takes the lease of ``units``, says so, and waits on its standard input.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import SettingsError, TableBusyError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.storage import file_leases
from spark_jobs.storage.file_leases import lease_folder
from spark_jobs.storage.lease import hold_tables

HOLDER = """
import sys
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.lease import hold_tables
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


def test_who_waited_for_a_file_that_was_removed_takes_the_new_one(settings, monkeypatch):
    """Its lock would be on a file that nobody else looks at."""
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


def test_leases_of_a_remote_lake_are_kept_on_this_machine():
    folder = lease_folder("gs://bucket/lake")
    assert folder.is_absolute()
    assert folder != lease_folder("gs://bucket/other")
