"""One run of ``validate``: which rows are checked, what Great Expectations and the gates found, what is kept."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from pyspark.sql import DataFrame

from spark_jobs.context import AnyContext
from spark_jobs.contracts.arguments import format_clock, parse_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import BEGINNING, NO_INSTANT, Instant, moment_of
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.lake_spec.expectations import HISTORY_KINDS, ROW_KINDS, WHOLE_KINDS
from spark_jobs.quality.history import DAYS, judge_day, newest_whole_day
from spark_jobs.quality.holds import Holds
from spark_jobs.quality.record import AuditCheckpoint, QualityRecord
from spark_jobs.quality.results import QualityResult, ResultPlace, Stage, result_of, results_of_commit, results_of_hold
from spark_jobs.quality.suites import Suites
from spark_jobs.quality.verdicts import QUALITY_KEY, Outcome, Verdict
from spark_jobs.sql_analysis.mirror_expectations import TableExpectations
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.reader import Pull, plan_pull, read_as_of, read_pull
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.visible import rows_to_check

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """One table that is checked: what came since its last check, and whether all its rows are or these alone."""

    timeline: Timeline
    new: Pull
    is_whole: bool

    @property
    def table(self) -> str:
        """Its name."""
        return self.timeline.table

    @property
    def instant(self) -> Instant:
        """As of which the rows are checked."""
        return (self.timeline.last or BEGINNING) if self.is_whole else self.new.window.up_to

    @property
    def resync(self) -> str:
        """For people: why more is checked than came since; empty when it is not."""
        return f"{self.table}: resync: {self.new.resync_reason}" if self.new.resync_reason else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFinding:
    """What was found in a table, as of an instant."""

    instant: Instant
    verdicts: tuple[Verdict, ...]

    @property
    def stopped(self) -> tuple[Verdict, ...]:
        """Expectations with ``stop`` that failed and were not accepted."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome is Outcome.STOPPED)


def plan_audits(context: AnyContext, tables: Sequence[str], *, is_whole: bool) -> list[Audit]:
    """Which of the tables are checked: all that were made, or for increments those with commits that are due."""
    return _plan_audits(context, tables, QualityRecord(context.spec, context.settings).checkpoints(), is_whole=is_whole)


def count_to_check(context: AnyContext, outcomes: Sequence[TableOutcome]) -> int:
    """How many of the tables, as a job left them, :func:`plan_audits` would give for an increment.

    So that no process has to be started to find that it has nothing to check.
    """
    known = QualityRecord(context.spec, context.settings).checkpoints()
    checked = {name: known.get(name, AuditCheckpoint()).instant for name in context.spec.validated_tables}
    moved = [each.table for each in outcomes if each.instant and each.instant != checked.get(each.table, each.instant)]
    return len(_plan_audits(context, moved, known, is_whole=False))


