"""The proxy before a store: each fault as a client sees it and as the store has it afterwards; then leases through it.

The store is a small one of this process (tests/support/small_store.py), the clients are http.client and boto3.
"""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from spark_jobs.contracts.errors import TransientError
from spark_jobs.storage import s3_leases
from spark_jobs.storage.s3_leases import Lease
from tests.faults.store_faults import CALM, Decision, Fault, Request, Switch, Weather
from tests.faults.store_proxy import StoreProxy
from tests.support.http_servers import running_server
from tests.support.processes import wait_until
from tests.support.small_store import SmallStore
from tests.support.without_aws import forget_aws

KEY = "/lake/t/.hoodie/20260101000000000.commit"
DONE = (Fault.LOST, Fault.ERROR_AFTER, Fault.TRUNCATED, Fault.REPEATED, Fault.DELAYED, Fault.LATE)
NOT_HEARD = (Fault.RESET, Fault.LOST, Fault.TRUNCATED, Fault.LATE)
_LONG = 60
"""Seconds that no request takes, on whatever machine."""


class Chosen(Switch):
    """Does what a test says to the next request."""

    def __init__(self) -> None:
        super().__init__()
        self.next = CALM
        self.open = threading.Event()
        """Requests wait until it is set: the proxy decides in its one thread, so all of it waits."""
        self.open.set()

    def decide(self, request: Request) -> Decision:
        assert self.open.wait(_LONG)
        decision, self.next = self.next, CALM
        return decision


@dataclass(frozen=True)
class Web:
    """A store, the proxy before it and its switch."""

    store: SmallStore
    proxy: StoreProxy
    switch: Chosen

    def request(self, method: str, target: str, body: bytes = b"", **headers: str) -> tuple[int, bytes, dict[str, str]]:
        """An answer, on a connection of its own."""
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(http.client.HTTPConnection(self.proxy.address, timeout=_LONG)) as connection:
            connection.request(method, target, body or None, fields)
            answer = connection.getresponse()
            return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}

    def fail(self, fault: Fault, seconds: float = 0.0) -> None:
        self.switch.next = Decision(fault, seconds)


@pytest.fixture
def web() -> Iterator[Web]:
    """Each test has its own: a late request of the test before would write into a store that they share."""
    store, switch = SmallStore(), Chosen()
    with running_server(store) as port, StoreProxy(switch, server=f"127.0.0.1:{port}") as proxy:
        yield Web(store, proxy, switch)


def test_what_is_not_to_fail_goes_through_unchanged(web: Web):
    status, body, fields = web.request("PUT", KEY, b"one")
    assert (status, body, web.store.objects) == (200, b"", {KEY: b"one"})
    for method, content in (("GET", b"one"), ("HEAD", b"")):
        status, body, found = web.request(method, KEY)
        assert (status, body, found["etag"], found["content-length"]) == (200, content, fields["etag"], "3")
    assert web.request("PUT", KEY, b"two", If_Match=fields["etag"])[0] == 200
    assert web.request("PUT", KEY, b"three", If_Match=fields["etag"])[0] == 412
    assert web.request("GET", "/lake/t?list-type=2")[1] == KEY.encode()
    assert web.request("DELETE", KEY)[0] == 204
    assert (web.request("GET", KEY)[0], web.request("HEAD", KEY)[1]) == (404, b"")


def test_a_connection_serves_request_after_request_also_in_pieces_and_with_permission(web: Web):
    with closing(http.client.HTTPConnection(web.proxy.address, timeout=_LONG)) as connection:
        for number in range(3):
            connection.request("PUT", f"{KEY}.{number}", iter([b"a" * 10, b"b" * 5]), encode_chunked=True)
            assert connection.getresponse().read() == b""
    host, port = web.proxy.address.split(":")
    with closing(socket.create_connection((host, int(port)), timeout=_LONG)) as client:
        client.sendall(f"PUT {KEY} HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n".encode())
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(b"two")
        assert client.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")
    pieces = {f"{KEY}.{number}": b"a" * 10 + b"b" * 5 for number in range(3)}
    assert web.store.objects == {KEY: b"two", **pieces}


@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name)
def test_a_write_is_carried_out_or_not_and_heard_of_or_not(web: Web, fault: Fault):
    web.fail(fault)
    if fault in NOT_HEARD:
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            web.request("PUT", KEY, b"one")
    else:
        status, body, _ = web.request("PUT", KEY, b"one")
        assert status == {Fault.ERROR: 500, Fault.ERROR_AFTER: 500, Fault.SLOW_DOWN: 503}.get(fault, 200)
        assert (b"<Code>SlowDown</Code>" in body) is (fault is Fault.SLOW_DOWN)
    wait_until(lambda: len(web.store.changes) == writes_of(fault), "the writes of this fault")
    assert web.store.objects == ({KEY: b"one"} if fault in DONE else {})


def writes_of(fault: Fault) -> int:
    return 2 if fault in (Fault.REPEATED, Fault.LATE) else int(fault in DONE)


