"""What is expected of mirrors: what their columns imply as they are now, and what their files say of columns.

A column that the source adds is checked from its first event on, without an entry. An entry about a column that is not
there yet waits for it, and an entry of the name of an implied expectation takes its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from spark_jobs.lake_spec.expectations import Action, Expectation, Figure, Kind
from spark_jobs.lake_spec.schemas import Column
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_spec import ROW_KEY, TableSpec
from spark_jobs.lake_spec.visible import shown_columns
from spark_jobs.sql_analysis.expectation_sql import columns_in, expectations_of

_MOST_LETTERS = 40
"""Of a column's name in the name of an expectation; a longer one is cut and made unique."""
_FEWEST_ROWS = 100
"""A share of nulls says something of a day that has so many rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableExpectations:
    """What is expected of the tables of a lake as they are now; ``columns_of`` gives the columns of a mirror."""

    spec: LakeSpec
    columns_of: Callable[[str], Sequence[Column]]

    def of(self, table: str) -> tuple[Expectation, ...]:
        """What can be checked of a table: what is implied, then what its file says of columns that are there.

        Raises:
            ContractError: one of them is wrong, whatever columns there are.
        """
        declared = expectations_of(self.spec, table)
        checkable = tuple(each for each in declared if not self._missing(each))
        mirror = self.spec.mirror(table)
        if mirror is None:
            return checkable
        own = {each.name for each in declared}
        implied = implied_of_mirror(self.spec, mirror, self.columns_of(table))
        return (*(each for each in implied if each.name not in own), *checkable)

    def waiting(self, table: str) -> tuple[str, ...]:
        """A line for each expectation that waits for a column of a mirror."""
        found = ((each, self._missing(each)) for each in expectations_of(self.spec, table))
        return tuple(
            f"{table}: {each.name} waits: there is no column {', '.join(missing)} yet"
            for each, missing in found
            if missing
        )

    def _missing(self, each: Expectation) -> list[str]:
        missing = sorted(columns_in(each) - self._names(each.table)) if self.spec.mirror(each.table) else []
        table, _, column = each.refers_to.partition(".")
        if self.spec.mirror(table) and column not in self._names(table):
            missing.append(each.refers_to)
        return missing

    def _names(self, mirror: str) -> frozenset[str]:
        return frozenset(column.name for column in self.columns_of(mirror))


def implied_of_mirror(spec: LakeSpec, mirror: TableSpec, columns: Sequence[Column]) -> Iterator[Expectation]:
    """What a mirror's columns imply: its key is known and unique, and as much of each other column as usual.

    Of columns that are gone at the source, or are dropped by now, nothing is implied. Of masked ones it is still known
    which values are null.
    """
    shown = {*shown_columns(mirror.name, (column.name for column in columns), spec)}
    for column in columns:
        if column.source in mirror.key:
            yield Expectation(
                table=mirror.name,
                name=_named(column.name, "is_known"),
                kind=Kind.NOT_NULL,
                columns=(column.name,),
                action=Action.STOP,
                says="Every row has its key.",
                is_implied=True,
            )
        elif column.name in shown and not column.is_gone and column.source not in mirror.drop:
            yield Expectation(
                table=mirror.name,
                name=_named(column.name, "nulls_as_usual"),
                kind=Kind.USUAL,
                usual=Figure.NULLS,
                columns=(column.name,),
                from_rows=_FEWEST_ROWS,
                says="As many rows as usual have no value.",
                is_implied=True,
            )
    if columns:
        yield Expectation(
            table=mirror.name,
            name=_named(ROW_KEY, "is_unique"),
            kind=Kind.UNIQUE,
            columns=(ROW_KEY,),
            action=Action.STOP,
            says="A key is in one row only.",
            is_implied=True,
        )


def _named(column: str, what: str) -> str:
    if len(column) > _MOST_LETTERS:
        column = f"{column[:_MOST_LETTERS]}_{hashlib.sha256(column.encode()).hexdigest()[:6]}"
    return f"{column}_{what}"
