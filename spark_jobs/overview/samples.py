"""The state of a lake as numbers: what an overview says, by the metrics of :mod:`spark_jobs.contracts.metric_names`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from spark_jobs.contracts import metric_names as names
from spark_jobs.contracts.arguments import parse_clock
from spark_jobs.contracts.checkpoints import needed_from
from spark_jobs.contracts.instants import Instant, moment_of
from spark_jobs.contracts.metric_names import Metric
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.lake import LakeReading, tables_of
from spark_jobs.overview.models import TableOverview
from spark_jobs.quality.verdicts import Outcome
from spark_jobs.storage.consumer_places import ConsumerPlace, PlaceState
from spark_jobs.storage.timeline import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One value of a metric, with a value for each of its own labels."""

    metric: Metric
    labels: tuple[str, ...] = ()
    value: float


def samples_of(reading: LakeReading) -> Iterator[Sample]:
    """What is known of tables and of those who read them."""
    for table in tables_of(reading):
        timeline = reading.timelines.get(table.name)
        is_known = timeline is not None and not table.problem
        yield _of(names.READABLE, int(not table.problem), table.name)
        yield from _held(table, reading.now)
        if timeline is not None and is_known:
            yield from _table(table, timeline, reading.spec, reading.now)
            for place in table.consumers:
                yield from _consumer(place, timeline, reading.now)
    yield _of(names.SOURCE_READABLE, int(not reading.source_problem))


def quarantine_samples(open_records: Mapping[str, int]) -> Iterator[Sample]:
    """Of the open records of the quarantine, by reason."""
    yield from (_of(names.QUARANTINE_OPEN, count, reason) for reason, count in sorted(open_records.items()))


def _of(metric: Metric, value: float, *labels: str) -> Sample:
    return Sample(metric=metric, labels=labels, value=float(value))


def _table(table: TableOverview, timeline: Timeline, spec: LakeSpec, now: datetime) -> Iterator[Sample]:
    name = table.name
    yield from _freshness(table, now)
    if table.last and (begun := _moment(table.last)):
        yield _of(names.LAST_COMMIT, begun.timestamp(), name)
    for metric, base, logs in (
        (names.FILES, table.files.base_files, table.files.log_files),
        (names.BYTES, table.files.base_bytes, table.files.log_bytes),
    ):
        yield _of(metric, base, name, "base")
        yield _of(metric, logs, name, "log")
    yield _of(names.TIMELINE, table.commits, name)
    yield _of(names.TIMELINE_TARGET, spec.targets(name).archive_commits, name)
    plans = len(timeline.pending_plans)
    yield _of(names.PENDING_PLANS, plans, name)
    yield _of(names.PENDING_WRITES, len(timeline.pending) - plans, name)
    yield _of(names.PENDING_SECONDS, max((_age(time, now) for time in timeline.pending), default=0.0), name)


def _freshness(table: TableOverview, now: datetime) -> Iterator[Sample]:
    found = table.freshness
    if found is None:
        return
    waiting = _since(found.waiting_since, now) if found.waiting_since else 0.0
    yield _of(names.WAITING, waiting, table.name)
    if found.promise.behind_minutes:
        yield _of(names.WAITING_PROMISED, 60 * found.promise.behind_minutes, table.name)
    if found.newest_event:
        yield _of(names.FRESHNESS, _since(found.newest_event, now), table.name)
    if found.promise.event_minutes:
        yield _of(names.FRESHNESS_PROMISED, 60 * found.promise.event_minutes, table.name)


def _held(table: TableOverview, now: datetime) -> Iterator[Sample]:
    hold = table.held
    yield _of(names.HELD, int(hold is not None), table.name)
    yield _of(names.HELD_SECONDS, _since(parse_clock(hold.since), now) if hold else 0.0, table.name)
    failed = {(each.expectation, each.outcome.value) for each in (table.quality.not_held if table.quality else ())}
    failed |= {(name, Outcome.STOPPED.value) for name in (hold.expectations if hold else ())}
    yield from (_of(names.EXPECTATION_FAILED, 1, table.name, *each) for each in sorted(failed))


def _consumer(place: ConsumerPlace, timeline: Timeline, now: datetime) -> Iterator[Sample]:
    labels, needed = (place.consumer, timeline.table), needed_from(place.checkpoint)
    yield _of(names.LOST, int(place.state is PlaceState.LOST), *labels)
    if place.state is not PlaceState.ON_TIMELINE:
        return
    unread = (w.time for w in timeline.writes if w.time > place.checkpoint and not timeline.is_service(w))
    first = next(unread, None)
    yield _of(names.LAG, place.behind, *labels)
    yield _of(names.LAG_SECONDS, _age(first, now) if first else 0.0, *labels)
    yield _of(names.HEADROOM, sum(1 for write in timeline.writes if write.time < needed), *labels)


def _age(instant: Instant, now: datetime) -> float:
    moment = _moment(instant)
    return _since(moment, now) if moment else 0.0


def _moment(instant: Instant) -> datetime | None:
    try:
        return moment_of(instant)
    except ValueError:  # an instant that is no time
        return None


def _since(moment: datetime, now: datetime) -> float:
    """Seconds; 0 for a moment that is later, as by a clock of the source."""
    return max(0.0, (now - moment).total_seconds())
