"""Leases between machines, on a real ZooKeeper: sessions end after two seconds here."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import SettingsError, TableBusyError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.lease import check_lease, hold_tables
from tests.support.other_machines import another_machine
from tests.support.zookeeper import running_zookeeper

pytestmark = pytest.mark.services


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
    unreachable = replace(settings, lock_servers="127.0.0.1:1")
    held = hold_tables(["units"], job="split", settings=unreachable)
    with pytest.raises(SettingsError, match=r"no ZooKeeper answers at LAKEHOUSE_LOCK_SERVERS=127.0.0.1:1"), held:
        pytest.fail("a lease without a server")
