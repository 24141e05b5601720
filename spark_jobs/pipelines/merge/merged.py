"""What a merge did: to each table, and what it read."""

from __future__ import annotations

from dataclasses import dataclass, field

from spark_jobs.contracts.instants import InstantRange
from spark_jobs.contracts.results import TableOutcome


@dataclass(kw_only=True)
class MergeOutcome:
    """What a run did to each table: its outcome, or why it failed; what was read, and why from the start.

    ``blocked`` is why no table of the wide log was written. ``messages`` has a line for each expectation that failed,
    or that waits for a column.
    """

    outcomes: dict[str, TableOutcome] = field(default_factory=dict)
    failed: dict[str, Exception] = field(default_factory=dict)
    blocked: Exception | None = None
    events: int = 0
    window: InstantRange | None = None
    resyncs: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def raise_failed(self) -> None:
        """Raise the first error, for those who need every table."""
        for error in (self.blocked, *self.failed.values()):
            if error is not None:
                raise error

    def add_window(self, window: InstantRange) -> None:
        """Add what one part read of the log."""
        known = self.window or window
        first, last = min(window.after, known.after), max(window.up_to, known.up_to)
        self.window = InstantRange(after=first, up_to=last)

    def add(self, outcome: TableOutcome) -> None:
        """Add what one part did to a table."""
        known = self.outcomes.get(outcome.table)
        rows, is_committed = (known.rows, known.is_committed) if known else (0, False)
        self.outcomes[outcome.table] = TableOutcome(
            table=outcome.table,
            instant=outcome.instant,
            rows=rows + outcome.rows,
            is_committed=is_committed or outcome.is_committed,
        )
