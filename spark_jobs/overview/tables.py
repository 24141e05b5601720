"""One table: its files by partition, its columns and how they became so, its steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from spark_jobs.contracts.instants import BEGINNING, Instant
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.cache import CACHE, LakeCache
from spark_jobs.overview.commits import commits_of
from spark_jobs.overview.lake import LakeReading, edges_of_reading, read_lake, tables_of
from spark_jobs.overview.models import CommitKind, CommitOverview, SchemaStep, TableDetail
from spark_jobs.storage.commit_columns import columns_of
from spark_jobs.storage.timeline import Timeline

MOST_STEPS = 500
"""So many steps of a timeline a table's page shows, the newest."""


def table_overview(
    spec: LakeSpec,
    settings: Settings,
    table: str,
    now: datetime,
    *,
    most_steps: int = MOST_STEPS,
    cache: LakeCache = CACHE,
) -> TableDetail:
    """Everything about one table that is seen without opening a data file.

    Raises:
        ContractError: the lake has no such table.
    """
    spec.check_has(table)
    return table_detail(read_lake(spec, settings, now, cache=cache), table, most_steps=most_steps)


def table_detail(reading: LakeReading, table: str, *, most_steps: int = MOST_STEPS) -> TableDetail:
    """The same of what was read of its lake, which has the table."""
    timeline = reading.timelines.get(table)
    commits = commits_of(reading.spec, timeline, most=most_steps) if timeline else ()
    steps = list(schema_steps(timeline, commits)) if timeline else []
    return TableDetail(
        table=next(each for each in tables_of(reading) if each.name == table),
        edges=[edge for edge in edges_of_reading(reading) if table in (edge.source, edge.target)],
        partitions=reading.files[table],
        columns=newest_columns(timeline) if timeline else (),
        schema_steps=steps,
        commits=commits,
    )


def table_commits(
    spec: LakeSpec,
    settings: Settings,
    table: str,
    *,
    after: Instant = BEGINNING,
    most: int | None = None,
    cache: LakeCache = CACHE,
) -> Sequence[CommitOverview]:
    """The steps of a table's timeline after an instant, oldest first; with ``most`` the newest of them.

    Raises:
        ContractError: the lake has no such table.
        TableVersionError: it is of another version.
        CommitTimesError: its files have lost their times.
    """
    spec.check_has(table)
    timeline = cache.timeline(table, settings.table_path(table))
    timeline.check_readable()
    return commits_of(spec, timeline, after=after, most=most)


def schema_steps(timeline: Timeline, commits: Sequence[CommitOverview]) -> Iterator[SchemaStep]:
    """The commits, oldest first, with other columns than the one before, by the schemas that they say.

    The first of them has all its columns as added only when it is the table's first commit.
    """
    before: dict[str, str] | None = None
    for write in _schema_writes(timeline, commits):
        now = _columns(timeline, write)
        if not now or now == before:
            continue
        if before is None:
            before = {} if not timeline.is_archived and write == timeline.writes[0].time else now
        step = SchemaStep(
            instant=write,
            added=tuple((name, type_) for name, type_ in now.items() if name not in before),
            removed=tuple(name for name in before if name not in now),
            retyped=tuple((name, before[name], now[name]) for name in now if before.get(name, now[name]) != now[name]),
        )
        if step.added or step.removed or step.retyped:
            yield step
        before = now


def newest_columns(timeline: Timeline) -> Sequence[tuple[str, str]]:
    """The columns of a table and Spark's names of their types, by the newest write that says them."""
    written = (write for write in reversed(timeline.writes) if not timeline.is_service(write))
    return tuple(next(filter(None, (_columns(timeline, write.time) for write in written)), {}).items())


def _schema_writes(timeline: Timeline, commits: Sequence[CommitOverview]) -> list[Instant]:
    return [each.instant for each in commits if each.kind is CommitKind.WRITE and timeline.holds(each.instant)]


def _columns(timeline: Timeline, instant: Instant) -> dict[str, str]:
    """The columns of a commit with Spark's names of their types, without Hudi's; empty when it does not say them."""
    write = next(write for write in timeline.writes if write.time == instant)
    schema = columns_of(timeline.metadata(write).get("schema", ""))
    fields = schema.fields if schema else []
    return {field.name: field.dataType.simpleString() for field in fields if not field.name.startswith("_hoodie_")}
