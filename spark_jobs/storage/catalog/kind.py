"""What every catalog of tables has in common: what a sync of it is given, and what a module for one of them defines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from spark_jobs.contracts.catalogs import CatalogChange, CatalogTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRequest:
    """One lake, and the database of a catalog that is to have its tables.

    ``address`` is the setting ``LAKEHOUSE_CATALOG``. ``wanted`` is what the catalog should have of each table, by its
    name there, and ``paths`` its folder. ``is_partial`` is a part of the lake: nothing is dropped. With
    ``looks_again`` tables that are up to date by their entry are compared too.
    """

    address: str
    database: str
    lake: str
    wanted: Mapping[str, CatalogTable]
    paths: Mapping[str, str]
    partitions_of: Callable[[CatalogTable], Mapping[str, str]]
    """The partitions of a table, folder by value; called for tables that changed."""
    session: SparkSession | None = None
    is_partial: bool = False
    looks_again: bool = False


class CatalogSync(Protocol):
    """One lake and one database of a catalog."""

    @property
    def database(self) -> str:
        """The database that is kept."""

    def plan(self) -> list[CatalogChange]:
        """Every change, in the order in which they are carried out; changes nothing."""

    def apply(self, changes: Sequence[CatalogChange]) -> None:
        """Carry out what was planned. Refused entries are left as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogKind:
    """A kind of catalog; its form of address is in :data:`spark_jobs.contracts.catalogs.CATALOG_FORMS`."""

    form: str
    open: Callable[[CatalogRequest], CatalogSync]
    applies_in_spark: bool
    """Changes are carried out in a Spark session; plans never need one."""
