"""What another definition of a mart would change: computed beside the mart, compared with it, and nothing written.

The rows of the other definition are kept by the session for the comparison alone. So there is no table to leave out of
catalogs and erasures, and none to clean up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DecimalType, IntegralType

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.previews import ColumnPreview, Number
from spark_jobs.lake_spec.marts import CELL_ID, MartSpec
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.modes.registry import MODES
from spark_jobs.marts.plan import RewritePlan, plan_rewrite
from spark_jobs.marts.refresh import Refresh
from spark_jobs.transforms.cells import AFTER, BEFORE


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What would change in a mart or table; ``samples`` are keys of rows that are new, changed and gone."""

    rewrite: RewritePlan
    rows_now: int
    columns: tuple[ColumnPreview, ...]
    samples: dict[str, tuple[str, ...]]

    @property
    def rows_then(self) -> int:
        """Rows under the other definition."""
        return self.rows_now + self.rewrite.new - self.rewrite.gone

    def facts(self) -> dict[str, Any]:
        """Itself for JSON."""
        content = {**asdict(self.rewrite), "rows_now": self.rows_now, "rows_then": self.rows_then}
        return {**content, "columns": [column.facts() for column in self.columns], "samples": self.samples}


def preview(engine: Engine, mart: MartSpec, *, samples: int) -> Preview:
    """Compute the mart by the definition of the files, and compare it with its rows; at most so many ``samples``.

    The sources are read as they were at the mart's checkpoints, so that nothing but the definition differs. Where that
    is no longer possible (a table that it did not read before), and for a stitch mart, they are read as they are now.
    """
    mode = MODES[mart.mode]
    with engine.holding(*mode.held(engine, mart)), engine.refreshing(mart) as now, ExitStack() as stack:
        refresh = _as_it_was(now) if mode.reads_past else now
        if absent := [source.table for source in refresh.sources if source.is_absent]:
            raise ContractError(f"{mart.name}: {absent[0]}, which it reads, has no commit yet; fill that table first")
        stored_df = refresh.stored()
        if stored_df is None:
            raise ContractError(f"{mart.name} has no rows to compare with; run: mart --layer {mart.layer}")
        difference_df = mode.whole_difference(engine, refresh, stack)
        rewrite = plan_rewrite(difference_df, mart, engine.context.spec, refresh.timeline.path)
        return compare(rewrite, difference_df, stored_df, samples)


def _as_it_was(refresh: Refresh) -> Refresh:
    clock = refresh.previous_clock or refresh.clock
    held = replace(refresh, is_held=True, context=replace(refresh.context, clock=clock))
    is_readable = all(source.timeline.holds(source.up_to) for source in held.sources)
    return held if is_readable else refresh


def compare(rewrite: RewritePlan, difference_df: DataFrame, stored_df: DataFrame, samples: int) -> Preview:
    """What a difference (:func:`spark_jobs.transforms.cells.difference`) would change in the stored rows, by column."""
    now = _types(stored_df)
    then = _types(difference_df.select(f"{AFTER}.*"))
    stored_facts = {"__rows": F.count(F.lit(1)), **_sums(now), **_sums(then, "__cast", among=now)}
    both = F.col(BEFORE).isNotNull() & F.col(AFTER).isNotNull()
    changes = {
        f"{name}__changed": F.count(F.when(both & ~_side(BEFORE, name).eqNullSafe(_side(AFTER, name)), F.lit(True)))
        for name in then
    }
    stored = _one(stored_df, stored_facts)
    found = _one(difference_df, {**changes, **_sums(then, "__left", side=BEFORE), **_sums(then, "__came", side=AFTER)})
    kept, columns = stored["__rows"] - rewrite.gone, list[ColumnPreview]()
    for name in (*then, *(name for name in now if name not in then)):
        changed = found.get(f"{name}__changed", 0)
        column = ColumnPreview(
            name=name,
            type_now=now[name].simpleString() if name in now else None,
            type_then=then[name].simpleString() if name in then else None,
            sum_now=stored.get(name),
            sum_then=_sum_then(name, stored, found) if _is_number(then.get(name)) else None,
            changed=changed,
            percent=round(Decimal(100 * changed) / kept, 2) if kept else None,
        )
        columns.append(column)
    kinds = _KINDS.items() if samples else ()
    keys = {kind: _keys(difference_df.where(where()), samples) for kind, where in kinds}
    return Preview(rewrite=rewrite, rows_now=stored["__rows"], columns=tuple(columns), samples=keys)


def _types(rows_df: DataFrame) -> dict[str, DataType]:
    """Types of the columns that people see."""
    return {f.name: f.dataType for f in rows_df.schema.fields if f.name != CELL_ID and "__" not in f.name}


def _side(side: str, name: str) -> Column:
    return F.col(f"{side}.{name}")


def _is_number(type_: DataType | None) -> bool:
    return isinstance(type_, IntegralType | DecimalType)


def _sums(
    types: dict[str, DataType], suffix: str = "", *, side: str = "", among: Iterable[str] | None = None
) -> dict[str, Column]:
    """The sum of every column of numbers, in that type."""
    prefix = f"{side}." if side else ""
    return {
        f"{name}{suffix}": F.sum(F.col(f"{prefix}{name}").cast(type_))
        for name, type_ in types.items()
        if _is_number(type_) and (among is None or name in among)
    }


def _sum_then(name: str, stored: Mapping[str, Any], found: Mapping[str, Any]) -> Number:
    """What stays of the stored sum, and what comes."""
    sum_: Number = (stored.get(f"{name}__cast") or 0) - (found[f"{name}__left"] or 0) + (found[f"{name}__came"] or 0)
    return sum_


def _one(rows_df: DataFrame, facts: Mapping[str, Column]) -> dict[str, Any]:
    (row,) = rows_df.agg(*(column.alias(name) for name, column in facts.items())).collect()
    return dict(row.asDict())


def _keys(rows_df: DataFrame, most: int) -> tuple[str, ...]:
    key = F.coalesce(_side(AFTER, CELL_ID), _side(BEFORE, CELL_ID)).alias(CELL_ID)
    return tuple(row[0] for row in rows_df.select(key).orderBy(CELL_ID).limit(most).collect())


_KINDS: Mapping[str, Callable[[], Column]] = {
    "new": lambda: F.col(BEFORE).isNull(),
    "changed": lambda: F.col(BEFORE).isNotNull() & F.col(AFTER).isNotNull(),
    "gone": lambda: F.col(AFTER).isNull(),
}
"""Which rows of a difference are of a kind; made when they are used, since a column needs a session."""
