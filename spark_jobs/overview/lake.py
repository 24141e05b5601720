"""A lake as it is now, and one table of it: the graph, freshness, quality, readers, what is pending."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime

from spark_jobs.contracts.errors import LakehouseError
from spark_jobs.contracts.lake_errors import CommitTimesError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.cache import CACHE, LakeCache
from spark_jobs.overview.commits import THREADS, gate_of
from spark_jobs.overview.edges import edges_of
from spark_jobs.overview.kinds import kinds_of, reads_of
from spark_jobs.overview.models import Edge, FileTotals, LakeOverview, PartitionFiles, TableKind, TableOverview
from spark_jobs.quality.freshness import FreshnessOfLake, TableFreshness
from spark_jobs.quality.holds import Hold, Holds
from spark_jobs.sources.discovery import waits_since
from spark_jobs.storage.consumer_places import ConsumerPlace, places_of
from spark_jobs.storage.consumers import SPLIT, ConsumerRegistry, ConsumerState
from spark_jobs.storage.layouts import TableLayout, all_layouts
from spark_jobs.storage.services.state import TableState
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.timeline_steps import pending_steps
from spark_jobs.storage.writer import buckets_of

_UNREADABLE = (LakehouseError, OSError, ValueError)
"""What a folder raises that is no table, or whose files are broken: that table's problem, and of no other."""


@dataclass(frozen=True, kw_only=True)
class LakeReading:
    """What was listed and read of a lake at one moment. ``problems`` are why tables could not be, by their names.

    ``listings`` are all files of every table, where they were wanted.
    """

    spec: LakeSpec
    settings: Settings
    now: datetime
    cache: LakeCache
    layouts: Mapping[str, TableLayout]
    timelines: Mapping[str, Timeline]
    files: Mapping[str, tuple[PartitionFiles, ...]]
    consumers: Mapping[str, ConsumerState]
    held: Mapping[str, Hold]
    problems: Mapping[str, str]
    freshness: FreshnessOfLake
    source_problem: str = ""
    listings: Mapping[str, TableState] = field(default_factory=dict)


def lake_overview(spec: LakeSpec, settings: Settings, now: datetime, *, cache: LakeCache = CACHE) -> LakeOverview:
    """Everything about the tables of a lake that is seen without opening a data file.

    Args:
        spec: of the lake, with the tables that its patterns have found (:func:`read_lake_spec`).
        settings: where it is.
        now: freshness is judged at this time.
        cache: what was read before.
    """
    return overview_of(read_lake(spec, settings, now, cache=cache))


def overview_of(reading: LakeReading) -> LakeOverview:
    """The same of what was read."""
    return LakeOverview(
        lake=reading.spec.lake,
        now=reading.now,
        tables=tables_of(reading),
        edges=edges_of_reading(reading),
        source_problem=reading.source_problem,
    )


def read_lake(
    spec: LakeSpec, settings: Settings, now: datetime, *, cache: LakeCache = CACHE, keeps_listings: bool = False
) -> LakeReading:
    """List every table of a lake side by side, and read what consumers and holds keep beside them.

    With ``keeps_listings`` the files of every table are listed, whatever is known of them.
    """
    layouts = {layout.name: layout for layout in all_layouts(spec)}
    with ThreadPoolExecutor(THREADS) as threads:
        listed = threads.map(lambda layout: _look(layout, settings, cache, keeps_listings), layouts.values())
        consumers = threads.submit(ConsumerRegistry(settings.base_path).all)
        held = threads.submit(Holds(settings).held)
        looks = dict(zip(layouts, listed, strict=True))
    timelines = {name: look.timeline for name, look in looks.items() if look.timeline}
    waiting, source_problem = _delivered(spec, settings, now, timelines)
    known = consumers.result()
    states = {name: known.get(name, ConsumerState()) for name in (SPLIT, *spec.mart_names)}
    return LakeReading(
        spec=spec,
        settings=settings,
        now=now,
        cache=cache,
        layouts=layouts,
        timelines=timelines,
        files={name: look.files for name, look in looks.items()},
        listings={name: look.listing for name, look in looks.items() if look.listing},
        consumers=known,
        held={hold.table: hold for hold in held.result()},
        problems={name: look.problem for name, look in looks.items() if look.problem},
        source_problem=source_problem,
        freshness=FreshnessOfLake(
            spec=spec, settings=settings, waiting_since=waiting, timelines=dict(timelines), states=states
        ),
    )