@pytest.mark.parametrize("fault", [fault for fault in DONE if fault is not Fault.LATE], ids=lambda fault: fault.name)
def test_a_list_shows_what_was_written_at_once_though_the_answer_was_lost(web: Web, fault: Fault):
    web.fail(fault)
    with suppress(ConnectionError, http.client.HTTPException):
        web.request("PUT", KEY, b"one")
    assert web.request("GET", "/lake/?list-type=2")[1] == KEY.encode()
    web.fail(fault)
    with suppress(ConnectionError, http.client.HTTPException):
        web.request("DELETE", KEY)
    assert web.request("GET", "/lake/?list-type=2")[1] == b""


def test_a_body_that_breaks_off_is_noticed(web: Web):
    web.request("PUT", KEY, b"0123456789")
    web.fail(Fault.TRUNCATED)
    with pytest.raises(http.client.IncompleteRead) as caught:
        web.request("GET", KEY)
    assert caught.value.partial == b"01234"


def test_a_write_on_a_condition_that_comes_twice_is_refused_though_it_was_done(web: Web):
    web.fail(Fault.REPEATED)
    assert web.request("PUT", KEY, b"one", If_None_Match="*")[0] == 412
    assert web.store.objects == {KEY: b"one"}


def test_what_comes_late_comes_after_what_came_meanwhile(web: Web):
    web.fail(Fault.LATE, seconds=0.05)
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        web.request("PUT", KEY, b"one", If_None_Match="*")
    web.request("PUT", KEY, b"two")
    web.fail(Fault.LATE, seconds=0.0)
    with pytest.raises((ConnectionError, http.client.HTTPException)):
        web.request("PUT", f"{KEY}.2", b"one")
    wait_until(lambda: web.store.changes.count(f"PUT {KEY}.2") == 2, "the second one")
    assert web.store.objects[KEY] == b"two"


@pytest.mark.parametrize("fault", [Fault.ERROR, Fault.SLOW_DOWN, Fault.ERROR_AFTER])
def test_an_error_as_the_answer_to_head_has_no_body_that_the_next_answer_would_begin_with(web: Web, fault: Fault):
    """A client would wait for the end of a head that never comes; S3A does for minutes."""
    web.fail(fault)  # to the first of two requests
    host, port = web.proxy.address.split(":")
    with closing(socket.create_connection((host, int(port)), timeout=_LONG)) as client:
        for status in (b"HTTP/1.1 50", b"HTTP/1.1 404 "):
            client.sendall(f"HEAD {KEY} HTTP/1.1\r\n\r\n".encode())
            answer = b""
            while not answer.endswith(b"\r\n\r\n"):
                answer += client.recv(1000)
            assert answer.startswith(status)
            assert b"<" not in answer


def test_what_is_delayed_is_not_carried_out_once_the_client_has_given_up(web: Web):
    web.fail(Fault.DELAYED, seconds=0.05)
    web.switch.open.clear()
    host, port = web.proxy.address.split(":")
    with closing(socket.create_connection((host, int(port)), timeout=_LONG)) as client:
        client.sendall(f"PUT {KEY} HTTP/1.1\r\nContent-Length: 3\r\n\r\none".encode())
    web.switch.open.set()  # only now, so that the client has gone before the delay begins, on however slow a machine
    wait_until(lambda: web.switch.next == CALM, "the request was seen", limit_seconds=_LONG)
    web.fail(Fault.DELAYED, seconds=0.3)
    assert web.request("GET", KEY)[0] == 404


def test_a_store_that_is_not_there_slows_down():
    with StoreProxy(Switch(), server="127.0.0.1:9") as proxy:
        assert Web(SmallStore(), proxy, Chosen()).request("GET", KEY)[0] == 503


def client_of(proxy: StoreProxy) -> Any:
    """A client that tries once: what its own tries would hide is the lease's to bear."""
    import boto3
    from botocore.config import Config

    config = Config(
        retries={"mode": "standard", "max_attempts": 1}, s3={"addressing_style": "path"}, read_timeout=_LONG
    )
    return boto3.client("s3", endpoint_url=f"http://{proxy.address}", config=config)


def test_leases_bear_every_fault_and_have_one_holder_at_most(web: Web, monkeypatch: pytest.MonkeyPatch):
    """Three processes take, renew and let go for a while in a storm; none waits for longer than a lease lives."""
    forget_aws(monkeypatch, AWS_DEFAULT_REGION="eu-central-1", AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="y")
    clock = [1000.0]
    monkeypatch.setattr(s3_leases, "now", lambda: clock[0])
    switch = Switch()
    with StoreProxy(switch, server=web.proxy.server) as proxy:
        client, taken, free = client_of(proxy), 0, 0
        switch.blow("/lake", Weather(seed=7, rate=0.1, conditional_rate=0.5, longest_delay=0.005))
        leases = [Lease(client=client, bucket="lake", key="l/.leases/t.lease", who=f"p{n}") for n in range(3)]
        for turn in range(20):
            for lease in leases:
                clock[0] += 1.0
                try:
                    taken += not lease.take()
                except TransientError:
                    continue
                assert sum(each.is_held() for each in leases) <= 1
            free += not any(each.is_held() for each in leases)
            if turn % 3 == 2:
                for lease in leases:
                    if lease.is_held():
                        lease.release()
        assert taken > 5
        assert free < 10
        assert {Fault.LOST, Fault.REPEATED, Fault.LATE} <= {*switch.faults}
