"""Which instant of each mart the serving store has, kept in the lake: the jobs that write marts know no database.

From the first run of ``serve`` on, a mart's commits keep what they change (:mod:`spark_jobs.storage.change_feed`), for
as long as the instant that was served is on its timeline. So a store that is used no more costs nothing after the
archive has passed it. The truth is what the store itself says; a place that was lost or is another store's costs one
replacement of all rows.
"""

from __future__ import annotations

import json

from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.timeline import Timeline

FOLDER = ".serving"
_INSTANT = "instant"


class ServedPlaces:
    """The files ``<base>/.serving/<mart>.json``."""

    def __init__(self, settings: Settings) -> None:
        self._files = Filesystem(settings.base_path)

    def read(self, mart: str) -> Instant | None:
        """The instant that was served last; None when the mart was never served, or the file cannot be read."""
        try:
            content = json.loads(self._files.read(_path(mart)) or b"{}")
            return Instant(str(content[_INSTANT]))
        except (ValueError, TypeError, KeyError):
            return None

    def write(self, mart: str, instant: Instant) -> None:
        """Replace it in one step; not touched when it is the same."""
        if self.read(mart) != instant:
            self._files.write(_path(mart), json.dumps({_INSTANT: instant}).encode())

    def is_on(self, timeline: Timeline) -> bool:
        """True when the instant that was served is on the mart's timeline, so that the store can read on from there."""
        place = self.read(timeline.table)
        return place is not None and timeline.holds(place)


def _path(mart: str) -> str:
    return f"{FOLDER}/{mart}.json"
