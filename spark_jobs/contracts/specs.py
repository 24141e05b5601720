"""The lake spec: which source columns there are and which tables and marts they become."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.expectations import Expectation, QuarantineLimit, check_names
from spark_jobs.contracts.freshness import FreshnessPromise
from spark_jobs.contracts.loads import LoadSpec
from spark_jobs.contracts.marts import MartMode, MartSpec, sort_marts
from spark_jobs.contracts.mirrors import Deletes, MirrorSpec
from spark_jobs.contracts.names import show, show_all
from spark_jobs.contracts.people import PersonSpec
from spark_jobs.contracts.quality import QualitySpec
from spark_jobs.contracts.services import ServiceTargets
from spark_jobs.contracts.tables import MIRROR_COLUMNS, ColumnSpec, SourceSpec, TableSpec, check_identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeSpec:
    """A whole lake: source, log, quarantine, tables, mirrors, marts, loads, results of quality.

    Refuses references to things it does not declare.
    """

    lake: str
    source: SourceSpec
    log: str
    quarantine: str
    tables: tuple[TableSpec, ...] = ()
    mirrors: tuple[MirrorSpec, ...] = ()
    marts: tuple[MartSpec, ...] = ()
    loads: tuple[LoadSpec, ...] = ()
    time_zone: str = "UTC"
    services: ServiceTargets = field(default_factory=ServiceTargets)
    table_services: tuple[tuple[str, ServiceTargets], ...] = ()
    people: tuple[PersonSpec, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    quarantine_limit: QuarantineLimit = field(default_factory=QuarantineLimit)
    freshness: FreshnessPromise = field(default_factory=FreshnessPromise)
    quality: QualitySpec = field(default_factory=QualitySpec)
    columns_by_name: dict[str, ColumnSpec] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns_by_name", {column.name: column for column in self.source.columns})
        for name, what in ((self.lake, "lake"), (self.log, "log"), (self.quarantine, "quarantine")):
            check_identifier(name, what)
        try:
            ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, OSError, ValueError) as error:
            raise ContractError(
                f"time_zone {show(self.time_zone)} is unknown; give an IANA name such as Europe/Paris"
            ) from error
        names = self.table_names
        if twice := {name for name in names if names.count(name) > 1}:
            raise ContractError(f"table names used twice: {sorted(twice)}")
        for table in self.tables:
            self._require(table.name, (table.key, *table.columns), self.columns_by_name)
            if table.follows_deletes and table.key != self.source.key:
                raise ContractError(
                    f"table {table.name}: follows_deletes needs the source key {show(self.source.key)} as its key"
                )
        self._check_mirrors()
        self._check_people()
        object.__setattr__(self, "marts", sort_marts(self.marts))
        for mart in self.marts:
            self._check_mart(mart)
        if unknown := sorted({name for name, _ in self.table_services} - set(names)):
            raise ContractError(f"services: tables {show_all(unknown)} are none of this lake; it has {names}")
        asked = {each.table for each in self.expectations}
        if unknown := sorted(asked - set(self.asked_tables)):
            raise ContractError(
                f"expectations: {show_all(unknown)} is no table of rows in this lake; it has {self.asked_tables}"
            )
        check_names(self.expectations)

    @property
    def table_names(self) -> list[str]:
        """Every table of the lake: log, quarantine, tables, marts, loads, results of quality."""
        return [*self.data_tables, self.quality.table]

    @property
    def data_tables(self) -> list[str]:
        """What a savepoint is of: results of quality say what was seen, and stay when the lake goes back."""
        mirrors = [mirror.name for mirror in self.mirrors]
        return [self.log, self.quarantine, *self.asked_tables[1:], *mirrors, *self.tombstones]

    @property
    def tombstones(self) -> tuple[str, ...]:
        """The table of what was deleted in mirrors that keep no deleted rows; none when there are none."""
        is_needed = any(mirror.deletes is Deletes.HARD for mirror in self.mirrors)
        return (f"{self.log}_deleted",) if is_needed else ()

    @property
    def asked_tables(self) -> list[str]:
        """Tables whose rows something can be expected of: log, tables, marts, loads."""
        return [
            self.log,
            *(t.name for t in self.tables),
            *(m.name for m in self.marts),
            *(load.name for load in self.loads),
        ]

    @property
    def log_columns(self) -> tuple[str, ...]:
        """Columns of the log: what each event is, the source's columns, where and when it was read, its day."""
        names = tuple(column.name for column in self.source.columns)
        read = ("read_from", "read_offset", "ingest_time", "event_date")
        mirrored = MIRROR_COLUMNS if self.mirrors else ()
        return ("event_id", "op", "event_order", "event_time", "transaction_id", *names, *mirrored, *read)

    def mirror(self, name: str) -> MirrorSpec | None:
        """The mirror called ``name``, or None."""
        return next((mirror for mirror in self.mirrors if mirror.name == name), None)

    def targets(self, table: str) -> ServiceTargets:
        """What is wanted of the services of a table."""
        return dict(self.table_services).get(table, self.services)

    def table(self, name: str) -> TableSpec:
        """The table called ``name``; ContractError when the lake has none."""
        for table in self.tables:
            if table.name == name:
                return table
        raise ContractError(f"lake {self.lake} has no table {show(name)}; it has {[t.name for t in self.tables]}")

    def mart(self, name: str) -> MartSpec:
        """The mart called ``name``; ContractError when the lake has none."""
        for mart in self.marts:
            if mart.name == name:
                return mart
        raise ContractError(f"lake {self.lake} has no mart {show(name)}; it has {[m.name for m in self.marts]}")

    def find_load(self, name: str) -> LoadSpec | None:
        """The load called ``name``, or None."""
        return next((load for load in self.loads if load.name == name), None)

    def load(self, name: str) -> LoadSpec:
        """The load called ``name``; ContractError when the lake has none."""
        if (load := self.find_load(name)) is None:
            names = [load.name for load in self.loads]
            raise ContractError(f"lake {self.lake} has no load {show(name)}; it has {names} (docs/loads.md)")
        return load

    @property
    def mart_names(self) -> frozenset[str]:
        """Names of the marts."""
        return frozenset(mart.name for mart in self.marts)

    def is_append_only(self, table: str) -> bool:
        """True for the log and for marts of mode append: their rows never change."""
        return table == self.log or any(m.name == table and m.mode is MartMode.APPEND for m in self.marts)

    @property
    def fed_tables(self) -> frozenset[str]:
        """Tables whose commits keep each changed row as it was before: some mart needs to take those away."""
        read = {
            read.table
            for mart in self.marts
            for read in mart.reads
            if mart.mode not in (MartMode.FULL, MartMode.STITCH)
        }
        return frozenset(name for name in read if not self.is_append_only(name))

    @property
    def caches(self) -> Mapping[str, MartSpec]:
        """Marts that are the cache of a stitch mart, with it: only a move of the cut brings them on."""
        return {mart.reads[0].table: mart for mart in self.marts if mart.mode is MartMode.STITCH}

    def readers_of(self, table: str) -> tuple[MartSpec, ...]:
        """Marts that read ``table``, and those that read them."""
        found = {table}
        for mart in self.marts:
            if any(read.table in found for read in mart.reads):
                found.add(mart.name)
        return tuple(mart for mart in self.marts if mart.name in found and mart.name != table)

    def _check_mirrors(self) -> None:
        if not self.tables and not self.mirrors:
            raise ContractError("the lake has no tables; give tables of newest values, or mirrors")
        if self.tables and not self.source.columns:
            raise ContractError("the tables' columns are not declared; give them below source: columns, and its key")
        if self.mirrors and self.people:
            raise ContractError(
                "people are erased from the log and from tables, and a log of mirrored tables holds rows of any kind; "
                "give the mirrors a lake of their own, or declare no people"
            )
        origins = [mirror.origin for mirror in self.mirrors]
        for mirror in self.mirrors:
            if origins.count(mirror.origin) > 1:
                raise ContractError(f"mirror {mirror.name}: {show(mirror.origin)} is mirrored twice; once is enough")

    def _check_mart(self, mart: MartSpec) -> None:
        known = {self.log, *(t.name for t in self.tables), *self.mart_names}
        for read in mart.reads:
            if read.table not in known:
                raise ContractError(
                    f"mart {mart.name} reads {show(read.table)}, which is no table; tables: {sorted(known)}"
                )
            if mart.mode is MartMode.APPEND and not self.is_append_only(read.table):
                raise ContractError(
                    f"mart {mart.name}: rows of {read.table} change, so appending would keep old ones; use mode scoped"
                )
            if mart.mode is MartMode.STITCH:
                cache = next((m for m in self.marts if m.name == read.table), None)
                if cache is None or cache.mode is not MartMode.AGGREGATE or not cache.time:
                    raise ContractError(f"mart {mart.name}: mode stitch reads a mart of mode aggregate that has a time")
        if mart.name in self.caches and len(self.readers_of(mart.name)) > 1:
            raise ContractError(f"mart {mart.name} is a cache, which only its stitch mart may read")

    def _check_people(self) -> None:
        for person in self.people:
            person.check(self.columns_by_name, self.source.key, self.tables)
        for load in self.loads:
            load.check_people(self.people)

    @staticmethod
    def _require(owner: str, wanted: tuple[str, ...], known: Collection[str]) -> None:
        if missing := [name for name in wanted if name not in known]:
            raise ContractError(f"{owner}: columns {show_all(missing)} are not declared")
