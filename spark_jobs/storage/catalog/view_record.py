"""Which views have to be made: what was made, and what the catalog says of it since, against what is wanted now.

An engine stores a view in its own form, so what is there cannot be compared with the statement that made it. A small
file of the lake, ``.views/<database>.json``, keeps for each view the fingerprint of its statement and of what the
catalog had of it afterwards: a view that was changed or dropped by another user is recreated too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.catalog.glue import Glue
from spark_jobs.storage.catalog.view_ddl import ViewDdl
from spark_jobs.storage.filesystem import Filesystem


class ViewRecord:
    """The views of one database in Glue's catalog, which is Athena's."""

    def __init__(self, database: str, settings: Settings) -> None:
        self._glue, self._files = Glue(database), Filesystem(settings.base_path)
        self._path = f".views/{database}.json"

    def changes(self, views: ViewDdl) -> tuple[list[str], list[str]]:
        """Names of those to be made, each after what it reads, and of those to be dropped, each before it.

        Made are those that are new, changed or gone, and views that read them: a view keeps the types of what it reads.
        Dropped are those that have no text any more and are still as they were made.
        """
        made, there = self._made(), self._there()
        changed: list[str] = []
        for name, statement in views.statements.items():
            is_there = made.get(name) == [_fingerprint(statement), there.get(name, "")]
            if not is_there or any(f'"{views.database}"."{other}"' in statement for other in changed):
                changed.append(name)
        ours = [name for name, (_, content) in made.items() if there.get(name) == content]
        return changed, [name for name in reversed(ours) if name not in {*views.statements, *views.missing}]

    def remember(self, views: ViewDdl) -> None:
        """All of them are there now."""
        there = self._there()
        made = {name: [_fingerprint(text), there.get(name, "")] for name, text in views.statements.items()}
        self._files.write(self._path, json.dumps(made).encode())

    def _made(self) -> Mapping[str, list[str]]:
        content = self._files.read(self._path)
        return json.loads(content) if content else {}

    def _there(self) -> dict[str, str]:
        if not self._glue.has_database():
            return {}
        return {name: _fingerprint(str(table.get("ViewOriginalText"))) for name, table in self._glue.tables().items()}


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
