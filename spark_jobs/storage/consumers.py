"""How far each consumer has read each source, and which state of its tables that holds for.

Every table's commit carries the checkpoint its rows are complete up to. A window that changes nothing in a table makes
no commit there, so progress over such windows is kept in a small file beside the tables, written after all of them. The
file is believed for a table only while that table's newest instant is still the one recorded: a table that was restored
or removed falls back to its own commits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from spark_jobs.contracts.instants import BEGINNING
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline

FOLDER = ".consumers"


def checkpoint_key(source: str) -> str:
    """The commit metadata key (without prefix) of the checkpoint on ``source``."""
    return f"checkpoint.{source}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerState:
    """What a consumer remembers: checkpoints by source, last instants by table, and free notes such as its clock."""

    checkpoints: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, str | None] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)


class ConsumerRegistry:
    """The consumers' files below ``<base>/.consumers``."""

    def __init__(self, base_path: str) -> None:
        self._files = Filesystem(base_path)

    def read(self, consumer: str) -> ConsumerState:
        """The remembered state; empty when there is none or it cannot be read (then everything is read again)."""
        try:
            content = json.loads(self._files.read(f"{FOLDER}/{consumer}.json") or b"{}")
            return ConsumerState(
                checkpoints=dict(content.get("checkpoints", {})),
                tables=dict(content.get("tables", {})),
                notes=dict(content.get("notes", {})),
            )
        except (ValueError, AttributeError, TypeError):
            return ConsumerState()

    def write(self, consumer: str, state: ConsumerState) -> None:
        """Replace the remembered state in one step; not touched when it is the same."""
        if state == self.read(consumer):
            return
        content = {"checkpoints": dict(state.checkpoints), "tables": dict(state.tables), "notes": dict(state.notes)}
        self._files.write(f"{FOLDER}/{consumer}.json", json.dumps(content, indent=1, sort_keys=True).encode())


def table_checkpoint(state: ConsumerState, timeline: Timeline, source: str) -> str:
    """The instant of ``source`` up to which the table holds everything."""
    own = timeline.newest_metadata(METADATA_PREFIX + checkpoint_key(source)) or BEGINNING
    if timeline.table in state.tables and state.tables[timeline.table] == timeline.last:
        return max(own, state.checkpoints.get(source, BEGINNING))
    return own
