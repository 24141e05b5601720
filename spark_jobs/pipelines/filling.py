"""Columns of the wide log that came before they were declared: what ``schema`` shows of them, and filling tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from spark_jobs.context import AnyContext
from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import plain, show_all
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import TableSpec, lake_name
from spark_jobs.lake_spec.tables import ColumnSpec
from spark_jobs.lake_spec.undeclared_columns import UNDECLARED_KEY, KeptColumns, filled, pack_kept, to_fill, unfit_types
from spark_jobs.pipelines.merge.engine import Merge
from spark_jobs.pipelines.merge.merged import MergeOutcome
from spark_jobs.storage.timeline import Timeline

_NOT_DECLARED, _TO_FILL, _FILLED = "not declared: its values are kept", "declared: to be filled", "declared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """What is to be filled of the columns that are known; ``unfit`` says by column why it cannot be."""

    columns: tuple[ColumnSpec, ...]
    unfit: dict[str, str]

    @classmethod
    def of(cls, spec: LakeSpec, known: KeptColumns) -> Filling:
        """What the lake spec declares now and tables have not got."""
        columns = to_fill(known, spec.source.columns)
        unfit = {
            column.name: f"what is there as {', '.join(types)} is no {column.sql_type}; declare another type"
            for column in columns
            if (types := _unfit(column, known))
        }
        return cls(columns=columns, unfit=unfit)

    def rows(self, spec: LakeSpec, known: KeptColumns) -> list[tuple[str, ...]]:
        """For ``schema plan``: table, what, column, before, after, result."""
        return [
            (
                ", ".join(table.name for table in _tables_with(spec, [column])) or spec.log,
                "filled",
                plain(column.source),
                types_of(known, column.source),
                f"{column.name} {column.sql_type}",
                self.unfit.get(column.name, "ok"),
            )
            for column in self.columns
        ]

    def check(self) -> None:
        """Raise ContractError when one of them cannot be filled."""
        for name, reason in self.unfit.items():
            raise ContractError(f"column {name}: {reason}")


def listed(spec: LakeSpec, known: KeptColumns) -> list[tuple[str, ...]]:
    """For ``schema list``: table, column, type, at the source, since, state."""
    declared = {column.source: column for column in spec.source.columns}
    waiting = {column.source for column in to_fill(known, spec.source.columns)}
    rows = list[tuple[str, ...]]()
    for name, kept in sorted(known.items()):
        column = declared.get(name)
        state = _NOT_DECLARED if column is None else _TO_FILL if name in waiting else _FILLED
        type_ = column.sql_type if column else types_of(known, name)
        rows.append((spec.log, column.name if column else _proposed(name), type_, plain(name), kept.order, state))
    return rows


def history_rows(spec: LakeSpec, known: KeptColumns) -> list[tuple[str, ...]]:
    """For ``schema history``: at, table, what, column, before, after, by, from event, read from."""
    rows: list[tuple[str, ...]] = [
        (kept.at, spec.log, "undeclared", plain(name), "", types_of(known, name), "the source", kept.order, kept.place)
        for name, kept in known.items()
    ]
    rows += [
        (kept.filled_at, spec.log, "filled", plain(name), "", kept.filled, kept.filled_by, "", "")
        for name, kept in known.items()
        if kept.filled
    ]
    return rows


def fill_tables(context: AnyContext, filling: Filling) -> list[TableOutcome]:
    """Merge what was kept into the tables, whose leases the caller holds.

    Raises:
        GateStoppedError, DefinitionChangedError: a table cannot be written; run it again when that is mended.
    """
    chosen = _tables_with(context.spec, filling.columns)
    if not chosen:
        return []
    merged = _merge_again(Merge(context=context, chosen=chosen), filling.columns)
    merged.raise_failed()
    return [outcome for outcome in merged.outcomes.values() if outcome.is_committed]


def filled_metadata(known: KeptColumns, filling: Filling, *, clock: datetime, by: str) -> dict[str, str]:
    """For the log's next commit: the tables have them now."""
    at = format_clock(clock)
    return {UNDECLARED_KEY: pack_kept(filled(known, filling.columns, by=by, at=at))}


def types_of(known: KeptColumns, name: str) -> str:
    """The types of a column's values, without who sent them."""
    types: Sequence[str] = [type_.partition(":")[2] or "null" for type_ in known[name].types]
    return ", ".join(dict.fromkeys(types))


def _unfit(column: ColumnSpec, known: KeptColumns) -> list[str]:
    """Why nothing of a column fits: its types, when none of them does."""
    types = known[column.source].types
    unfit = unfit_types(column, types)
    return [type_.partition(":")[2] for type_ in unfit] if len(unfit) == len(types) else []


def _proposed(source: str) -> str:
    """What the column might be called in the lake."""
    try:
        return lake_name(source)
    except ContractError:
        return "-"


def known_tables(spec: LakeSpec) -> str:
    """For people, what ``--tables`` may name."""
    own = [spec.log] if spec.source.columns else []
    return show_all([*(mirror.name for mirror in spec.mirrors), *own])


def _tables_with(spec: LakeSpec, columns: Sequence[ColumnSpec]) -> tuple[TableSpec, ...]:
    """The tables of the wide log that have one of these columns."""
    names = {column.name for column in columns}
    return tuple(table for table in spec.wide_tables if not names.isdisjoint({*table.key, *table.columns}))


def _merge_again(merge: Merge, columns: Sequence[ColumnSpec]) -> MergeOutcome:
    """Merge the events again that have one of these columns beside those that were declared when they were read.

    No table gets further on the log. What else the events have is merged already, and changes nothing; a table
    without a commit gets all of it from its first ``split``.
    """
    source = Timeline(table=merge.context.spec.log, path=merge.context.settings.table_path(merge.context.spec.log))
    timelines = merge.settled()
    names = [name for name in merge.open_targets() if timelines[name].last]
    if names:
        merge.merge_part(names, source, columns=columns)
    return merge.merged
