"""What the gate says of a batch: each expectation with what was seen, and whether the batch may be written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from spark_jobs.lake_spec.expectations import Expectation

QUALITY_KEY = "quality"
"""Under which a commit keeps what :func:`to_metadata` gives."""


class Outcome(StrEnum):
    """The outcome of an expectation for a batch."""

    HELD = "held"
    WARNED = "warned"
    QUARANTINED = "quarantined"
    STOPPED = "stopped"
    ACCEPTED = "accepted"
    """It would have stopped the batch, and a person had accepted that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One expectation on one batch: rows that were checked, rows that broke it, and the figure it is about, if any."""

    expectation: Expectation
    checked: int
    broken: int
    outcome: Outcome
    figure: str = ""
    note: str = ""
    """Who let it pass, and why."""

    @property
    def observed(self) -> str:
        """For people: ``12 of 1,000 rows broke it``, or the figure."""
        return observed_of(self.checked, self.broken, self.figure)

    @property
    def summary(self) -> str:
        """One line: what was expected and what was seen."""
        return f"{self.expectation.name} ({self.expectation.expected}): {self.observed}"


def observed_of(checked: int, broken: int, figure: str) -> str:
    """What was seen, for people."""
    return figure or f"{broken:,} of {checked:,} rows broke it"


def to_metadata(rows: Mapping[str, int], verdicts: Iterable[Verdict]) -> str:
    """What a commit keeps: counts of rows, and of each expectation name, checked, broken, outcome, figure and note."""
    rules = [[v.expectation.name, v.checked, v.broken, v.outcome.value, v.figure, v.note] for v in verdicts]
    return json.dumps({"rows": dict(rows), "rules": rules}, separators=(",", ":"), ensure_ascii=False)


def describe_verdicts(table: str, verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """A line for each expectation that did not hold, for the job's messages."""
    return tuple(f"{table}: {each.outcome}: {each.summary}" for each in verdicts if each.outcome is not Outcome.HELD)