def _plan_audits(
    context: AnyContext, tables: Sequence[str], known: Mapping[str, AuditCheckpoint], *, is_whole: bool
) -> list[Audit]:
    spec, settings, audits = context.spec, context.settings, list[Audit]()
    for name in tables:
        last = known.get(name, AuditCheckpoint())
        if not is_whole and not last.is_older_than(spec.quality.every_minutes, context.clock):
            continue
        timeline = Timeline(table=name, path=settings.table_path(name))
        timeline.check_readable()
        if timeline.last is None:
            continue
        new = plan_pull(timeline, after=last.instant)
        if is_whole or timeline.changes_in(new.window):
            audits.append(Audit(timeline=timeline, new=new, is_whole=is_whole))
    return audits


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """Checks the tables of a plan against their expectations, and keeps the results."""

    context: AnyContext
    expected: TableExpectations

    def audit(self, audits: Sequence[Audit], suites: Suites) -> dict[str, AuditFinding]:
        """Of each table of which something is expected, what Great Expectations found."""
        return dict(self._audit_each(audits, suites))

    def record(self, audits: Sequence[Audit], found: Mapping[str, AuditFinding]) -> TableOutcome:
        """Keep what the gates recorded of commits since the last check, and what was found; how far was checked."""
        results = [result for audit in audits for result in self._of_gates(audit)]
        for audit in audits:
            stage = Stage.WHOLE if audit.is_whole else Stage.INCREMENT
            verdicts = found[audit.table].verdicts if audit.table in found else ()
            place = self._place(audit.table, audit.instant)
            results += [result_of(verdict, place, stage) for verdict in verdicts]
        return self._write(results, audits)

    def judge_history(
        self, audits: Sequence[Audit], found: Mapping[str, AuditFinding], recorded: TableOutcome
    ) -> tuple[dict[str, AuditFinding], TableOutcome]:
        """How the last whole day of each table was, by the weeks before: added to what was found, and kept."""
        clock, tables = self.context.clock, [audit.table for audit in audits]
        usual = [e for table in tables for e in self.expected.of(table) if e.kind in HISTORY_KINDS]
        day = newest_whole_day(clock, self.context.spec.time_zone)
        figures = self._record.daily_figures(self.context.spark, usual, first=day - timedelta(days=DAYS), last=day)
        judged = list(judge_day(usual, figures, day))
        written = self._write([result for _, result in judged], ())
        together: dict[str, AuditFinding] = {}
        for audit in audits:
            before = found[audit.table].verdicts if audit.table in found else ()
            if all_of_it := (*before, *(v for v, _ in judged if v.expectation.table == audit.table)):
                together[audit.table] = AuditFinding(instant=audit.instant, verdicts=all_of_it)
        if written.is_committed:
            recorded = replace(written, rows=written.rows + recorded.rows)
        return together, recorded

    @property
    def _record(self) -> QualityRecord:
        return QualityRecord(self.context.spec, self.context.settings)

    def _audit_each(self, audits: Sequence[Audit], suites: Suites) -> Iterator[tuple[str, AuditFinding]]:
        instants: dict[str, Instant] = {}

        def rows(table: str) -> DataFrame:
            if table not in instants:
                timeline = Timeline(table=table, path=self.context.settings.table_path(table))
                timeline.check_readable()
                if timeline.last is None:
                    raise ContractError(
                        f"{table} was never made; run the job that makes it before what refers to it is checked"
                    )
                instants[table] = timeline.last
            whole_df = read_as_of(self.context.spark, self.context.settings.table_path(table), instants[table])
            return rows_to_check(whole_df, table, self.context.spec)

        # One state of each table, whether its rows are checked or referred to.
        instants.update({audit.table: audit.instant for audit in audits if audit.is_whole})
        for audit in audits:
            kinds = ROW_KINDS | WHOLE_KINDS if audit.is_whole else ROW_KINDS
            chosen = tuple(each for each in self.expected.of(audit.table) if each.kind in kinds)
            if chosen:
                log.info("checking %s: %d expectations", audit.table, len(chosen))
                rows_df = rows(audit.table) if audit.is_whole else self._increment(audit)
                verdicts = suites.check(audit.table, rows_df, chosen, rows, as_of=audit.instant)
                yield audit.table, AuditFinding(instant=audit.instant, verdicts=verdicts)

    def _increment(self, audit: Audit) -> DataFrame:
        new_df = read_pull(self.context.spark, audit.timeline.path, audit.new)
        return rows_to_check(new_df, audit.table, self.context.spec)

    def _of_gates(self, audit: Audit) -> Iterator[QualityResult]:
        expectations = {each.name: each for each in self.expected.of(audit.table)}
        if limit := self.context.spec.quarantine_limit.expectation(self.context.spec.log):
            expectations.setdefault(limit.name, limit)
        for write in audit.timeline.changes_in(audit.new.window):
            if recorded := audit.timeline.metadata(write).get(METADATA_PREFIX + QUALITY_KEY):
                yield from results_of_commit(recorded, self._place(audit.table, write.time), expectations)
        hold = Holds(self.context.settings).hold_of(audit.table)
        if hold and not hold.instant:
            day = self._day(parse_clock(hold.tried_at))
            place = ResultPlace(table=audit.table, instant=NO_INSTANT, day=day, about=hold.tried_at)
            yield from results_of_hold(hold, place, expectations)

    def _write(self, results: Sequence[QualityResult], audits: Sequence[Audit]) -> TableOutcome:
        at = format_clock(self.context.clock)
        checkpoints = {audit.table: AuditCheckpoint(instant=audit.new.window.up_to, at=at) for audit in audits}
        return self._record.write(self.context, results, checkpoints)

    def _place(self, table: str, instant: Instant) -> ResultPlace:
        return ResultPlace(table=table, instant=instant, day=self._day(moment_of(instant)))

    def _day(self, moment: datetime) -> str:
        return moment.astimezone(ZoneInfo(self.context.spec.time_zone)).date().isoformat()
