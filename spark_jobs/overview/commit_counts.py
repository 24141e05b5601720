"""What was committed since the first look: numbers that only grow, for rates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from spark_jobs.contracts import metric_names as names
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.metric_names import Metric
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.commits import commits_of
from spark_jobs.overview.lake import LakeReading
from spark_jobs.overview.models import CommitKind, CommitOverview
from spark_jobs.overview.samples import Sample
from spark_jobs.sources.discovery import read_ledger
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.timeline_steps import steps_of

_WRITTEN = "written"
"""Of what a gate counts: the rows that the commit's own statistics have too."""
_OUTCOMES = ("added", "changed", "removed", "upserted")
_Steps = frozenset[tuple[Instant, str]]


class CommitCounts:
    """Counts each step of a timeline once, from the first look at its table on, which itself counts nothing.

    By the set of steps and not by the newest of them: a write may end after one that began later, and what a restore or
    the archive took away is not counted again, nor taken back.
    """

    def __init__(self) -> None:
        self._counts: defaultdict[tuple[Metric, tuple[str, ...]], float] = defaultdict(float)
        self._known: dict[str, _Steps] = {}
        self._landed: Mapping[str, int] | None = None

    def look(self, reading: LakeReading) -> Iterator[Sample]:
        """Count what is new, and give every count."""
        for table, timeline in reading.timelines.items():
            self._look_at(reading.spec, table, timeline)
        if reading.spec.log in reading.timelines:
            self._look_at_ledger(reading.timelines[reading.spec.log])
        for (metric, labels), value in sorted(self._counts.items(), key=lambda each: (each[0][0].name, each[0][1])):
            yield Sample(metric=metric, labels=labels, value=value)

    def _look_at(self, spec: LakeSpec, table: str, timeline: Timeline) -> None:
        steps: _Steps = frozenset((step.time, step.action) for step in steps_of(timeline) if step.is_completed)
        known = self._known.get(table)
        self._known[table] = steps
        if known is None:
            self._begin(table)
        elif new := steps - known:
            first = Instant(f"{int(min(new)[0]) - 1:017d}")
            for commit in commits_of(spec, timeline, after=first):
                if (commit.instant, commit.action) in new:
                    self._count(commit)

    def _begin(self, table: str) -> None:
        """Every count that will grow begins at 0: the first growth is one too."""
        for kind in (CommitKind.WRITE, CommitKind.SERVICE):
            for metric in (names.COMMITS, names.BYTES_WRITTEN, names.COMMIT_SECONDS):
                self._counts[metric, (table, kind.value)] += 0
        for outcome in _OUTCOMES:
            self._counts[names.ROWS, (table, outcome)] += 0

    def _count(self, commit: CommitOverview) -> None:
        labels = (commit.table, commit.kind.value)
        self._counts[names.COMMITS, labels] += 1
        self._counts[names.BYTES_WRITTEN, labels] += commit.bytes
        self._counts[names.COMMIT_SECONDS, labels] += commit.seconds or 0.0
        if commit.kind is not CommitKind.WRITE:
            return
        rows = {outcome: getattr(commit, outcome) for outcome in _OUTCOMES}
        counted = commit.outcome.rows if commit.outcome else {}
        rows |= {name: count for name, count in counted.items() if name != _WRITTEN}
        for outcome, count in rows.items():
            self._counts[names.ROWS, (commit.table, outcome)] += count

    def _look_at_ledger(self, log_timeline: Timeline) -> None:
        """A file that grew is read on; one that is no longer remembered, or is read once more, takes nothing away."""
        landed = {path: entry.consumed for path, entry in read_ledger(log_timeline).items()}
        before = landed if self._landed is None else self._landed
        self._counts[names.LANDED, ()] += sum(max(0, size - before.get(path, 0)) for path, size in landed.items())
        self._landed = landed
