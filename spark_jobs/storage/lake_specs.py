"""The lake spec as jobs get it: with the tables that its patterns have found in the log so far."""

from __future__ import annotations

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.origins import SOURCES_KEY, SourceBook, unpack_sources
from spark_jobs.lake_spec.resolving import resolve
from spark_jobs.lake_spec.schemas import SCHEMAS_KEY, SchemaBook, unpack_book
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.undeclared_columns import UNDECLARED_KEY, KeptColumn, unpack_kept
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline


def read_lake_spec(settings: Settings) -> LakeSpec:
    """The lake spec of the settings, resolved by the log's newest commit; needs no Spark.

    Raises:
        SettingsError: a file cannot be read.
        ContractError: it contradicts itself; the message has the place of the first mistake.
    """
    return resolve_lake_spec(load_lake_spec(settings.lake_spec), settings)


def resolve_lake_spec(spec: LakeSpec, settings: Settings) -> LakeSpec:
    """The spec with the tables that its patterns have found, by the log's newest commit; needs no Spark."""
    if not spec.is_open:
        return spec
    return resolve(spec, read_book(Timeline(table=spec.log, path=settings.table_path(spec.log))))


def read_book(log_timeline: Timeline) -> SchemaBook:
    """What the log's commits know of the tables at the source: columns, keys, and what was made of them."""
    return unpack_book(log_timeline.newest_metadata(METADATA_PREFIX + SCHEMAS_KEY))


def read_kept(log_timeline: Timeline) -> dict[str, KeptColumn]:
    """What the log's commits know of columns of the wide log that were not declared when they came."""
    return unpack_kept(log_timeline.newest_metadata(METADATA_PREFIX + UNDECLARED_KEY))


def read_source_book(spec: LakeSpec, settings: Settings) -> SourceBook | None:
    """What the log's commits know of the sources; None when no run has recorded anything."""
    return source_book_of(Timeline(table=spec.log, path=settings.table_path(spec.log)))


def source_book_of(log_timeline: Timeline) -> SourceBook | None:
    """The same, by a timeline of the log."""
    return unpack_sources(log_timeline.newest_metadata(METADATA_PREFIX + SOURCES_KEY))
