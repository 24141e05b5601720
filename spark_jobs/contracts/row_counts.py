"""How many rows of a table a commit added, changed and removed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields

from spark_jobs.contracts.errors import ContractError

ROW_COUNTS_KEY = "row_counts"
"""Of a commit's metadata: the counts of the writer, which knows what was stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """Rows of one commit, as those who read the table see them.

    ``added`` were not there before, or were deleted; ``changed`` were there and are written again, with other values or
    a newer order; ``removed`` were there and are deleted now. ``upserted`` are rows of which the commit does not say
    whether they were there.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0
    upserted: int = 0

    @property
    def total(self) -> int:
        """Rows of every kind."""
        return self.added + self.changed + self.removed + self.upserted

    def to_metadata(self) -> dict[str, str]:
        """What a commit keeps of them, under ``ROW_COUNTS_KEY``."""
        return {ROW_COUNTS_KEY: json.dumps(asdict(self), separators=(",", ":"))}

    @classmethod
    def from_json(cls, text: str) -> RowCounts:
        """Read what a commit has under ``ROW_COUNTS_KEY``; ContractError when that is something else."""
        try:
            found = json.loads(text)
            return cls(**{each.name: int(found.get(each.name, 0)) for each in fields(cls)})
        except (ValueError, TypeError, AttributeError) as error:
            raise ContractError(
                f"{ROW_COUNTS_KEY} of a commit is no count of rows: {text[:100]!r} ({error}); report it with the commit"
            ) from error
