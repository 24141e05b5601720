"""History computed again: first what would change, then, when it is meant, the change with a savepoint before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame

from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.lake_spec.marts import MartSpec, TimeUnit
from spark_jobs.marts.computing import full_difference
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.modes.cache import rebuild
from spark_jobs.marts.modes.registry import MODES, refresh_mart
from spark_jobs.marts.plan import RewritePlan, plan_rewrite
from spark_jobs.marts.refresh import Refresh
from spark_jobs.marts.rule_versions import rule_notes
from spark_jobs.marts.windows import interval_range, values_of
from spark_jobs.storage.savepoints import Record, SavepointRecords


def rewrite(
    engine: Engine, marts: Sequence[MartSpec], interval: Interval, record: Record | None
) -> tuple[list[RewritePlan], list[TableOutcome], Record | None]:
    """Compute the rows of these dates again, mart after mart.

    Args:
        engine: the run.
        marts: each after those it reads.
        interval: the dates.
        record: what the rewrite is called, for the way back; None: only the plan.

    Returns:
        A plan for each mart, the tables that were written, and the record with the states before the rewrite.
    """
    plans: list[RewritePlan] = []
    outcomes: list[TableOutcome] = []
    for mart in marts:
        if record is not None and mart.name not in engine.context.spec.caches:
            outcomes += [outcome for outcome in refresh_mart(engine, mart) if outcome.is_committed]
        with engine.holding(mart), engine.refreshing(mart, is_held=True) as refresh:
            difference_df = _difference(refresh, interval)
            if difference_df is None:
                continue
            plan = plan_rewrite(difference_df, mart, engine.context.spec, refresh.timeline.path)
            plans.append(plan)
            if record is not None and plan.rows:
                record = _keep_state(engine, refresh, record)
                outcomes.append(_apply(refresh, difference_df, interval))
    return plans, outcomes, record


def _difference(refresh: Refresh, interval: Interval) -> DataFrame | None:
    """A cache is computed again as a whole, because its checksums are of whole partitions."""
    if refresh.mart.name not in refresh.context.spec.caches:
        return MODES[refresh.mart.mode].range_difference(refresh, interval)
    return None if any(source.is_absent for source in refresh.sources) else full_difference(refresh)


def _keep_state(engine: Engine, refresh: Refresh, record: Record) -> Record:
    """A savepoint of the table as it is, and the record of it, before anything changes."""
    if refresh.timeline.last is None or refresh.mart.name in record.tables:
        return record
    record = replace(record, tables={**record.tables, refresh.mart.name: refresh.timeline.last})
    SavepointRecords(engine.context.settings).keep(engine.context.spark, record)
    return record


def _apply(refresh: Refresh, difference_df: DataFrame, interval: Interval) -> TableOutcome:
    if refresh.mart.name in refresh.context.spec.caches:
        return rebuild(refresh)
    months = values_of(interval_range(interval, TimeUnit.MONTH), TimeUnit.MONTH)
    return refresh.write(difference_df, rule_notes(refresh, difference_df, months) if refresh.mart.rules else {})
