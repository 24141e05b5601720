"""Cells of aggregate marts: partial aggregates added and taken away.

A cell's state is a count of its rows and, for each measure, what is needed to go on from: a sum with its count, the
least or greatest value. Sums and counts are exact numbers (decimals, whole numbers), so adding what came and taking
away what left gives what recomputing everything would give.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, StructType

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.marts import CELL_ID, ROWS_COUNT
from spark_jobs.sql_analysis.mart_sql import Measure, MeasureKind

IN_DOUBT = "__in_doubt"
_EXTREMES = (MeasureKind.MIN, MeasureKind.MAX)


def state_columns(measures: Sequence[Measure]) -> tuple[str, ...]:
    """Columns of a cell beside its groups: the number of rows, and the state of each measure."""
    names = [ROWS_COUNT]
    for measure in measures:
        names.append(measure.name)
        if measure.kind in (MeasureKind.SUM, MeasureKind.AVG):
            names.append(f"{measure.name}__count")
        if measure.kind is MeasureKind.AVG:
            names.append(f"{measure.name}__sum")
    return tuple(names)


def has_extremes(measures: Sequence[Measure]) -> bool:
    """True when a measure is a minimum or maximum, which cannot be taken away from."""
    return any(measure.kind in _EXTREMES for measure in measures)


def check_exact(schema: StructType, mart: str) -> None:
    """ContractError when a sum is kept in floating numbers, where the order of adding changes the result."""
    for field in schema.fields:
        is_sum = field.name.endswith("__sum") or f"{field.name}__count" in schema.names
        if is_sum and isinstance(field.dataType, FloatType | DoubleType):
            raise ContractError(
                f"mart {mart}: {field.name.removesuffix('__sum')} adds floating numbers, which depends on their order; "
                f"cast to a decimal"
            )


def add_up(
    came_df: DataFrame, left_df: DataFrame | None, groups: Sequence[str], measures: Sequence[Measure]
) -> DataFrame:
    """Partial aggregates of rows that came and rows that left as one change for each cell.

    Returns:
        The groups, the signed state columns; for a minimum or maximum ``m`` the one that came, and ``m__left``.
    """
    both_df = _signed(came_df, measures, is_gone=False)
    if left_df is not None:
        both_df = both_df.unionByName(_signed(left_df, measures, is_gone=True))
    types = {field.name: field.dataType for field in came_df.schema.fields}
    merged = [F.sum(name).cast(types[name]).alias(name) for name in _sums(measures)]
    for measure in measures:
        if measure.kind in _EXTREMES:
            least_or_greatest = F.min if measure.kind is MeasureKind.MIN else F.max
            merged += [least_or_greatest(name).alias(name) for name in (measure.name, f"{measure.name}__left")]
    return both_df.groupBy(*groups).agg(*merged)


def merge_cells(
    change_df: DataFrame, stored_df: DataFrame | None, groups: Sequence[str], measures: Sequence[Measure]
) -> DataFrame:
    """The cells after the change: ``cell_id``, groups, state columns, and whether an extreme left (``__in_doubt``).

    Args:
        change_df: ``cell_id`` and the columns of :func:`add_up`.
        stored_df: stored cells, at least those of ``change_df``; or None.
        groups: the group columns.
        measures: the measures.

    A cell without rows is not there any more. One whose least or greatest value may have left is in doubt: its state
    has to be computed from the source.
    """
    if stored_df is None:
        stored_df = change_df.select(CELL_ID, *state_columns_of(change_df, measures)).limit(0)
    old_df = stored_df.select(CELL_ID, *(F.col(n).alias(f"{n}__old") for n in state_columns_of(change_df, measures)))
    joined_df = change_df.join(old_df, CELL_ID, "left")
    types = {field.name: field.dataType for field in change_df.schema.fields}
    state = {name: _added(name, types[name]) for name in _sums(measures)}
    doubts = [F.lit(False)]
    for measure in measures:
        if measure.kind in _EXTREMES:
            state[measure.name] = _extreme(measure)
            doubts.append(_is_in_doubt(measure))
    merged_df = joined_df.select(
        CELL_ID,
        *groups,
        *(column.alias(name) for name, column in state.items()),
        F.greatest(*doubts).alias(IN_DOUBT) if len(doubts) > 1 else doubts[0].alias(IN_DOUBT),
    )
    return merged_df.where(F.col(ROWS_COUNT) > 0)


def finish_cells(cells_df: DataFrame, columns: Sequence[str], measures: Sequence[Measure]) -> DataFrame:
    """Cells with their measures as people read them: a sum of nothing is null, an average is sum by count.

    Args:
        cells_df: groups and state columns, perhaps ``cell_id``; an average's own column may be missing.
        columns: what to give besides ``cell_id`` (when there) and the technical columns, in order.
        measures: the measures.
    """
    finished = {}
    for measure in measures:
        if measure.kind in (MeasureKind.SUM, MeasureKind.AVG):
            is_sum = measure.kind is MeasureKind.SUM
            value = F.col(measure.name) if is_sum else _mean(cells_df, measure.name)
            finished[measure.name] = F.when(F.col(f"{measure.name}__count") > 0, value)
    technical = [name for name in state_columns(measures) if name not in columns]
    first = (CELL_ID,) if CELL_ID in cells_df.columns else ()
    return cells_df.select(*first, *(finished.get(n, F.col(n)).alias(n) for n in (*columns, *technical)))


def state_columns_of(cells_df: DataFrame, measures: Sequence[Measure]) -> tuple[str, ...]:
    """State columns (``<measure>__count``, …) that are merged; the mean itself is made of the others."""
    means = {measure.name for measure in measures if measure.kind is MeasureKind.AVG}
    return tuple(name for name in state_columns(measures) if name not in means)


def _sums(measures: Sequence[Measure]) -> list[str]:
    """State columns that are added."""
    own = {m.name for m in measures if m.kind in (*_EXTREMES, MeasureKind.AVG)}
    return [name for name in state_columns(measures) if name not in own]


def _signed(partial_df: DataFrame, measures: Sequence[Measure], *, is_gone: bool) -> DataFrame:
    sums = set(_sums(measures))
    extremes = {measure.name for measure in measures if measure.kind in _EXTREMES}
    types = {field.name: field.dataType for field in partial_df.schema.fields}
    columns = []
    for name in partial_df.columns:
        value = F.col(name)
        if name in sums:
            value = F.coalesce(-value if is_gone else value, F.lit(0)).cast(types[name])
        if name in extremes:
            nothing = F.lit(None).cast(types[name])
            columns += [
                (nothing if is_gone else value).alias(name),
                (value if is_gone else nothing).alias(f"{name}__left"),
            ]
            continue
        columns.append(value.alias(name))
    return partial_df.select(*columns)


def _added(name: str, kind: DataType) -> Column:
    return (F.coalesce(F.col(f"{name}__old"), F.lit(0)) + F.coalesce(F.col(name), F.lit(0))).cast(kind)


def _extreme(measure: Measure) -> Column:
    old, came = F.col(f"{measure.name}__old"), F.col(measure.name)
    return F.least(old, came) if measure.kind is MeasureKind.MIN else F.greatest(old, came)


def _is_in_doubt(measure: Measure) -> Column:
    old, left = F.col(f"{measure.name}__old"), F.col(f"{measure.name}__left")
    is_reached = left <= old if measure.kind is MeasureKind.MIN else left >= old
    return F.coalesce(is_reached, F.lit(False))


def _mean(cells_df: DataFrame, name: str) -> Column:
    """Sum by count with the type that Spark's ``avg`` of the same column has: four more digits after the point."""
    total = F.col(f"{name}__sum")
    kind = cells_df.schema[f"{name}__sum"].dataType
    if isinstance(kind, DecimalType):
        scale = min(kind.scale + 4, 38)
        return (total / F.col(f"{name}__count").cast("decimal(20,0)")).cast(
            DecimalType(min(kind.precision + 4, 38), scale)
        )
    return total.cast("decimal(38,0)") / F.col(f"{name}__count").cast("decimal(20,0)")
