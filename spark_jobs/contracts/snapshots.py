"""How far the snapshots of a database's tables have come."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The reading of one table, from its beginning to its end.

    Parts are read in their order; ``column``, ``kind``, ``low``, ``high`` and ``parts`` say which they are.
    """

    source: Mapping[str, Any]
    """The source block of its events, with the position that the database had before the first part was read."""
    column: str
    """The column that parts are made by; empty: the table is one part."""
    kind: str
    low: int
    high: int
    parts: int
    done: int
    """Number of parts that are in the lake."""
    expected: int
    """Rows that the table had at the beginning."""
    read: int
    """Rows of the parts that are done."""

    @property
    def is_finished(self) -> bool:
        """True when every part is in the lake."""
        return self.done == self.parts


Snapshots = Mapping[str, Snapshot]
"""By server, schema and table, the last one that was begun."""
_FIELDS = ("source", "column", "kind", "low", "high", "parts", "done", "expected", "read")


def pack_snapshots(snapshots: Snapshots) -> str:
    """As short text for commit metadata, the same for the same snapshots."""
    by_origin = {origin: [getattr(each, name) for name in _FIELDS] for origin, each in sorted(snapshots.items())}
    return json.dumps(by_origin, separators=(",", ":"))


def unpack_snapshots(text: str | None) -> dict[str, Snapshot]:
    """Read what :func:`pack_snapshots` wrote; empty for None."""
    stored = json.loads(text) if text else {}
    return {origin: Snapshot(**dict(zip(_FIELDS, values, strict=True))) for origin, values in stored.items()}
