"""How values are written on the page: times, sizes, states."""

from __future__ import annotations

from datetime import datetime

from spark_jobs.contracts.instants import Instant, moment_of
from spark_jobs.overview.models import Edge

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")


def size(count: int) -> str:
    """``1.2 MB``; of 1,000 bytes to a kB."""
    value, unit = float(count), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"{count:,} bytes" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def counted(count: int, word: str) -> str:
    """``1 commit``, ``1,200 commits``."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def span(seconds: float) -> str:
    """``2 h 5 min``; what is under a minute in seconds."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    parts = ((minutes // 1440, "d"), (minutes // 60 % 24, "h"), (minutes % 60, "min"))
    return " ".join(f"{count} {unit}" for count, unit in parts if count)


def at(instant: Instant | None) -> str:
    """An instant as a time of UTC; itself where it is none."""
    if not instant:
        return "never"
    try:
        return f"{moment_of(instant):%Y-%m-%d %H:%M:%S}"
    except ValueError:
        return instant


def ago(moment: datetime | None, now: datetime) -> str:
    """How long before now."""
    return "-" if moment is None else f"{span((now - moment).total_seconds())} ago"


def lag_of(edge: Edge, now: datetime) -> tuple[str, str]:
    """The colour of an edge, and how far its reader is behind, in words."""
    if edge.is_lost:
        return "bad", "its place is lost: it reads the whole table next"
    if edge.waiting_since is None:
        return ("ok", "nothing waits") if edge.behind == 0 else ("none", "")
    commits = f"{counted(edge.behind, 'commit')} behind, " if edge.behind else ""
    return "note", f"{commits}the oldest of {ago(edge.waiting_since, now)}"
