"""Sessions beside the one of a run: another process finds them by the run's own address."""

from __future__ import annotations

import re

import pytest

from spark_jobs.contracts.connect_sessions import sessions_of, sibling_address

OWN = "11111111-2222-4333-8444-555555555555"
_ID = re.compile(r";session_id=([0-9a-f-]{36})(?=;|$)")


@pytest.mark.parametrize(
    "remote",
    [f"sc://h:1/;session_id={OWN}", f"sc://h:1/;session_id={OWN};token=a%2Fb", f"sc://h/;user_id=me;session_id={OWN}"],
)
def test_ids_follow_from_the_runs_own_and_everything_else_stays(remote: str) -> None:
    found = [*sessions_of(remote, 7)]
    assert found[0] == remote
    assert found[1:] == [sibling_address(remote, number) for number in range(1, 7)]
    ids = [_ID.findall(address) for address in found]
    assert [len(each) for each in ids] == [1] * 7
    assert len({each[0] for each in ids}) == 7
    assert {_ID.sub("", address) for address in found} == {_ID.sub("", remote)}


@pytest.mark.parametrize("remote", ["sc://h:1", "sc://h:1/", "sc://h:1/;token=a", "sc://h:1/;token=a;"])
def test_a_run_without_an_id_gets_new_ones(remote: str) -> None:
    first, second = sibling_address(remote, 1), sibling_address(remote, 1)
    assert first != second
    assert first.startswith(f"{remote.split(';')[0].rstrip('/')}/;")
    assert ("token=a" in first) == ("token" in remote)
    assert len(_ID.findall(first)) == 1
