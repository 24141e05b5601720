"""The columns that mirrors have in the lake now: those that are known of the source, as far as they were written."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.resolving import columns_of as columns_of_source
from spark_jobs.lake_spec.schemas import Column, SchemaBook
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.column_forms import stored_forms
from spark_jobs.sql_analysis.mirror_expectations import TableExpectations
from spark_jobs.storage.lake_specs import read_book
from spark_jobs.storage.timeline import Timeline


def expected_of_stored(spec: LakeSpec, timelines: Mapping[str, Timeline], settings: Settings) -> TableExpectations:
    """What is expected of the tables as they are stored: as the timelines say that are given, and others when needed.

    A column that is known and not written yet, or written under another name, is not there.
    """

    @cache
    def book() -> SchemaBook:
        return read_book(Timeline(table=spec.log, path=settings.table_path(spec.log)))

    @cache
    def columns_of(name: str) -> tuple[Column, ...]:
        mirror = spec.mirror(name)
        timeline = timelines.get(name) or Timeline(table=name, path=settings.table_path(name))
        stored = stored_forms(timeline)
        columns = columns_of_source(mirror, book()) if mirror and stored else ()
        return tuple(each for each in columns if stored.get(each.source, ("", ""))[0] == each.name)

    return TableExpectations(spec=spec, columns_of=columns_of)
