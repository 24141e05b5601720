"""Ports of the loopback interface for servers that are about to start."""

from __future__ import annotations

import random
import socket
from collections.abc import Mapping
from pathlib import Path

from local_stack.errors import SetupError
from local_stack.servers.services import LOOPBACK

_GIVEN_OUT = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST, _TRIES = 16_384, 100
_chance = random.SystemRandom()
"""Not the tests' own, which are seeded: two runs side by side would try the same ports."""
_chosen: set[int] = set()
"""What this process was given already: a server that takes several ports listens on none while it chooses."""


def free_port() -> int:
    """A port that nothing listens on, below those that the system gives to any program that wants one.

    It may be seconds until its server listens, and its port is probed all the while. One of those the system might give
    away meanwhile, and another program would be taken for the server.
    """
    first_given_out = _first_given_out()
    for _ in range(_TRIES if first_given_out > _FIRST else 0):
        port = _chance.randrange(_FIRST, first_given_out)
        if port not in _chosen and is_port_free(port):
            _chosen.add(port)
            return port
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        given: int = probe.getsockname()[1]
        return given


def is_port_free(port: int) -> bool:
    """True when a server could listen on ``port`` of the loopback interface."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def choose_port(variable: str, environ: Mapping[str, str], *, preferred: int = 0) -> int:
    """The port that ``variable`` names, else ``preferred`` when it is free, else any free one.

    SetupError when the variable names no port, or one that is taken.
    """
    if text := environ.get(variable, ""):
        if not text.isdigit() or not 1 <= int(text) <= 65535:
            raise SetupError(
                f"{variable}={text!r} is not a port; give a number from 1 to 65535, or unset it for a free one"
            )
        if not is_port_free(int(text)):
            raise SetupError(
                f"port {text} ({variable}) is taken; stop what listens there, or unset {variable} for a free one"
            )
        return int(text)
    return preferred if preferred and is_port_free(preferred) else free_port()


def _first_given_out() -> int:
    """Where the ports begin that the system gives out; 0 where that is unknown."""
    try:
        return int(_GIVEN_OUT.read_text(encoding="ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return 0
