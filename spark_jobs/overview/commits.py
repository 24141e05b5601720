"""The steps of a table's timeline with what its commits say: rows, bytes, files, sources, gate."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from spark_jobs.contracts.instants import BEGINNING, Instant, moment_of
from spark_jobs.contracts.task_runs import parse_task
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.models import CommitKind, CommitOverview, GateOutcome
from spark_jobs.quality.results import ResultPlace, results_of_commit
from spark_jobs.quality.verdicts import QUALITY_KEY
from spark_jobs.storage.clocks import CLOCK_KEY
from spark_jobs.storage.commit_times import CompletedWrite
from spark_jobs.storage.consumers import checkpoint_key
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.timeline_steps import Step, steps_of
from spark_jobs.storage.writer import RUN_KEY, TASK_KEY

THREADS = 16
_CHECKPOINT = METADATA_PREFIX + checkpoint_key("")
_KINDS = {
    "rollback": CommitKind.ROLLBACK,
    "restore": CommitKind.RESTORE,
    "savepoint": CommitKind.SAVEPOINT,
    "clean": CommitKind.SERVICE,
    "compaction": CommitKind.SERVICE,
    "logcompaction": CommitKind.SERVICE,
    "clustering": CommitKind.SERVICE,
    "indexing": CommitKind.SERVICE,
}


def commits_of(
    spec: LakeSpec,
    timeline: Timeline,
    *,
    after: Instant = BEGINNING,
    most: int | None = None,
) -> Sequence[CommitOverview]:
    """The steps after an instant, oldest first; with ``most`` the newest of them. Only their files are read."""
    steps = [step for step in steps_of(timeline) if step.time > after]
    if most is not None:
        steps = steps[max(0, len(steps) - most) :]
    writes = {write.time: write for write in timeline.writes}
    chosen = [writes[step.time] for step in steps if step.is_completed and step.time in writes]
    read_contents(timeline, chosen)
    misdated = frozenset(timeline.misdated)
    return [_commit(spec, timeline, step, writes.get(step.time), misdated) for step in steps]


def read_contents(timeline: Timeline, writes: Iterable[CompletedWrite]) -> None:
    """Read the commit files of these writes side by side; what was read before is not read again."""
    wanted = list(writes)
    if len(wanted) > 1:
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(timeline.metadata, wanted))


def gate_of(spec: LakeSpec, timeline: Timeline, write: CompletedWrite) -> GateOutcome | None:
    """What a commit says of its gate; None when it says nothing."""
    stored = timeline.metadata(write).get(METADATA_PREFIX + QUALITY_KEY)
    if not stored:
        return None
    expectations = {each.name: each for each in spec.expectations if each.table == timeline.table}
    place = ResultPlace(table=timeline.table, instant=write.time, day="")
    rows: Mapping[str, int] = json.loads(stored)["rows"]
    return GateOutcome(instant=write.time, rows=rows, results=tuple(results_of_commit(stored, place, expectations)))


def _commit(
    spec: LakeSpec, timeline: Timeline, step: Step, write: CompletedWrite | None, misdated: frozenset[Instant]
) -> CommitOverview:
    if write is None or step.action == "savepoint" or not step.is_completed:
        kind = _kind_of_pending(timeline, step)
        return CommitOverview(table=timeline.table, instant=step.time, action=step.action, state=step.state, kind=kind)
    metadata, service = timeline.metadata(write), timeline.service_of(write)
    rows = timeline.row_counts(write)
    has_time = write.time > timeline.moved_up_to and write.time not in misdated
    return CommitOverview(
        table=timeline.table,
        instant=write.time,
        action=write.action,
        state=step.state,
        kind=CommitKind.SERVICE if service else CommitKind.WRITE,
        run=metadata.get(RUN_KEY, ""),
        clock=metadata.get(METADATA_PREFIX + CLOCK_KEY, ""),
        task=parse_task(metadata.get(TASK_KEY)),
        service=service,
        operation=timeline.operation_of(write),
        added=rows.added,
        changed=rows.changed,
        removed=rows.removed,
        upserted=rows.upserted,
        bytes=timeline.bytes_written(write),
        files=len(timeline.files_written(write)),
        seconds=_seconds(write) if has_time else None,
        read={key.removeprefix(_CHECKPOINT): at for key, at in metadata.items() if key.startswith(_CHECKPOINT)},
        outcome=None if service else gate_of(spec, timeline, write),
    )


def _kind_of_pending(timeline: Timeline, step: Step) -> CommitKind:
    if step.action in _KINDS:
        return _KINDS[step.action]
    return CommitKind.SERVICE if step.time in timeline.pending_plans else CommitKind.WRITE


def _seconds(write: CompletedWrite) -> float | None:
    """From the instant to the time of the file; None where the file is older, as by an object store's clock."""
    try:
        seconds = write.modified_ns / 1e9 - moment_of(write.time).timestamp()
    except ValueError:  # an instant that is no time
        return None
    return round(seconds, 3) if seconds >= 0 else None
