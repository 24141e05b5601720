"""Leases as objects of an S3 server, written on conditions: they expire after two seconds here."""

from __future__ import annotations

import json
import signal
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import LeaseLostError, SettingsError, TableBusyError, TransientError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage import s3_leases
from spark_jobs.storage.lease import check_lease, hold_tables
from spark_jobs.storage.s3_leases import Lease, open_client
from tests.support.aws import BUCKET
from tests.support.other_machines import another_machine
from tests.support.processes import wait_until

pytestmark = [pytest.mark.services, pytest.mark.usefixtures("s3")]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3_leases, "EXPIRES_SECONDS", 2.0)
    monkeypatch.setattr(s3_leases, "RENEW_SECONDS", 0.5)
    monkeypatch.setattr(s3_leases, "_POLL_SECONDS", 0.1)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(base_path=f"s3a://{BUCKET}/{tmp_path.name}", lease_wait_seconds=0)


def lease_of(settings: Settings, who: str = "me") -> Lease:
    key = f"{settings.base_path.rpartition('/')[2]}/.leases/units.lease"
    return Lease(client=open_client(), bucket=BUCKET, key=key, who=who)


def is_lost(settings: Settings) -> bool:
    try:
        check_lease("units", settings)
    except LeaseLostError:
        return True
    return False


def test_the_holder_is_named_and_other_tables_and_lakes_stay_free(settings: Settings):
    with another_machine(settings) as other:
        with pytest.raises(TableBusyError) as caught, hold_tables(["units"], job="ingest", settings=settings):
            pytest.fail("two writers hold one table")
        assert f'"pid": {other.process.pid}' in caught.value.holder
        with hold_tables(["agents"], job="split", settings=settings):
            check_lease("agents", settings)
        with hold_tables(["units"], job="split", settings=replace(settings, base_path=f"s3a://{BUCKET}/another")):
            assert other.look() == "still held"


def test_it_can_be_taken_again_at_once(settings: Settings):
    for _ in range(3):
        with hold_tables(["units", "agents", "units"], job="split", settings=settings):
            check_lease("units", settings)


def test_it_is_renewed_for_as_long_as_it_is_held(settings: Settings):
    with another_machine(settings) as other:
        with (
            pytest.raises(TableBusyError),
            hold_tables(["units"], job="split", settings=replace(settings, lease_wait_seconds=5)),
        ):
            pytest.fail("two writers hold one table")
        assert other.look() == "still held"


def test_the_lease_of_a_killed_holder_expires(settings: Settings):
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


def test_one_whose_object_another_client_wrote_is_lost(settings: Settings):
    with hold_tables(["units"], job="split", settings=settings):
        check_lease("units", settings)
        mine = lease_of(settings)
        mine.client.put_object(Bucket=BUCKET, Key=mine.key, Body=b'{"holder": "another"}')
        wait_until(lambda: is_lost(settings), "the holder finds out", limit_seconds=10)
    assert json.loads(mine.client.get_object(Bucket=BUCKET, Key=mine.key)["Body"].read()) == {"holder": "another"}


def test_of_many_that_try_at_once_one_gets_it(settings: Settings):
    leases = [lease_of(settings, str(number)) for number in range(8)]
    barrier = threading.Barrier(len(leases))
    holders: list[str] = []

    def take(lease: Lease) -> None:
        barrier.wait()
        holders.append(lease.take())

    threads = [threading.Thread(target=take, args=(lease,)) for lease in leases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert holders.count("") == 1
    assert sum(lease.is_held() for lease in leases) == 1


def test_a_write_whose_answer_was_lost_is_found_again(settings: Settings):
    class Forgetful:
        """Writes, and then answers what the server says to the client's second try."""

        def __init__(self, client):
            self.client, self.exceptions = client, client.exceptions

        def put_object(self, **given):
            self.client.put_object(**given)
            return self.client.put_object(**given)

        def get_object(self, **given):
            return self.client.get_object(**given)

    mine = lease_of(settings)
    mine.client = Forgetful(mine.client)
    assert mine.take() == ""
    assert mine.is_held()
    assert lease_of(settings, "another").take() == "me"


def test_a_bucket_that_is_not_there_is_a_setting_to_correct(settings: Settings):
    held = hold_tables(["units"], job="split", settings=replace(settings, base_path="s3a://missing-bucket/lake"))
    with pytest.raises(SettingsError, match=r"s3://missing-bucket/lake/.leases/units.lease.* needs s3:GetObject"), held:
        pytest.fail("a lease in no bucket")


def test_a_store_that_does_not_answer_may_be_tried_again(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with ExitStack() as stack, pytest.raises(TransientError, match="run again later"):
        stack.enter_context(hold_tables(["units"], job="split", settings=settings))
