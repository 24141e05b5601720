"""Which topics are the lake's: those whose names match a pattern of its spec, compared without case."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase


def is_topic(name: str, patterns: Iterable[str]) -> bool:
    """True for a topic, or a folder named like one, that the lake reads."""
    return any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)
