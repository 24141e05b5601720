"""At no moment two holders: leases as objects, with processes that sleep, networks that fail and answers that get lost.

The store is one of this process that answers as S3 does, and the clock goes on when a step says so: minutes of waiting
are nothing. That a real server answers so: tests/spark_jobs/storage/test_s3_leases.py.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from spark_jobs.contracts.errors import TransientError
from spark_jobs.storage import s3_leases
from spark_jobs.storage.s3_leases import EXPIRES_SECONDS, RENEW_SECONDS, Lease, hold_object
from tests.support.lease_store import Store


class Once:
    """Lets a holder renew one time."""

    def __init__(self) -> None:
        self.answers = [False, True]

    def wait(self, _seconds: float) -> bool:
        return self.answers.pop(0)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    store = Store()
    monkeypatch.setattr(s3_leases, "now", lambda: store.clock)
    return store


def lease_of(store: Store, name: str, key: str = "lake/.leases/units.lease") -> Lease:
    return Lease(client=store, bucket="b", key=key, who=name)


def renew(lease: Lease) -> None:
    once: Any = Once()
    lease.keep(once)


def step(rng: random.Random, store: Store, leases: list[Lease], holders: set[str]) -> None:
    """One thing that some process does; ``holders`` are those that took a lease and did not let it go."""
    lease = rng.choice(leases)
    store.is_down, store.loses_answers = rng.random() < 0.1, rng.random() < 0.15
    store.loses_for_good = rng.random() < 0.1
    store.slow = rng.choice((0.0, 0.0, 3.0, 15.0))

    def look_on() -> None:
        store.is_down = store.loses_answers = store.loses_for_good = False
        for other in leases:
            if other is not lease and other.who not in holders and not other.take():
                holders.add(other.who)

    store.meanwhile, fails = look_on, store.is_down or store.loses_for_good
    try:
        if lease.who not in holders:
            if not lease.take():
                holders.add(lease.who)
        elif rng.random() < 0.15:
            holders.discard(lease.who)
            lease.release()
            leases[leases.index(lease)] = lease_of(store, lease.who)
        else:
            renew(lease)
    except TransientError:
        assert fails
    store.is_down = store.loses_answers = store.loses_for_good = False
    store.meanwhile, store.slow = None, 0.0
    if store.late and rng.random() < 0.3:
        store.deliver_late(rng.choice(store.late))
    store.clock += rng.choice((0.0, RENEW_SECONDS, rng.uniform(0, EXPIRES_SECONDS / 2), rng.uniform(40, 62)))


@pytest.mark.parametrize("seed", range(60))
def test_whatever_sleeps_or_fails_there_is_one_holder_at_most(store: Store, seed: int) -> None:
    rng = random.Random(seed)
    leases = [lease_of(store, f"p{number}") for number in range(rng.randrange(2, 5))]
    holders: set[str] = set()
    for _ in range(120):
        step(rng, store, leases, holders)
        for seconds in (0.0, RENEW_SECONDS, EXPIRES_SECONDS - RENEW_SECONDS):
            store.clock += seconds
            assert sum(lease.is_held() for lease in leases if lease.who in holders) <= 1
            store.clock -= seconds


def test_a_renewed_lease_stays_for_hours_and_is_released_at_once(store: Store) -> None:
    mine, yours, theirs = (lease_of(store, name) for name in ("mine", "yours", "theirs"))
    assert mine.take() == ""
    for _ in range(1000):
        store.clock += RENEW_SECONDS
        renew(mine)
        assert mine.is_held()
        assert (yours.take(), theirs.take()) == ("mine", "mine")
    mine.release()
    assert yours.take() == ""
    assert (theirs.take(), yours.is_held()) == ("yours", True)


def test_one_of_a_process_that_is_gone_is_free_a_minute_after_it_was_seen_last(store: Store) -> None:
    gone, waiting, late = (lease_of(store, name) for name in ("gone", "waiting", "late"))
    assert gone.take() == ""
    store.clock += 10 * EXPIRES_SECONDS
    assert waiting.take() == "gone", "seen for the first time: perhaps it is renewed right now"
    store.clock += EXPIRES_SECONDS - 0.001
    assert (waiting.take(), late.take()) == ("gone", "gone")
    store.clock += 0.001
    assert waiting.take() == ""
    store.clock += EXPIRES_SECONDS / 2
    assert late.take() == "waiting", "what it had seen was another's"
    assert not gone.is_held()
    gone.release()
    assert waiting.is_held()
    renew(waiting)
    assert waiting.is_held()


def test_leases_of_other_tables_and_lakes_are_others(store: Store) -> None:
    keys = ("lake/.leases/units.lease", "lake/.leases/agents.lease", "lake/.leases/units.services.lease", "x/.leases/u")
    leases = [lease_of(store, "me", key) for key in keys]
    assert [lease.take() for lease in leases] == [""] * 4
    leases[1].release()
    assert [lease.is_held() for lease in (leases[0], *leases[2:])] == [True] * 3
    assert lease_of(store, "you", keys[1]).take() == ""
    assert lease_of(store, "you", keys[0]).take() == "me"


def test_a_holder_whose_network_is_back_in_time_keeps_it(store: Store) -> None:
    mine = lease_of(store, "mine")
    assert mine.take() == ""
    for _ in range(3):
        store.clock += RENEW_SECONDS
        store.is_down = True
        renew(mine)
        store.is_down = False
    assert mine.is_held()
    renew(mine)
    store.clock += EXPIRES_SECONDS - RENEW_SECONDS - 0.001
    assert mine.is_held()
    store.clock += 0.001
    assert not mine.is_held(), "another process might take it over before the next look"


@pytest.mark.parametrize("slow", [0.0, 5.0, 15.0, 40.0])
@pytest.mark.parametrize("is_renewal", [False, True])
def test_it_counts_from_when_others_may_have_seen_it(store: Store, slow: float, is_renewal: bool) -> None:
    """The store wrote at once and answered late: a minute after the write another one has it, and this one knows."""
    mine, yours = lease_of(store, "mine"), lease_of(store, "yours")
    if is_renewal:
        assert mine.take() == ""
    store.slow, store.meanwhile = slow, lambda: None if yours.take() == "mine" else pytest.fail("two holders")
    written = store.clock
    if is_renewal:
        renew(mine)
    else:
        assert mine.take() == ""
    assert mine.is_held() is (slow < EXPIRES_SECONDS - RENEW_SECONDS)
    store.slow, store.clock = 0.0, written + EXPIRES_SECONDS
    assert yours.take() == ""
    assert not mine.is_held()


def test_a_renewal_of_which_it_never_heard_is_still_its_own(store: Store) -> None:
    """The store wrote, and every answer was lost: the next renewal is refused by what this process wrote itself."""
    mine, yours = lease_of(store, "mine"), lease_of(store, "yours")
    assert mine.take() == ""
    for _ in range(20):
        store.clock += RENEW_SECONDS
        store.loses_for_good = True
        renew(mine)
        store.loses_for_good = False
        store.clock += RENEW_SECONDS
        renew(mine)
        assert mine.is_held()
        assert yours.take() == "mine"
    store.loses_for_good = True
    renew(mine)
    store.loses_for_good = False
    mine.release()
    assert yours.take() == "", "let go at once, though the tag was one that it had not heard of"


def test_one_that_was_taken_without_an_answer_is_its_own_when_it_is_taken_again(store: Store) -> None:
    mine, yours = lease_of(store, "mine"), lease_of(store, "yours")
    store.loses_for_good = True
    with pytest.raises(TransientError):
        mine.take()
    store.loses_for_good = False
    assert not mine.is_held()
    assert yours.take() == "mine"
    assert mine.take() == ""
    assert mine.is_held()


@pytest.mark.parametrize("writes", range(1, 5))
def test_a_write_that_arrives_late_changes_nothing(store: Store, writes: int) -> None:
    """Taken, renewed, let go, taken by another and let go: whichever of these requests comes again is refused."""
    mine, yours = lease_of(store, "mine"), lease_of(store, "yours")
    assert mine.take() == ""
    renew(mine)
    mine.release()
    assert yours.take() == ""
    yours.release()
    for request in store.late[-writes:] + store.late[:writes]:
        store.deliver_late(request)
    assert lease_of(store, "another").take() == ""


def test_it_is_waited_for_though_the_store_fails_meanwhile(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    outage = [True, True, False]

    def sleep(seconds: float) -> None:
        store.clock += seconds
        store.is_down = outage.pop(0)

    monkeypatch.setattr("spark_jobs.storage.s3_leases.time.sleep", sleep)
    store.is_down = True
    with hold_object(store, "s3a://b/lake", table="units", who="me", wait=30) as is_held:
        assert is_held()
    assert lease_of(store, "you").take() == ""


def test_one_that_may_have_been_taken_is_let_go_when_the_store_fails_for_too_long(store: Store) -> None:
    store.loses_for_good = True
    held = hold_object(store, "s3a://b/lake", table="units", who="me", wait=0)
    with pytest.raises(TransientError), held:
        pytest.fail("a lease that no one knows of")
    store.loses_for_good = False
    assert lease_of(store, "you").take() == ""
