"""What a job reports: one JSON line that travels up; only instants travel between layers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import Instant

DONE = "done"
NOTHING_TO_DO = "nothing_to_do"
TO_CHECK = "tables_to_check"
"""The counter of tables that ``validate --increment`` would check after the job; at 0 it has nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOutcome:
    """One table after the job: ``instant`` is its last completed instant, ``rows`` what this run wrote to it."""

    table: str
    instant: Instant | None
    rows: int
    is_committed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceWindow:
    """What was read: instants of ``table`` after ``after`` (exclusive) up to ``up_to`` (inclusive)."""

    table: str
    after: Instant
    up_to: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """The outcome of one run of a job."""

    job: str
    status: str
    clock: str
    tables: tuple[TableOutcome, ...] = ()
    source: SourceWindow | None = None
    counters: Mapping[str, int] = field(default_factory=dict)
    messages: tuple[str, ...] = ()
    alerts: tuple[str, ...] = ()
    """What people get an alert about although the job did its work."""
    seconds: float = 0.0
    due: tuple[tuple[str, str], ...] = ()
    """Table and service of the table services that are due."""
    findings: Mapping[str, Any] = field(default_factory=dict)
    """What the job found, for programs: by table, in its own form."""

    def __post_init__(self) -> None:
        if self.status not in (DONE, NOTHING_TO_DO):
            raise ContractError(f"job status {self.status!r} is neither {DONE!r} nor {NOTHING_TO_DO!r}")

    def to_json(self) -> str:
        """One line of JSON with the fields of this class."""
        return json.dumps(asdict(self), separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> JobResult:
        """Read what :meth:`to_json` wrote; ContractError when it is something else."""
        try:
            fields = json.loads(text)
            tables = tuple(TableOutcome(**row) for row in fields.pop("tables"))
            source = fields.pop("source")
            messages, alerts = tuple(fields.pop("messages")), tuple(fields.pop("alerts", ()))
            due = tuple((table, service) for table, service in fields.pop("due", ()))
            window = SourceWindow(**source) if source else None
            return cls(tables=tables, source=window, messages=messages, alerts=alerts, due=due, **fields)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ContractError(
                f"not a job result: {text[:200]!r} ({error}); look at the log of the job above"
            ) from error
