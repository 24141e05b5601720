"""The modes that there are; a new one is a module of its name, a line here, and its traits in lake_spec/marts.py."""

from __future__ import annotations

from collections.abc import Mapping

from spark_jobs.contracts.results import TableOutcome
from spark_jobs.lake_spec.marts import MartMode, MartSpec
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.modes.aggregate import Aggregate
from spark_jobs.marts.modes.append import Append
from spark_jobs.marts.modes.full import Full
from spark_jobs.marts.modes.mode import Mode
from spark_jobs.marts.modes.scoped import Scoped
from spark_jobs.marts.modes.stitch import Stitch

MODES: Mapping[MartMode, Mode] = {
    MartMode.APPEND: Append(),
    MartMode.AGGREGATE: Aggregate(),
    MartMode.SCOPED: Scoped(),
    MartMode.FULL: Full(),
    MartMode.STITCH: Stitch(),
}


def refresh_mart(engine: Engine, mart: MartSpec) -> list[TableOutcome]:
    """Refresh the mart to the newest state of what it reads (a stitch mart with its cache), under its lease."""
    return MODES[mart.mode].refresh(engine, mart)
