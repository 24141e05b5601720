"""The graph of a lake: sources, log, tables, marts, store and readers outside, with how far each reader is behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from spark_jobs.contracts.instants import BEGINNING, moment_of
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.visible import served_tables
from spark_jobs.overview.kinds import STORE, files_of, kinds_of
from spark_jobs.overview.models import Edge, NodeKind, TableKind
from spark_jobs.quality.freshness import FreshnessOfLake
from spark_jobs.storage.consumer_places import PlaceState, place_of
from spark_jobs.storage.consumers import ConsumerState, own_consumers
from spark_jobs.storage.serving.places import ServedPlaces
from spark_jobs.storage.timeline import Timeline

_MADE_OF_THE_LOG = (TableKind.TABLE, TableKind.HISTORY, TableKind.DELETED)


def edges_of(
    freshness: FreshnessOfLake, timelines: Mapping[str, Timeline], consumers: Mapping[str, ConsumerState]
) -> Iterator[Edge]:
    """Every edge, from the sources to the readers outside."""
    spec = freshness.spec
    yield from _of_sources(spec, freshness)
    for table, kind in kinds_of(spec).items():
        if kind is TableKind.CACHE:  # it moves when its stitch mart wants it: being behind is no lag
            yield from (Edge(source=source, target=table) for source in spec.sources_of(spec.mart(table)))
        elif kind in (*_MADE_OF_THE_LOG, TableKind.MART):
            yield from (_edge(freshness, timelines, source, table) for source in freshness.sources(table))
        if kind is TableKind.MART and (cache := spec.mart(table).cache):
            yield Edge(source=cache, target=table)
    yield from _of_store(freshness, timelines)
    for name, state in sorted(consumers.items()):
        if name in own_consumers(spec):
            continue
        for table, checkpoint in sorted(state.checkpoints.items()):
            if timeline := timelines.get(table):
                yield _to_reader(name, checkpoint, timeline, NodeKind.CONSUMER)


def _of_sources(spec: LakeSpec, freshness: FreshnessOfLake) -> Iterator[Edge]:
    for topic in spec.source.topics:
        yield Edge(source=topic, target=spec.log, source_kind=NodeKind.SOURCE, waiting_since=freshness.waiting_since)
        yield Edge(source=topic, target=spec.quarantine, source_kind=NodeKind.SOURCE)
    for load in spec.loads:
        yield Edge(source=files_of(load.name), target=load.name, source_kind=NodeKind.SOURCE)


def _edge(freshness: FreshnessOfLake, timelines: Mapping[str, Timeline], source: str, table: str) -> Edge:
    if source not in timelines or table not in timelines:
        return Edge(source=source, target=table)
    checkpoint = freshness.checkpoint(table, source)
    if checkpoint == BEGINNING:
        waiting = freshness.first_unread(table, source)
        return Edge(source=source, target=table, waiting_since=moment_of(waiting) if waiting else None)
    return _to_reader(table, checkpoint, timelines[source], NodeKind.TABLE)


def _of_store(freshness: FreshnessOfLake, timelines: Mapping[str, Timeline]) -> Iterator[Edge]:
    served = ServedPlaces(freshness.settings)
    marts, tables = freshness.spec.marts, served_tables(freshness.spec)
    for name in (*(mart.name for mart in marts), *(table.name for table in tables)):
        timeline = timelines.get(name)
        if timeline and timeline.writes and (place := served.read(name)):
            yield _to_reader(STORE, place, timeline, NodeKind.STORE)


def _to_reader(reader: str, checkpoint: str, timeline: Timeline, kind: NodeKind) -> Edge:
    place = place_of(reader, checkpoint, timeline)
    is_lost = place.state is PlaceState.LOST
    later = (write.time for write in timeline.writes if write.time > checkpoint and not timeline.is_service(write))
    first = None if is_lost else next(later, None)
    return Edge(
        source=timeline.table,
        target=reader,
        target_kind=kind,
        behind=None if is_lost else place.behind,
        waiting_since=moment_of(first) if first else None,
        is_lost=is_lost,
    )
