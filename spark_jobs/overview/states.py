"""The state of a table in a few words, for the page and for the command."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum

from spark_jobs.overview.models import TableOverview
from spark_jobs.storage.consumer_places import PlaceState


class Level(StrEnum):
    """How bad it is, the worst first; also the name of its colour."""

    BAD = "bad"
    WARN = "warn"
    NOTE = "note"
    OK = "ok"
    NONE = "none"
    """There is nothing to judge yet."""


def state_of(table: TableOverview, now: datetime) -> tuple[Level, str]:
    """The worst that is the matter with a table, and all that is in words, the worst first."""
    found = sorted(_matters(table, now), key=lambda each: list(Level).index(each[0]))
    if not found:
        return (Level.OK, "fresh") if table.commits else (Level.NONE, "never made")
    return found[0][0], ", ".join(words for _, words in found)


def _matters(table: TableOverview, now: datetime) -> Iterator[tuple[Level, str]]:
    if table.problem:
        yield Level.BAD, f"cannot be used: {table.problem}"
    if table.held:
        yield Level.BAD, f"held back since {table.held.since}"
    if table.freshness and (words := table.freshness.behind(now)):
        yield Level.BAD, f"behind: {words}"
    if table.freshness and (words := table.freshness.silent(now)):
        yield Level.WARN, f"silent: {words}"
    if table.quality and (failed := len(table.quality.not_held)):
        yield Level.WARN, f"{failed:,} expectation{'' if failed == 1 else 's'} failed"
    if any(place.state is PlaceState.LOST for place in table.consumers):
        yield Level.WARN, "a consumer's place is lost"
    if table.pending:
        yield Level.NOTE, f"{len(table.pending)} pending"
