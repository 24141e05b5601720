"""What every mode of marts does, and the steps of a refresh that most of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.arguments import Interval
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.marts.computing import compute_full, full_difference
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.refresh import Refresh
from spark_jobs.marts.scopes import windows
from spark_jobs.marts.sources import ChangesUnknownError
from spark_jobs.marts.windows import interval_range


class Mode(ABC):
    """How marts of one mode are refreshed, computed again for some dates, and previewed.

    A difference has the columns ``before`` and ``after``, structs of the mart's columns, one row for each row that
    changes (:func:`spark_jobs.transforms.cells.difference`).
    """

    reads_past = True
    """A preview reads the sources as they were at the mart's checkpoints, where that is possible."""

    @abstractmethod
    def refresh(self, engine: Engine, mart: MartSpec) -> list[TableOutcome]:
        """Refresh the mart to the newest state of what it reads, under its lease."""

    def range_difference(self, refresh: Refresh, interval: Interval) -> DataFrame | None:
        """What computing the rows of these dates again would change; None when there is nothing to compute again.

        A mart without a time column is computed again as a whole.
        """
        if any(source.is_absent for source in refresh.sources):
            return None
        result_df, stored_df, time = compute_full(refresh), refresh.stored(), refresh.mart.time
        if time:
            is_inside = interval_range(interval, time.unit).holds(F.col(time.column))
            result_df = result_df.where(is_inside)
            stored_df = None if stored_df is None else stored_df.where(is_inside)
        return refresh.difference(result_df, stored_df)

    def held(self, engine: Engine, mart: MartSpec) -> tuple[MartSpec, ...]:
        """The marts whose leases a preview needs."""
        return (mart,)

    def whole_difference(self, engine: Engine, refresh: Refresh, stack: ExitStack) -> DataFrame:
        """Compute everything and compare it with all that is stored; what that needs stays until ``stack`` ends."""
        return full_difference(refresh)


class WrittenAlone(Mode):
    """A mode whose marts are written by themselves, in steps; a mode replaces those that differ."""

    def refresh(self, engine: Engine, mart: MartSpec) -> list[TableOutcome]:
        """What is new, when there is something new."""
        with engine.holding(mart), engine.refreshing(mart) as refresh:
            return [self._to_newest(engine, refresh)]

    @abstractmethod
    def write(self, refresh: Refresh, why_full: str) -> TableOutcome:
        """Commit what is new; every row, when ``why_full`` says why."""

    def is_due(self, refresh: Refresh) -> bool:
        """True when there is something to do: new rows, a window that moved, or a reason for all rows."""
        now, before = windows(refresh)
        return bool(refresh.why_full) or not refresh.is_up_to_date or now != before

    def _to_newest(self, engine: Engine, refresh: Refresh) -> TableOutcome:
        mart = refresh.mart
        absent = [source.table for source in refresh.sources if source.is_absent]
        if absent and refresh.definition_changes:
            raise ContractError(f"{mart.name}: {absent[0]}, which it reads, has no commit yet; fill that table first")
        if absent or not self.is_due(refresh):
            return refresh.unchanged()
        try:
            return self._write(engine, refresh, refresh.why_full)
        except ChangesUnknownError as error:
            return self._write(engine, refresh, str(error))

    def _write(self, engine: Engine, refresh: Refresh, why_full: str) -> TableOutcome:
        if why_full:
            engine.report_full(refresh.mart, why_full)
        return self.write(refresh, why_full)


class ComputedAgain(WrittenAlone):
    """A mode whose refresh with an interval (a backfill) computes the rows of these dates again after what is new."""

    def refresh(self, engine: Engine, mart: MartSpec) -> list[TableOutcome]:
        """The newest state first, then the dates, under one lease."""
        with engine.holding(mart):
            with engine.refreshing(mart) as refresh:
                outcome = self._to_newest(engine, refresh)
            if engine.context.interval:
                outcome = self._dates_again(engine, mart, engine.context.interval, outcome)
            return [outcome]

    def _dates_again(self, engine: Engine, mart: MartSpec, interval: Interval, outcome: TableOutcome) -> TableOutcome:
        with engine.refreshing(mart, is_held=True) as refresh:
            difference_df = self.range_difference(refresh, interval)
            again = None if difference_df is None else refresh.write(difference_df)
        return again if again and again.is_committed else outcome
