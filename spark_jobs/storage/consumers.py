"""How far each consumer has read each source, and which state of its tables that holds for.

Every table's commit carries the checkpoint its rows are complete up to. A window that changes nothing in a table makes
no commit there, so progress over such windows is kept in a small file beside the tables, written after all of them. The
file is believed for a table only while that table's newest instant is still the one recorded: a table that was restored
or removed falls back to its own commits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.instants import BEGINNING, Instant
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline

FOLDER = ".consumers"
SPLIT = "split"
"""The consumer that merges the log into tables. Every mart is one too, by its own name."""
OLD_MIRRORS = "mirrors"
"""What tables at the source had for a consumer in earlier releases."""
_MOVES = 6
"""How many of its last moves a consumer remembers: how often it reads."""


def own_consumers(spec: LakeSpec) -> frozenset[str]:
    """The lake's own: they keep their places themselves."""
    return frozenset({SPLIT, OLD_MIRRORS, *spec.mart_names})


def checkpoint_key(source: str) -> str:
    """The commit metadata key (without prefix) of the checkpoint on ``source``."""
    return f"checkpoint.{source}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerState:
    """What a consumer remembers: checkpoints by source, last instants by table, and free notes such as its clock.

    ``places`` are checkpoints by table, of a consumer whose tables are not all equally far on its one source.
    ``moved`` are the clocks at which it last got further, oldest first; no part of what it knows.
    """

    checkpoints: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, Instant | None] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    moved: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def from_content(cls, content: Mapping[str, Any]) -> ConsumerState:
        """What :meth:`to_content` gave; AttributeError, TypeError or ValueError when it is something else."""
        return cls(
            checkpoints=dict(content.get("checkpoints", {})),
            tables=dict(content.get("tables", {})),
            notes=dict(content.get("notes", {})),
            places=dict(content.get("places", {})),
            moved=tuple(map(str, content.get("moved", ()))),
        )

    def to_content(self) -> dict[str, Any]:
        """Itself for JSON."""
        return {
            "checkpoints": dict(self.checkpoints),
            "tables": dict(self.tables),
            "notes": dict(self.notes),
            "places": dict(self.places),
            "moved": self.moved,
        }


class ConsumerRegistry:
    """The consumers' files below ``<base>/.consumers``."""

    def __init__(self, base_path: str) -> None:
        self._files = Filesystem(base_path)

    def read(self, consumer: str) -> ConsumerState:
        """The remembered state; empty when there is none or it cannot be read (then everything is read again)."""
        try:
            return ConsumerState.from_content(json.loads(self._files.read(f"{FOLDER}/{consumer}.json") or b"{}"))
        except (ValueError, AttributeError, TypeError):
            return ConsumerState()

    def all(self) -> dict[str, ConsumerState]:
        """What every consumer remembers, by its name."""
        files = [entry.path.rsplit("/", 1)[-1] for entry in self._files.list_files(FOLDER)]
        names = [file.removesuffix(".json") for file in files if file.endswith(".json")]
        return {name: self.read(name) for name in names}

    def write(self, consumer: str, state: ConsumerState, clock: datetime) -> None:
        """Replace the remembered state in one step; not touched when it is the same. ``clock`` is the run's."""
        before = self.read(consumer)
        if state == before:
            return
        moved = before.moved
        if state.checkpoints != before.checkpoints:
            moved = (*moved, format_clock(clock))[-_MOVES:]
        content = replace(state, moved=moved).to_content()
        self._files.write(f"{FOLDER}/{consumer}.json", json.dumps(content, indent=1, sort_keys=True).encode())

    def forget(self, consumer: str) -> None:
        """Remove what is remembered; nothing happens when there is nothing."""
        self._files.delete(f"{FOLDER}/{consumer}.json")


def own_checkpoint(timeline: Timeline, source: str) -> str:
    """The instant of ``source`` up to which the table held everything when it was committed last."""
    return timeline.newest_metadata(METADATA_PREFIX + checkpoint_key(source)) or BEGINNING


def table_checkpoint(state: ConsumerState, timeline: Timeline, source: str) -> str:
    """The instant of ``source`` up to which the table holds everything."""
    own = own_checkpoint(timeline, source)
    if timeline.table in state.tables and state.tables[timeline.table] == timeline.last:
        # Written after that commit, so it knows better.
        return state.places.get(timeline.table, own) if state.places else state.checkpoints.get(source, own)
    return own
