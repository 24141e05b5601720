"""Errors of jobs that ran to their end and found what must not be: they report a result all the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spark_jobs.contracts.errors import LakehouseError, TerminalError, TransientError
from spark_jobs.contracts.results import JobResult

_MOST_TABLES = 3


class ReportedError(LakehouseError):
    """The job ran to its end and found what must not be; ``result`` is what it reports all the same."""

    result: JobResult | None = None


class GateStoppedError(ReportedError, TerminalError):
    """Rows that were about to be written break what is expected of their tables; none of them was written.

    ``stopped`` says of each table what was expected and seen.
    """

    def __init__(self, *, stopped: Mapping[str, Sequence[str]], result: JobResult | None = None) -> None:
        self.stopped, self.result = stopped, result
        super().__init__(
            f"nothing new was written to {', '.join(stopped)}, readers keep what they have: {_each(stopped)}; "
            f"correct the source and run again, or accept it once: "
            f"publish accept --table {next(iter(stopped), '')} --because …"
        )


class DefinitionChangedError(ReportedError, TerminalError):
    """The files define marts or tables otherwise than their rows; ``changed`` says which parts. None was written."""

    def __init__(self, *, changed: Mapping[str, Sequence[str]], result: JobResult | None = None) -> None:
        self.changed, self.result = changed, result
        parts = "; ".join(f"{table}: {', '.join(names)} changed" for table, names in changed.items())
        super().__init__(
            f"blocked, the rows stay as they were computed: {parts}; see what that would change with the DAG "
            f"apply_changes, or with: plan, then: preview and apply; or put the files back"
        )


class AuditFailedError(ReportedError, TerminalError):
    """Committed rows break what is expected of their tables; ``failed`` says of each what was expected and seen."""

    def __init__(self, *, failed: Mapping[str, Sequence[str]], result: JobResult) -> None:
        self.failed, self.result = failed, result
        super().__init__(
            f"held after the commit, the serving store keeps its last state: {_each(failed)}; "
            f"correct the source, or accept it: publish accept --table {next(iter(failed), '')} --because …"
        )


class TablesFailedError(ReportedError):
    """Some tables could not be written, and the others were; ``failed`` says of each why."""

    def __init__(self, *, failed: Mapping[str, str], result: JobResult, exit_code: int) -> None:
        self.failed, self.result, self.exit_code = failed, result, exit_code
        super().__init__(
            f"{len(failed)} of {len(result.tables)} tables failed, the others were written: {_first_few(failed)}; "
            f"the next run of the job continues from their checkpoints"
        )


class StaleTablesError(ReportedError, TerminalError):
    """Tables are older than they promise to be; ``late`` says of each what is the matter."""

    def __init__(self, *, late: Mapping[str, str], result: JobResult) -> None:
        self.late, self.result = late, result
        super().__init__(
            f"{len(late)} tables are older than they promise to be: {_first_few(late)}; docs/runbooks/freshness.md "
            f"says what to do"
        )


class ChecksFailedError(ReportedError, TerminalError):
    """Rows break rules of their tables."""

    def __init__(self, *, broken: dict[str, int], result: JobResult) -> None:
        self.broken, self.result = broken, result
        counts = ", ".join(f"{check} ({rows:,})" for check, rows in broken.items())
        super().__init__(
            f"{len(broken)} of {result.counters['checks']} checks found rows: {counts}; look at the rows by their keys "
            f"with query, and correct them where they come from"
        )


class ChecksUndecidedError(ReportedError, TransientError):
    """No check found a row, and some could not be run: the tables that they read were never made."""

    def __init__(self, *, tables: list[str], result: JobResult) -> None:
        self.tables, self.result = tables, result
        super().__init__(
            f"{result.counters['missing']} of {result.counters['checks']} checks cannot be run: there is no commit "
            f"of {', '.join(tables)} yet; run the jobs that make them, or name other tables (--tables)"
        )


def _each(found: Mapping[str, Sequence[str]]) -> str:
    """What was found in each table."""
    return "; ".join(f"{table}: {', '.join(lines)}" for table, lines in found.items())


def _first_few(reasons: Mapping[str, str]) -> str:
    """The reasons of the first tables, and how many more there are."""
    lines = [f"{table}: {reason}" for table, reason in reasons.items()]
    more = len(lines) - _MOST_TABLES
    return "; ".join(lines[:_MOST_TABLES]) + (f" (and {more} more)" if more > 0 else "")