def tables_of(reading: LakeReading) -> list[TableOverview]:
    """Every table, in the order of the lake's layers."""
    kinds, places = kinds_of(reading.spec), dict[str, list[ConsumerPlace]]()
    for place in places_of(reading.consumers, reading.timelines):
        places.setdefault(place.table, []).append(place)
    layers = {mart.name: mart.layer for mart in reading.spec.marts}
    promising = {*reading.freshness.tables}
    return [
        _table(reading, name, kinds[name], layers.get(name, ""), places.get(name, ()), promises=name in promising)
        for name in reading.layouts
    ]


def edges_of_reading(reading: LakeReading) -> list[Edge]:
    """The lake's graph, but for what could not be read."""
    return list(edges_of(reading.freshness, reading.timelines, reading.consumers))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    timeline: Timeline | None = None
    files: tuple[PartitionFiles, ...] = ()
    listing: TableState | None = None
    problem: str = ""


def _look(layout: TableLayout, settings: Settings, cache: LakeCache, keeps_listing: bool) -> _Look:
    try:
        timeline = cache.timeline(layout.name, settings.table_path(layout.name))
        timeline.check_version()
        if timeline.writes:
            timeline.metadata(timeline.writes[-1])
        problem = _lost_times(timeline)
        if keeps_listing:
            listing, files = cache.list_files(layout, timeline)
            return _Look(timeline=timeline, files=files, listing=listing, problem=problem)
        return _Look(timeline=timeline, files=cache.files(layout, timeline), problem=problem)
    except _UNREADABLE as error:
        return _Look(problem=_line(error))


def _lost_times(timeline: Timeline) -> str:
    """Its jobs refuse it then, but what its commits say can be shown."""
    try:
        timeline.check_readable()
    except CommitTimesError as error:
        return _line(error)
    return ""


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _delivered(
    spec: LakeSpec, settings: Settings, now: datetime, timelines: Mapping[str, Timeline]
) -> tuple[datetime | None, str]:
    if spec.log not in timelines:
        return None, ""
    try:
        return waits_since(spec, timelines[spec.log], settings, now), ""
    except _UNREADABLE as error:
        return None, _line(error)


def _table(
    reading: LakeReading,
    name: str,
    kind: TableKind,
    layer: str,
    places: Sequence[ConsumerPlace],
    *,
    promises: bool,
) -> TableOverview:
    layout, timeline = reading.layouts[name], reading.timelines.get(name)
    seen = TableOverview(
        name=name,
        kind=kind,
        layout=layout,
        layer=layer,
        buckets=layout.buckets,
        held=reading.held.get(name),
        reads=reads_of(reading.spec, name, kind),
        problem=reading.problems.get(name, ""),
    )
    if timeline is None:
        return seen
    newest_change = next((write for write in reversed(timeline.writes) if write.time == timeline.last), None)
    freshness, problem = _freshness(reading, name) if promises else (None, "")
    return replace(
        seen,
        problem=seen.problem or problem,
        buckets=buckets_of(layout, timeline) if timeline.writes else layout.buckets,
        newest=timeline.newest,
        last=timeline.last,
        commits=len(timeline.writes),
        files=totals_of(reading.files[name]),
        pending=pending_steps(timeline),
        freshness=freshness,
        quality=gate_of(reading.spec, timeline, newest_change) if newest_change else None,
        consumers=places,
    )


def _freshness(reading: LakeReading, name: str) -> tuple[TableFreshness | None, str]:
    """How fresh a table is, or why that is not known: what it reads may be unreadable."""
    try:
        return reading.freshness.of(name), ""
    except _UNREADABLE as error:
        return None, f"its freshness is not known: {_line(error)}"


def totals_of(partitions: Sequence[PartitionFiles]) -> FileTotals:
    """All partitions added up."""
    return FileTotals(
        base_files=sum(len(each.base) for each in partitions),
        base_bytes=sum(sum(each.base) for each in partitions),
        log_files=sum(len(each.logs) for each in partitions),
        log_bytes=sum(sum(each.logs) for each in partitions),
        partitions=len(partitions),
    )
