"""What is wrong with a lake, for its page and for the doctor: one account of it.

Most is seen in what was read of the lake anyway (:func:`findings_of_reading`); the doctor, and the page that shows what
the doctor finds, list the files of every table (:func:`all_findings`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain

from spark_jobs.contracts.errors import LakehouseError
from spark_jobs.overview.lake import LakeReading, totals_of
from spark_jobs.overview.quarantine import MOST_BYTES, NotCountedError, open_records
from spark_jobs.quality.freshness import TableFreshness
from spark_jobs.quality.holds import Hold
from spark_jobs.storage.consumer_places import places_of
from spark_jobs.storage.doctor.ahead import check_kept
from spark_jobs.storage.doctor.checks import (
    check_checkpoints,
    check_consumers,
    check_erasure,
    check_listing,
    check_restores,
    check_temporary,
    check_undeclared_tables,
    check_version,
)
from spark_jobs.storage.doctor.findings import Ailment, Finding, first_of
from spark_jobs.storage.doctor.pressure import check_catalog, check_disk, check_lag, check_small_files
from spark_jobs.storage.doctor.timelines import check_timeline
from spark_jobs.storage.erasures import Erasures
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.timeline import Timeline

MANY_OPEN = 1_000
"""So many open records are no matter of single records any more."""
Deep = Callable[[TableState], Iterable[Finding]]


def findings_of_reading(reading: LakeReading) -> list[Finding]:
    """What is wrong by what was read: no file is listed, but for heartbeats and the like of what is unfinished."""
    spec, settings = reading.spec, reading.settings
    targets = {name: spec.targets(name) for name in reading.layouts}
    usable = {name: line for name, line in reading.timelines.items() if name not in reading.problems}
    return [
        *_unreadable(reading),
        *chain.from_iterable(
            check_timeline(line, targets[name], reading.now, may_have_clock=name in spec.mart_names)
            for name, line in usable.items()
        ),
        *check_consumers(usable, reading.consumers),
        *check_lag(places_of(reading.consumers, usable), targets),
        *(_held(hold) for hold in reading.held.values()),
        *_late(reading),
        *_quarantine(reading),
        *chain.from_iterable(
            check_small_files(layout, [(each.base, each.logs) for each in reading.files[name]], targets[name])
            for name, layout in reading.layouts.items()
        ),
        *check_catalog(reading.layouts, usable, settings, reading.now),
        *check_disk(settings.base_path, {name: totals_of(files).bytes for name, files in reading.files.items()}),
    ]


def all_findings(reading: LakeReading, tables: Collection[str], *, deep: Deep = lambda _: ()) -> Iterator[Finding]:
    """The same and what only files of the lake show, of these tables and of the lake itself.

    ``reading`` is one that keeps its listings. ``deep`` looks at the rows of a table.
    """
    spec, settings, clock = reading.spec, reading.settings, reading.now
    yield from (each for each in findings_of_reading(reading) if each.is_of(("", *tables)))
    for name in tables:
        if name in reading.listings and name not in reading.problems:
            yield from check_listing(reading.listings[name], clock)
            yield from deep(reading.listings[name])
    yield from (each for each in check_checkpoints(reading.timelines) if each.table in tables)
    yield from (each for each in check_kept(settings) if each.table in tables)
    yield from (each for each in check_restores(reading.timelines, settings) if each.table in ("", *tables))
    yield from check_erasure(Erasures(settings).pending())
    yield from check_undeclared_tables(spec, settings)
    yield from check_temporary(settings.base_path, clock)


def _unreadable(reading: LakeReading) -> Iterator[Finding]:
    for name, problem in reading.problems.items():
        known = list(_by_version(reading, name))
        yield from known or [
            Finding(
                table=name,
                ailment=Ailment.UNREADABLE,
                what=problem,
                then="look at its folder: what is there is no table, or its files are broken",
            )
        ]
    if reading.source_problem:
        yield Finding(
            table=reading.spec.log,
            ailment=Ailment.SOURCE,
            what=f"what was delivered could not be looked at: {reading.source_problem}",
            then="correct the setting, or start what does not answer",
        )


def _by_version(reading: LakeReading, name: str) -> Iterator[Finding]:
    try:
        yield from check_version(Timeline(table=name, path=reading.settings.table_path(name)))
    except (LakehouseError, OSError, ValueError):
        return


def _held(hold: Hold) -> Finding:
    seen = "what is served stays" if hold.instant else "readers keep the state before"
    return Finding(
        table=hold.table,
        ailment=Ailment.HELD,
        what=f"held since {hold.since}, {seen}: {'; '.join(hold.reasons)}",
        then=f"correct the source, or lakehouse quality accept {hold.table}",
    )


def _late(reading: LakeReading) -> Iterator[Finding]:
    """Tables that are behind, and a source that is late. One cause is one finding.

    A late source is one of the log, and not of every table; so are the tables that ``split`` writes, all of them.
    """
    now, log = reading.now, reading.spec.log
    known = [found for name in reading.freshness.tables if (found := _freshness(reading, name))]
    behind = [each for each in known if (each.is_made or each.table == log) and each.is_behind(now)]
    of_split = [each for each in behind if each.table in reading.spec.split_tables]
    if len(of_split) > 1:
        yield _split_stopped(log, of_split, now)
    for each in behind if len(of_split) < 2 else [each for each in behind if each not in of_split]:
        yield Finding(
            table=each.table,
            ailment=Ailment.BEHIND,
            what=f"{each.behind(now)}, promised within {each.promise.behind_minutes} minutes",
            then="see whether the job that writes it runs, and what its log says",
        )
    for each in (each for each in known if each.table == log and each.is_silent(now)):
        yield Finding(
            table=log,
            ailment=Ailment.SILENT,
            what=f"{each.silent(now)}, promised within {each.promise.event_minutes} minutes",
            then="look at the source and at what delivers from it",
        )


def _split_stopped(log: str, tables: Sequence[TableFreshness], now: datetime) -> Finding:
    """Of the log, since what waits is there; the one that waits longest says since when."""
    oldest = min(tables, key=lambda each: each.waiting_since or now)
    names = tuple(each.table for each in tables)
    return Finding(
        table=log,
        ailment=Ailment.BEHIND,
        what=f"{len(names)} tables that split makes of it are behind ({first_of(names)}): {oldest.behind(now)}, "
        f"promised within {oldest.promise.behind_minutes} minutes",
        then="see whether split runs, and what its log says",
        also=names,
    )


def _freshness(reading: LakeReading, name: str) -> TableFreshness | None:
    """How fresh a table is; None where what it reads cannot be read, which is a finding of its own."""
    try:
        return reading.freshness.of(name)
    except (LakehouseError, OSError, ValueError):
        return None


def _quarantine(reading: LakeReading) -> Iterator[Finding]:
    name = reading.spec.quarantine
    timeline = reading.timelines.get(name)
    if timeline is None or name in reading.problems:
        return
    totals = totals_of(reading.files[name])
    try:
        counts = open_records(reading.spec, timeline, reading.cache)
    except NotCountedError as error:
        yield Finding(
            table=name, ailment=Ailment.UNREADABLE, what=str(error), then="lakehouse quarantine list reads it by Spark"
        )
        return
    count, most = sum(counts.values()), max(counts, key=lambda reason: counts[reason], default="")
    what = f"{count:,} records are open, {counts[most]:,} of them {most}" if count >= MANY_OPEN else ""
    if totals.bytes > MOST_BYTES:
        what = f"it has {totals.bytes / 1024 / 1024:,.0f} MB, and is not counted here"
    if what:
        yield Finding(
            table=name,
            ailment=Ailment.QUARANTINE,
            what=what,
            then="lakehouse quarantine list; correct the cause, then replay or discard the records",
        )
