"""What was held back: tables whose last batch a gate stopped, and what a person has decided about it since.

A held table stays at its last good state; readers see nothing of the batch. The record is beside the tables, in
``.quality/held/<table>.json``, until a batch passes. What a person accepts is in ``.quality/accepted/<table>.json`` and
counts for the next commit of that table; of rows that are there it is in ``.quality/known/<table>.json`` and counts
until the table is right, or more rows break it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.instants import NO_INSTANT, Instant
from spark_jobs.contracts.job_errors import GateStoppedError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.expectations import HISTORY_KINDS
from spark_jobs.quality.verdicts import Outcome, Verdict
from spark_jobs.storage.filesystem import Filesystem

FOLDER = ".quality"
_HELD, _ACCEPTED, _KNOWN = "held", "accepted", "known"
_OLD_NAMES = {"told": "reasons"}
"""Fields of a hold as earlier releases wrote them."""
_NEVER = -1
"""In place of a number of rows: what a day's figure is accepted for says nothing of the next day's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """One table that is held: since when, by which job, for which reasons (lines for people), last tried when.

    ``instant`` is the state that was found wrong after its commit; empty when the gate kept the batch out.
    """

    table: str
    job: str
    since: str
    tried_at: str
    expectations: tuple[str, ...]
    reasons: tuple[str, ...]
    instant: Instant = NO_INSTANT
    broken: tuple[int, ...] = ()
    """How many rows broke each of the expectations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """A person's decision that the next commit of a table may break these expectations.

    With ``most`` it is about rows that are there: so many may break each of them, for as long as some do.
    """

    table: str
    expectations: tuple[str, ...]
    because: str
    by: str
    at: str
    most: tuple[int, ...] = ()

    def covers(self, verdict: Verdict) -> bool:
        """True when it is about what the verdict found."""
        limits = dict(zip(self.expectations, self.most or (verdict.broken,) * len(self.expectations), strict=True))
        return 0 <= verdict.broken <= limits.get(verdict.expectation.name, _NEVER)


class Holds:
    """The files below ``<base>/.quality``."""

    def __init__(self, settings: Settings) -> None:
        self._files = Filesystem(settings.base_path)

    def held(self) -> list[Hold]:
        """Every table that is held, by name."""
        found = (self.hold_of(table) for folder, table in self._listed() if folder == _HELD)
        return [hold for hold in found if hold is not None]

    def hold_of(self, table: str) -> Hold | None:
        """Why a table is held, or None."""
        content = self._files.read(f"{FOLDER}/{_HELD}/{table}.json")
        return None if content is None else Hold(**_fields(content))

    def hold(
        self, table: str, job: str, verdicts: Sequence[Verdict], clock: datetime, *, instant: Instant = NO_INSTANT
    ) -> None:
        """Remember what stopped a batch, or was found in the state at ``instant``; since when it is held stays."""
        known, now = self.hold_of(table), format_clock(clock)
        hold = Hold(
            table=table,
            job=job,
            since=known.since if known else now,
            tried_at=now,
            expectations=tuple(verdict.expectation.name for verdict in verdicts),
            reasons=tuple(verdict.summary for verdict in verdicts),
            instant=instant,
            broken=tuple(_NEVER if v.expectation.kind in HISTORY_KINDS else v.broken for v in verdicts),
        )
        self._write(f"{_HELD}/{table}.json", asdict(hold))

    def release(self, tables: Collection[str]) -> None:
        """Batches of these tables passed their gates: they are held no more, and what was accepted has been used.

        A state that was found wrong after its commit stays held.
        """
        for folder, table in self._listed():
            if table in tables and not ((hold := self.hold_of(table)) and hold.instant):
                self._files.delete(f"{FOLDER}/{folder}/{table}.json")

    def let_go(self, table: str) -> None:
        """The table is held no more, whatever it was held for."""
        self._files.delete(f"{FOLDER}/{_HELD}/{table}.json")

    def accept(self, acceptance: Acceptance) -> None:
        """Let the next commit of a table break what is named, or the rows that are there, when it is about them."""
        self._write(f"{_KNOWN if acceptance.most else _ACCEPTED}/{acceptance.table}.json", asdict(acceptance))

    def accepted(self, table: str) -> Acceptance | None:
        """What a person has accepted of a table and no commit has used yet."""
        return self._acceptance(f"{FOLDER}/{_ACCEPTED}/{table}.json")

    def known(self, table: str) -> Acceptance | None:
        """What a person has accepted of the rows that are there."""
        return self._acceptance(f"{FOLDER}/{_KNOWN}/{table}.json")

    def forget_known(self, table: str) -> None:
        """The table is right: what breaks it next is news."""
        self._files.delete(f"{FOLDER}/{_KNOWN}/{table}.json")

    def _acceptance(self, path: str) -> Acceptance | None:
        content = self._files.read(path)
        return None if content is None else Acceptance(**_fields(content))

    def _listed(self) -> list[tuple[str, str]]:
        """What there is: ``held`` or ``accepted``, and of which table."""
        files = [file.path.split("/")[-2:] for file in self._files.list_files(FOLDER, recursive=True)]
        return sorted((folder, name.removesuffix(".json")) for folder, name in files if folder in (_HELD, _ACCEPTED))

    def _write(self, path: str, content: dict[str, object]) -> None:
        self._files.write(f"{FOLDER}/{path}", json.dumps(content, indent=1, ensure_ascii=False).encode())


def let_pass(
    verdicts: Mapping[str, Sequence[Verdict]], *, job: str, clock: datetime, settings: Settings
) -> dict[str, tuple[Verdict, ...]]:
    """The verdicts by table, those that a person accepted marked so. Tables that are stopped are held.

    Raises:
        GateStoppedError: an expectation stops a batch, and no one accepted that.
    """
    holds = Holds(settings)
    decided = {table: accepted_of(of_table, holds.accepted(table)) for table, of_table in verdicts.items()}
    stopped = {table: [v for v in of_table if v.outcome is Outcome.STOPPED] for table, of_table in decided.items()}
    stopped = {table: found for table, found in stopped.items() if found}
    for table, found in stopped.items():
        holds.hold(table, job, found, clock)
    if stopped:
        raise GateStoppedError(stopped={table: [v.summary for v in found] for table, found in stopped.items()})
    return decided


def accepted_of(verdicts: Sequence[Verdict], acceptance: Acceptance | None) -> tuple[Verdict, ...]:
    """The verdicts, those that stop and that a person has accepted marked so."""
    if acceptance is None:
        return tuple(verdicts)
    note = f"{acceptance.by}, {acceptance.at}: {acceptance.because}"
    return tuple(
        replace(each, outcome=Outcome.ACCEPTED, note=note)
        if each.outcome is Outcome.STOPPED and acceptance.covers(each)
        else each
        for each in verdicts
    )


def _fields(content: bytes) -> dict[str, Any]:
    return {
        _OLD_NAMES.get(name, name): tuple(value) if isinstance(value, list) else value
        for name, value in json.loads(content).items()
    }
