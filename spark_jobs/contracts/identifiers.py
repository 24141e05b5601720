"""Names that the lake gives: snake_case identifiers, safe in SQL and as a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.names import show
from spark_jobs.contracts.places import Steps

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,62}")


def is_identifier(name: object) -> bool:
    """True for a plain snake_case identifier, safe in SQL and as a folder."""
    return isinstance(name, str) and _IDENTIFIER.fullmatch(name) is not None


def check_identifier(name: object, what: str, *, at: Steps = ()) -> None:
    """Raise ContractError unless ``name`` is a plain snake_case identifier; ``at`` is its place in its entry."""
    raise_all(wrong_identifier(name, what, at=at))


def wrong_identifier(name: object, what: str, *, at: Steps = ()) -> Iterator[ContractError]:
    """What :func:`check_identifier` raises, for those who collect."""
    if not is_identifier(name):
        yield ContractError(
            f"{what} {show(name)} is not a snake_case identifier (a-z, 0-9, _; at most 63 characters); rename it", at=at
        )
