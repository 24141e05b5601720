"""Two rule versions laid side by side over the same history. Nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.rules import RuleBook
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.marts.versions import versions_at
from spark_jobs.marts.views import Views
from spark_jobs.sql_analysis.mart_sql import analyse_mart, expression_sql
from spark_jobs.storage.reader import read_snapshot
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.visible import visible_rows

_MONTH = "rules__month"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one of the mart's cells, over all months, comes to under the one version and under the other."""

    key: Any
    name: str
    before: Decimal
    after: Decimal

    @property
    def difference(self) -> Decimal:
        """Gained, or lost when negative."""
        return self.after - self.before

    @property
    def percent(self) -> Decimal | None:
        """The difference in percent of what it was, to two digits; None when that was nothing."""
        if not self.before:
            return None
        return (100 * self.difference / abs(self.before)).quantize(Decimal("0.01"), ROUND_HALF_UP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The months with rows, the column whose cells are compared, and every cell, the largest difference first."""

    months: tuple[str, ...]
    owner: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleDiff:
    """Computes the lake's mart by rules under versions that need not be in force."""

    views: Views
    spec: LakeSpec
    book: RuleBook
    settings: Settings

    def compare(self, one: str, other: str, *, first: str, last: str) -> Comparison:
        """Totals of every cell under both versions over the months from ``first`` to ``last``, both inclusive.

        Raises:
            ContractError: the lake has no such mart, or what it reads has no commit yet.
        """
        mart = self._mart()
        rows_df = self._rows(mart).where(F.col(_MONTH).between(first, last))
        months = sorted(row[0] for row in rows_df.select(_MONTH).distinct().collect())
        before, after = (self._totals(mart, rows_df.drop(_MONTH), months, version) for version in (one, other))
        owner, names = _owner(mart), self._names(_owner(mart))
        nothing = Decimal(0)
        changes = [
            Change(key=key, name=names.get(key, ""), before=before.get(key, nothing), after=after.get(key, nothing))
            for key in sorted(before.keys() | after.keys())
        ]
        changes.sort(key=lambda change: -abs(change.difference))
        return Comparison(months=tuple(months), owner=owner, changes=tuple(changes))

    def _mart(self) -> MartSpec:
        marts = [mart for mart in self.spec.marts if mart.rules]
        if len(marts) != 1:
            raise ContractError(f"rules diff needs one mart with rules: true; the lake has {len(marts)}")
        return marts[0]

    def _rows(self, mart: MartSpec) -> DataFrame:
        read = mart.scoped_reads[0]
        name, table = self.spec.stored_name(read.table), self.spec.versions_of(read.table)
        timeline = Timeline(table=name, path=self.settings.table_path(name))
        timeline.check_readable()
        if timeline.last is None:
            raise ContractError(f"{read.table} has no commit to compare rules on; run: mart --layer {mart.layer}")
        if table:
            rows_df = versions_at(timeline.readable_up_to, timeline, table, self.spec, self.views)
        else:
            rows_df = visible_rows(read_snapshot(self.views.spark, timeline.path), read.table, self.spec)
        return rows_df.withColumn(_MONTH, F.expr(expression_sql(read.scope, time_zone=self.spec.time_zone)))

    def _totals(self, mart: MartSpec, rows_df: DataFrame, months: Sequence[str], version: str) -> dict[Any, Decimal]:
        table, query = mart.scoped_reads[0].table, analyse_mart(mart, self.spec, self.book)
        names, zone = {table: self.views.name(rows_df, table)}, self.spec.time_zone
        cells_df = self.views.spark.sql(query.sql(names, time_zone=zone, months=dict.fromkeys(months, version)))
        sums = [F.sum(f.name).alias(f.name) for f in cells_df.schema.fields if isinstance(f.dataType, DecimalType)]
        if len(sums) != 1:
            raise ContractError(f"rules diff needs one decimal column in {mart.name}; it has {len(sums)}")
        totals = cells_df.groupBy(_owner(mart)).agg(*sums).collect()
        return {row[0]: row[1] for row in totals}

    def _names(self, owner: str) -> dict[Any, str]:
        """The newest name of each owner, when the lake has a table of them."""
        table = next((table for table in self.spec.wide_tables if table.key_column == owner), None)
        timeline = table and Timeline(table=table.name, path=self.settings.table_path(table.name))
        if not table or not timeline or timeline.last is None:
            return {}
        rows_df = visible_rows(read_snapshot(self.views.spark, timeline.path), table.name, self.spec)
        return {row[0]: row[1] or "" for row in rows_df.select(table.key_column, table.columns[0]).collect()}


def _owner(mart: MartSpec) -> str:
    """Whose performance it is: what the grain has beside the month."""
    month = mart.time.column if mart.time else ""
    return next(column for column in mart.grain if column != month)
