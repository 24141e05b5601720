"""Which requests to a store fail, and at which it stops: the same for the same seed, and never too many in a row."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.faults import pairs, store_stops
from tests.faults.slices import ALL, PAIRS
from tests.faults.stops import AFTER, BEFORE
from tests.faults.store_faults import CALM, CONDITIONAL, WEIGHTS, Fault, Request, Switch, Weather
from tests.faults.store_stops import around_completion_and_elsewhere

INSTANT, ID = "20260101123000123", "01234567-89ab-cdef-0123-456789abcdef"
COMMIT = f"/b/lake/t/.hoodie/{INSTANT}.deltacommit"
CONDITION = {"if-match": '"a"'}


def put(path: str = COMMIT, **headers: str) -> Request:
    return Request(
        method="PUT", target=path, headers={name.replace("_", "-"): value for name, value in headers.items()}
    )


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        (put(), "PUT /t/.hoodie/<instant>.deltacommit"),
        (put(f"/b/lake/t/{ID}-0_0-12-34_{INSTANT}.parquet"), "PUT /t/<id>-0_<task>_<instant>.parquet"),
        (put("/b/lake/t/a%3Db/f", x_amz_copy_source="b/lake/g"), "COPY /t/a=b/f"),
        (Request(method="POST", target="/b/lake/t/f?uploads"), "POST /t/f?uploads"),
        (put("/b/lake/t/f?uploadId=xyz&partNumber=1"), "PUT /t/f?partNumber&uploadId"),
        (Request(method="POST", target="/b?delete", keys=("lake/t/f", "lake/t/g")), "POST /t/f?delete"),
        (Request(method="GET", target="/b/?list-type=2&prefix=lake%2Ft"), "GET /t?list-type&prefix"),
        (Request(method="HEAD", target="/b/lake"), "HEAD /"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_request_is_known_by_what_it_does_and_to_what(request_: Request, name: str):
    assert request_.name_below("/b/lake") == name


def test_a_store_stops_before_a_request_or_right_after_it_and_reads_go_on():
    reads = Request(method="GET", target=COMMIT)
    for is_done, fault in ((False, Fault.SLOW_DOWN), (True, Fault.LOST)):
        switch = Switch()
        switch.stop("/b/lake/", "PUT /t/.hoodie/<instant>.deltacommit #2", is_done=is_done)
        sent = [put("/b/lake/t/f"), put(), reads, put("/b/lakes/t"), put(), put(), put("/b/lake/t/g"), reads]
        found = [switch.decide(each).fault for each in sent]
        assert found == [None, None, None, None, fault, Fault.SLOW_DOWN, Fault.SLOW_DOWN, None]
        assert switch.is_reached
        commits = [f"PUT /t/.hoodie/<instant>.deltacommit #{number}" for number in (1, 2, 3)]
        assert switch.operations == ["PUT /t/f #1", *commits, "PUT /t/g #1"]
        switch.disarm()
        assert switch.decide(put()) == CALM
        assert switch.is_reached


@pytest.mark.parametrize("path", [f"/b/lake/t/.hoodie/.heartbeat/{INSTANT}", "/b/lake/.leases/t.lease"])
def test_what_a_timer_writes_again_is_no_operation_and_fails_once_the_store_has_stopped(path: str):
    switch = Switch()
    switch.stop("/b/lake", "PUT /t/f #1")
    beats, stop = [put(path)] * 3, put("/b/lake/t/f")
    assert [switch.decide(each).fault for each in [*beats, stop, *beats]] == [None] * 3 + [Fault.SLOW_DOWN] * 4
    assert len(switch.operations) == 2


def test_the_same_seed_does_the_same_to_the_same_requests_in_whatever_order_they_come():
    sent = [put(f"/b/lake/t/{number % 50:02}-{name}") for number in range(1000) for name in "ab"]

    def faults_of(seed: int, requests: list[Request]) -> dict[str, list[Fault | None]]:
        switch, found = Switch(), dict[str, list[Fault | None]]()
        switch.blow("/b/lake", Weather(seed=seed))
        for each in requests:
            found.setdefault(each.target, []).append(switch.decide(each).fault)
        return found

    assert faults_of(3, sent) == faults_of(3, sorted(sent, key=lambda each: each.target)) != faults_of(4, sent)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_request_fails_more_often_in_a_row_than_its_client_tries(most: int):
    switch = Switch()
    switch.blow("/b/lake", Weather(seed=1, conditional_rate=0.9, most_in_a_row=most))
    failed = "".join("x" if switch.decide(put(**CONDITION)).fault else "." for _ in range(500))
    assert max(map(len, re.findall("x+", failed))) == most


def test_every_fault_comes_and_only_writes_on_a_condition_come_late():
    switch, seen = Switch(), {True: Counter[Fault](), False: Counter[Fault]()}
    switch.blow("/b/lake", Weather(seed=1, rate=0.3, conditional_rate=0.3, longest_delay=0.25))
    for number in range(3000):
        for headers in ({}, CONDITION):
            decision = switch.decide(put(f"/b/lake/t/f-{number % 100}-{len(headers)}", **headers))
            if decision.fault:
                seen[bool(headers)][decision.fault] += 1
                assert 0 <= decision.seconds <= 0.25
    assert set(seen[False]) == set(WEIGHTS) == set(Fault) - {Fault.LATE}
    assert set(seen[True]) == set(CONDITIONAL) == set(Fault)
    assert switch.faults == seen[True] + seen[False]


def test_places_are_around_what_ends_a_scenario_and_spread_over_the_rest():
    end = "PUT /t/.hoodie/<instant>.deltacommit #1"
    operations = ["PUT /.leases/t.lease #1", *(f"PUT /t/f-{number} #1" for number in range(6)), end, "DELETE /t/m #1"]
    assert around_completion_and_elsewhere(2)(operations) == [(end, BEFORE), (end, AFTER)]
    found = list(around_completion_and_elsewhere(6)(operations))
    assert len(set(found)) == 6
    assert {side for _, side in found} == {BEFORE, AFTER}
    assert {name for name, _ in around_completion_and_elsewhere(99)(operations)} == set(operations)


def test_pairs_are_many_spread_over_the_operations_and_the_same_every_time():
    assert sum(pairs.FIRSTS * pairs.SECONDS for share in ALL if share.part == PAIRS) >= pairs.LEAST
    points = [(f"PUT {number}", BEFORE) for number in range(40)]
    chosen = pairs.spread(points, 5, "append/first")
    assert chosen == pairs.spread(points, 5, "append/first") != pairs.spread(points, 5, "delta/first")
    assert [points.index(at) // 8 for at in chosen] == [0, 1, 2, 3, 4]
    assert pairs.spread(points[:2], 5, "") == points[:2]
    assert pairs.spread([], 5, "") == []


def test_what_stops_on_a_store_are_kinds_of_the_file_systems_campaign():
    assert set(store_stops.KINDS) < set(pairs.TABLE_KINDS)
    assert len(store_stops.KINDS) >= 8
