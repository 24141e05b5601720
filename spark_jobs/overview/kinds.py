"""What each table of a lake is, and what it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.models import TableKind

STORE = "serving store"
"""The node of the database in which dashboards read marts."""


def kinds_of(spec: LakeSpec) -> Mapping[str, TableKind]:
    """The kind of each table of the lake, by its name."""
    return {
        spec.log: TableKind.LOG,
        spec.quarantine: TableKind.QUARANTINE,
        **{table.name: TableKind.TABLE for table in spec.tables},
        **dict.fromkeys(spec.histories, TableKind.HISTORY),
        **dict.fromkeys(spec.tombstones, TableKind.DELETED),
        **{mart.name: TableKind.CACHE if mart.name in spec.caches else TableKind.MART for mart in spec.marts},
        **{load.name: TableKind.LOAD for load in spec.loads},
        spec.quality.table: TableKind.RESULTS,
    }


def sources_of_lake(spec: LakeSpec) -> tuple[str, ...]:
    """What the log, the quarantine and the loads are made of, by the names of the graph's nodes."""
    return (*spec.source.topics, *(files_of(load.name) for load in spec.loads))


def files_of(load: str) -> str:
    """The node of the files of a load."""
    return f"files of {load}"


def reads_of(spec: LakeSpec, table: str, kind: TableKind) -> Sequence[str]:
    """What a table is made of: tables as they are stored, or sources."""
    match kind:
        case TableKind.LOG:
            return spec.source.topics
        case TableKind.MART | TableKind.CACHE:
            return spec.sources_of(spec.mart(table))
        case TableKind.LOAD:
            return (files_of(table),)
        case TableKind.RESULTS:
            return ()
        case TableKind.QUARANTINE:
            return sources_of_lake(spec)
        case _:
            return (spec.log,)
