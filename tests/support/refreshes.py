"""Refreshes of a shipped mart over timelines that were written by hand, in the form in which the jobs leave them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.marts.refresh import Refresh, RefreshRequest
from spark_jobs.marts.views import Views
from spark_jobs.spec_files.rules_file import load_rules
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.sql_analysis.mart_sql import analyse_mart
from spark_jobs.storage.consumers import ConsumerRegistry
from spark_jobs.storage.timeline import Timeline
from tests.support.contexts import context_of

SPEC = load_lake_spec(Settings().lake_spec)
MART = SPEC.mart("fast_daily_deals")
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def settings_of(folder: Path) -> Settings:
    """Of the lake in a folder."""
    return Settings(base_path=str(folder / "lake"))


def refresh_of(
    folder: Path,
    clock: datetime = NOON,
    *,
    mart: MartSpec = MART,
    interval: Interval | None = None,
    views: Views | None = None,
    **request: Any,
) -> Refresh:
    """A refresh of the mart, at a clock, as requested; without ``views`` for what needs no engine."""
    settings = settings_of(folder)
    return Refresh(
        views=cast(Views, views),
        context=context_of("mart", settings, spec=SPEC, clock=clock, interval=interval, layer=mart.layer),
        request=RefreshRequest(**request),
        mart=mart,
        query=analyse_mart(mart, SPEC, load_rules(settings.rules_path) if mart.rules else None),
        timeline=Timeline(table=mart.name, path=settings.table_path(mart.name)),
        state=ConsumerRegistry(settings.base_path).read(mart.name),
    )
