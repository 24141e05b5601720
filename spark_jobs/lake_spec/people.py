"""People a lake knows of and can forget: by which columns an event names them (docs/erasure.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.identifiers import check_identifier
from spark_jobs.contracts.names import one_of, show
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType

STAND_IN = 0
"""What replaces the key of an erased person: shorter than any key, so that files keep their length."""
_KEYS = (ColumnType.BIGINT, ColumnType.STRING)
_TAKEN = frozenset({"clock", "yes", "help", "job"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """By which columns rows of one table name a person: one with their key, and others with names beside it.

    ``key`` is "" where no column has the key.
    """

    key: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonSpec:
    """One kind of people, such as ``agent``: the column with their key, and those that name them beside it.

    ``key`` and ``columns`` are those of the wide log and of the tables made of it. ``tables`` says the same of tables
    with from, by the names at the source, and of tables of whole files.
    """

    role: str
    key: str = ""
    columns: tuple[str, ...] = ()
    tables: tuple[tuple[str, Naming], ...] = ()

    def __post_init__(self) -> None:
        check_identifier(self.role, "people")
        if self.role in _TAKEN:
            raise ContractError(f"people: {show(self.role)} is the name of another option; use another word")
        if not self.key and (self.columns or not self.tables):
            raise ContractError(
                f"people: {self.role}: missing key; name the column with the key of the {self.role}", at=("key",)
            )

    def in_table(self, table: str) -> Naming | None:
        """By which columns a table of those in ``tables`` names them; None for others."""
        return dict(self.tables).get(table)

    def mistakes(
        self, columns: dict[str, ColumnSpec], source_key: str, tables: Collection[TableSpec]
    ) -> Iterator[ContractError]:
        """What is wrong unless the columns are declared, can be made empty, and it is clear whom a name is of."""
        if not self.key:
            return
        who = f"people: {self.role}"
        places = {self.key: ("key",), **{name: ("columns", at) for at, name in enumerate(self.columns)}}
        for name, at in places.items():
            if name not in columns:
                yield ContractError(
                    f"{who}: columns [{show(name)}] are not declared; {one_of(name, columns)}, or declare it below "
                    f"source: columns",
                    at=at,
                    lacks=("columns", name),
                )
        key_type = columns[self.key].type if self.key in columns else ColumnType.BIGINT
        if key_type not in _KEYS or source_key in (self.key, *self.columns):
            yield ContractError(
                f"{who}: {self.key} must be a whole number or text, and no event's key; name another column",
                at=("key",),
                lacks=("source", "key"),
            )
        if wrong := [name for name in self.columns if name in columns and columns[name].type is not ColumnType.STRING]:
            yield ContractError(f"{who}: columns {wrong} are not text; take them out", at=places[wrong[0]])
        if self.key in columns:
            yield from self._beside_another(who, tables)

    def _beside_another(self, who: str, tables: Collection[TableSpec]) -> Iterator[ContractError]:
        for table in tables:
            if table.key_column != self.key and (named := sorted(set(self.columns) & set(table.columns))):
                yield ContractError(
                    f"{who}: table {table.name} holds {named} beside another key, and each column keeps its own "
                    f"newest value; leave names to the table of {self.key}",
                    at=("columns",),
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person to be erased: the value of the key as text, and every name that they ever had."""

    spec: PersonSpec
    id: str
    names: tuple[str, ...] = ()

    def has_key(self, value: str, *, is_number: bool) -> bool:
        """True when a delivered value is this key: a number may come as text, with zeros or as 17.0, text just so."""
        if not is_number:
            return value == self.id
        try:
            return Decimal(value.strip()) == int(self.id)
        except (InvalidOperation, ValueError):
            return False
