"""Addresses of Spark Connect sessions: a run has one, and further ones beside it for work side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import UUID, uuid4, uuid5

_SESSION = re.compile(r"(?<=;session_id=)[0-9a-fA-F-]{36}(?=;|$)")


def sibling_address(remote: str, number: int) -> str:
    """The address of the session with this number, from 1, beside the one of ``remote``.

    Its id follows from the id in ``remote``, so that another process can find it; without one there it is a new one.
    """
    if own := _SESSION.search(remote):
        return f"{remote[: own.start()]}{uuid5(UUID(own[0]), str(number))}{remote[own.end() :]}"
    address = remote if "/;" in remote else f"{remote.rstrip('/')}/"
    return f"{address.rstrip(';')};session_id={uuid4()}"


def sessions_of(remote: str, most: int) -> Iterator[str]:
    """The address of a run's session, and of those that it may have beside it, ``most`` in all."""
    yield remote
    yield from (sibling_address(remote, number) for number in range(1, most))
