"""Up to which commit the catalog was brought, kept in the lake: what looks at a lake needs no catalog for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.catalogs import CatalogTable
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.filesystem import Filesystem

_PATH = ".catalog/synced.json"
_AT, _TABLES = "at", "tables"


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """``at`` is the clock of the last sync that ended, "" without one; ``instants`` are by names in the catalog."""

    at: str
    instants: Mapping[str, str]


class SyncedTables:
    """The file ``<base>/.catalog/synced.json``."""

    def __init__(self, settings: Settings) -> None:
        self._files = Filesystem(settings.base_path)

    def read(self) -> Synced:
        """What the last syncs have done; nothing when the file is not there, or cannot be read."""
        try:
            content = json.loads(self._files.read(_PATH) or b"{}")
            return Synced(at=str(content[_AT]), instants=dict(content[_TABLES]))
        except (ValueError, TypeError, KeyError):
            return Synced(at="", instants={})

    def remember(self, tables: Iterable[CatalogTable], clock: datetime, *, is_partial: bool) -> None:
        """The catalog has these tables as they are here; of a part of the lake the others stay as they were."""
        before = self.read().instants if is_partial else {}
        instants = {**before, **{each.name: each.instant for each in tables}}
        content = {_AT: format_clock(clock), _TABLES: instants}
        self._files.write(_PATH, json.dumps(content, indent=1, sort_keys=True).encode())
