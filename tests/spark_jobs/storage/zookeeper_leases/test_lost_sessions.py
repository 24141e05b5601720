"""A lease that is not to be had, and a session that ends: no server is needed for a client that has lost its own."""

from __future__ import annotations

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock

from spark_jobs.contracts.errors import TableBusyError, TransientError
from spark_jobs.storage.zookeeper_leases import hold_node


@pytest.fixture
def closed() -> KazooClient:
    """A client whose session is over: it answers every question with an error of its own."""
    return KazooClient("127.0.0.1:1")


@pytest.mark.parametrize("wait", [0, 1])
def test_a_session_that_ends_while_it_waits_may_be_tried_again(closed: KazooClient, wait: int):
    held = hold_node(closed, "s3a://lake/a", table="units", who="me", wait=wait)
    with pytest.raises(TransientError, match=r"^units: ZooKeeper was lost while waiting .*; run again$"), held:
        pytest.fail("a lease without a session")


@pytest.mark.parametrize(("contenders", "holder"), [(["the other", "me"], "the other"), ([], "unknown")])
def test_the_error_after_a_wait_in_vain_names_the_holder(
    closed: KazooClient, monkeypatch: pytest.MonkeyPatch, contenders: list[str], holder: str
):
    """The holder may have let go since, and then its name is not known."""

    def acquire(_lock: Lock, **waits: object) -> bool:
        assert waits == {"timeout": 7}
        raise LockTimeout("after 7 seconds")

    monkeypatch.setattr(Lock, "acquire", acquire)
    monkeypatch.setattr(Lock, "contenders", lambda _lock: contenders)
    held = hold_node(closed, "s3a://lake/a", table="units", who="me", wait=7)
    with pytest.raises(TableBusyError) as caught, held:
        pytest.fail("two writers hold one table")
    assert (caught.value.table, caught.value.holder, caught.value.waited_seconds) == ("units", holder, 7)


def test_a_lease_is_not_held_once_the_servers_do_not_answer_for_it(
    closed: KazooClient, monkeypatch: pytest.MonkeyPatch
):
    """Also while the client still takes itself for connected."""

    def acquire(lock: Lock, **_waits: object) -> bool:
        lock.is_acquired, lock.node = True, "mine"
        return True

    monkeypatch.setattr(Lock, "acquire", acquire)
    monkeypatch.setattr(KazooClient, "connected", True)
    with hold_node(closed, "s3a://lake/a", table="units", who="me", wait=0) as is_held:
        assert not is_held()
