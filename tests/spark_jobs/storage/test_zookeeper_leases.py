"""Leases between machines, on a real ZooKeeper: sessions end after two seconds here.

The other machine is a process of its own: it takes the lease of ``units``, says so, and when a line comes on its
standard input it looks whether it still has it.
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
from spark_jobs.storage.lease import check_lease, hold_tables
from tests.support.zookeeper import running_zookeeper

pytestmark = pytest.mark.services

HOLDER = """
import sys
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage import zookeeper_leases
from spark_jobs.storage.lease import check_lease, hold_tables
zookeeper_leases.SESSION_SECONDS = 2.0
settings = Settings(base_path=sys.argv[1], lock_servers=sys.argv[2], lease_wait_seconds=30)
with hold_tables(["units"], job="split", settings=settings):
    print("held", flush=True)
    for line in sys.stdin:
        try:
            check_lease("units", settings)
            print("still held", flush=True)
        except Exception as error:
            print(f"{type(error).__name__}: {error}", flush=True)
"""


class Other:
    """That process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def look(self) -> str:
        assert self.process.stdin is not None
        self.process.stdin.write("look\n")
        self.process.stdin.flush()
        return self.hear()

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def another_machine(settings: Settings) -> Iterator[Other]:
    command = [sys.executable, "-c", HOLDER, settings.base_path, settings.lock_servers]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=PROJECT_ROOT
    ) as process:
        other = Other(process)
        assert other.hear() == "held"
        yield other
        process.kill()


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_zookeeper(tmp_path_factory.mktemp("zookeeper")) as servers:
        yield servers


@pytest.fixture
def settings(servers: str, tmp_path: Path) -> Settings:
    return Settings(base_path=f"s3a://lake/{tmp_path.name}", lock_servers=servers, lease_wait_seconds=0)


def test_the_holder_is_named_and_other_tables_and_lakes_stay_free(settings: Settings):
    with another_machine(settings) as other:
        with pytest.raises(TableBusyError) as caught, hold_tables(["units"], job="ingest", settings=settings):
            pytest.fail("two writers hold one table")
        assert f'"pid": {other.process.pid}' in caught.value.holder
        with hold_tables(["agents"], job="split", settings=settings):
            check_lease("agents", settings)
        with hold_tables(["units"], job="split", settings=replace(settings, base_path="s3a://lake/another")):
            assert other.look() == "still held"


def test_it_can_be_taken_again_and_again(settings: Settings):
    for _ in range(2):
        with hold_tables(["units", "agents", "units"], job="split", settings=settings):
            check_lease("units", settings)


def test_the_lease_of_a_killed_holder_ends_with_its_session(settings: Settings):
    with another_machine(settings) as other:
        other.process.send_signal(signal.SIGKILL)
        with hold_tables(["units"], job="split", settings=replace(settings, lease_wait_seconds=30)):
            check_lease("units", settings)


def test_a_holder_that_slept_too_long_finds_out_before_it_commits(settings: Settings):
    with another_machine(settings) as other:
        other.process.send_signal(signal.SIGSTOP)
        with hold_tables(["units"], job="split", settings=replace(settings, lease_wait_seconds=30)):
            other.process.send_signal(signal.SIGCONT)
            assert (
                other.look()
                == "LeaseLostError: units: the lease was lost while the table was written; run the job again"
            )
            check_lease("units", settings)


def test_a_server_that_is_not_there_is_a_setting_to_correct(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("spark_jobs.storage.zookeeper_leases._CONNECT_SECONDS", 1.0)
    nobody = replace(settings, lock_servers="127.0.0.1:1")
    held = hold_tables(["units"], job="split", settings=nobody)
    with pytest.raises(SettingsError, match=r"no ZooKeeper answers at LAKEHOUSE_LOCK_SERVERS=127.0.0.1:1"), held:
        pytest.fail("a lease of nobody")
