"""How old a table may be before it is reported: its promise, declared in the lake spec."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spark_jobs.contracts.errors import ContractError, raise_all


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshnessPromise:
    """Two promises in minutes; 0 promises nothing."""

    behind_minutes: int = 15
    """Commit time: what has reached the lake (a landing file, a commit of a table that is read) is in the table by
    then."""
    event_minutes: int = 4320
    """Event time: the newest event that is in the table happened at most so long ago. It finds a source that went
    silent, so it has to be longer than the business's nights and weekends."""

    def __post_init__(self) -> None:
        raise_all(self._mistakes())

    def _mistakes(self) -> Iterator[ContractError]:
        for name in self.__dataclass_fields__:
            if (value := getattr(self, name)) < 0:
                yield ContractError(f"freshness: {name} is {value}; give minutes, or 0 to promise nothing", at=(name,))
