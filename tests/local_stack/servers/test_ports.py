"""Ports for servers that are about to start: free, and given to no other until they listen."""

from __future__ import annotations

import random
import socket
from pathlib import Path

import pytest

from local_stack.errors import SetupError
from local_stack.servers import ports
from local_stack.servers.ports import choose_port, free_port, is_port_free
from local_stack.servers.services import LOOPBACK


def test_a_free_port_is_none_that_the_system_gives_to_others_meanwhile() -> None:
    first, last = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split())
    chosen = {free_port() for _ in range(50)}
    assert all(is_port_free(port) and not first <= port <= last for port in chosen)


def test_two_runs_with_the_same_seed_take_different_ports() -> None:
    taken = []
    for _ in range(2):
        random.seed(7)
        taken.append([free_port() for _ in range(5)])
    assert taken[0] != taken[1]


def test_a_port_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two listeners of one server would get the same port; nothing listens on it before the server starts."""
    tries = iter([20_000, 20_000, 20_001])
    monkeypatch.setattr(ports._chance, "randrange", lambda *_: next(tries))
    monkeypatch.setattr(ports, "is_port_free", lambda _: True)
    monkeypatch.setattr(ports, "_chosen", set())  # without what other tests were given
    assert [free_port(), free_port()] == [20_000, 20_001]


def test_where_the_systems_range_is_unknown_the_system_chooses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ports, "_GIVEN_OUT", tmp_path / "none")
    assert is_port_free(free_port())


def test_a_taken_port_is_refused_with_one_clear_line() -> None:
    with socket.socket() as taken:
        taken.bind((LOOPBACK, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not is_port_free(port)
        with pytest.raises(SetupError, match=rf"port {port} \(X_PORT\) is taken; .* unset X_PORT"):
            choose_port("X_PORT", {"X_PORT": str(port)})
        assert choose_port("X_PORT", {}, preferred=port) != port


def test_a_free_port_is_taken_as_wished() -> None:
    port = free_port()
    assert choose_port("X_PORT", {"X_PORT": str(port)}) == port
    assert choose_port("X_PORT", {}, preferred=port) == port


@pytest.mark.parametrize("text", ["http", "0", "70000", "-1"])
def test_a_wrong_port_is_refused(text: str) -> None:
    with pytest.raises(SetupError, match="is not a port"):
        choose_port("X_PORT", {"X_PORT": text})
