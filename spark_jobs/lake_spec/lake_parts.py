"""The parts of a lake spec, and how they are found: by name, by origin, by who reads whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.lake_spec.described import Described
from spark_jobs.lake_spec.expectations import Expectation, QuarantineLimit
from spark_jobs.lake_spec.freshness import FreshnessPromise
from spark_jobs.lake_spec.loads import LoadSpec
from spark_jobs.lake_spec.marts import MartSpec, sort_marts
from spark_jobs.lake_spec.origins import Epochs
from spark_jobs.lake_spec.people import PersonSpec
from spark_jobs.lake_spec.quality import QualitySpec
from spark_jobs.lake_spec.services import ServiceTargets
from spark_jobs.lake_spec.table_patterns import TablePattern
from spark_jobs.lake_spec.table_sources import Ways, ways_of
from spark_jobs.lake_spec.table_spec import VERSIONS_SUFFIX, Deletes, TableSpec
from spark_jobs.lake_spec.tables import ROW_COLUMNS, ColumnSpec, Nulls, SourceSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeParts(Described):
    """What :class:`spark_jobs.lake_spec.specs.LakeSpec` has, before anything is checked; only that class makes one.

    Source, log, quarantine, tables, marts, loads, results of quality. ``notices`` are lines for people on words of its
    files that have newer forms. ``patterns`` become tables by what the log has seen
    (:mod:`spark_jobs.lake_spec.resolving`), and ``unresolved`` says which tables at the source have not, and why.
    ``epochs`` are those of the sources as the log's commits have them, where events are decoded.
    """

    lake: str
    source: SourceSpec
    log: str
    quarantine: str
    tables: tuple[TableSpec, ...] = ()
    patterns: tuple[TablePattern, ...] = ()
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
    notices: tuple[str, ...] = field(default=(), compare=False)
    unresolved: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    epochs: Epochs = field(default=(), compare=False, repr=False)
    columns_by_name: dict[str, ColumnSpec] = field(init=False, repr=False, compare=False)
    _by_name: dict[str, TableSpec] = field(init=False, repr=False, compare=False)
    _by_origin: dict[str, TableSpec] = field(init=False, repr=False, compare=False)
    _shards: tuple[TableSpec, ...] = field(init=False, repr=False, compare=False)

    def _arrange(self) -> None:
        object.__setattr__(self, "columns_by_name", {column.name: column for column in self.source.columns})
        object.__setattr__(self, "_by_name", {table.name: table for table in reversed(self.tables)})
        origins = {origin: table for table in self.tables if not table.is_found for origin in table.origins}
        object.__setattr__(self, "_by_origin", origins)
        object.__setattr__(self, "_shards", tuple(table for table in self.tables if table.shards))
        with suppress(ContractError):  # a circle, which is among the mistakes
            object.__setattr__(self, "marts", sort_marts(self.marts))

    def _share_nulls(self) -> None:
        """What the source says of single columns counts in its tables, unless their own entries say otherwise."""
        if not self.source.null_columns:
            return

        def with_shared(table: TableSpec) -> TableSpec:
            if table.is_mirror or table.nulls is not None:
                return table
            own = {name: rule for name, rule in self.source.null_columns if name in {*table.key, *table.columns}}
            return replace(table, null_columns=tuple({**own, **dict(table.null_columns)}.items()))

        object.__setattr__(self, "tables", tuple(map(with_shared, self.tables)))

    def _share_names(self) -> None:
        """What one of several tables of a source declares names columns of the others too."""
        names = defaultdict[str, dict[str, str]](dict)
        for table in self.mirrors:
            names[table.origin] |= {column.source: column.name for column in table.declared}
        tables = [t.with_names_beside(names[t.origin]) if names.get(t.origin) else t for t in self.tables]
        if any(names.values()):
            object.__setattr__(self, "tables", tuple(tables))
            self._arrange()

    @property
    def table_names(self) -> list[str]:
        """Every table of the lake: log, quarantine, tables, marts, loads, results of quality."""
        return [*self.data_tables, self.quality.table]

    @property
    def data_tables(self) -> list[str]:
        """What a savepoint is of: results of quality say what was seen, and stay when the lake goes back."""
        return [self.log, self.quarantine, *self.validated_tables[1:], *self.tombstones, *self.histories]

    @property
    def split_tables(self) -> list[str]:
        """What ``split`` writes: histories, the tables themselves, what was deleted in them."""
        return [*self.histories, *(table.name for table in self.tables), *self.tombstones]

    @property
    def histories(self) -> tuple[str, ...]:
        """The history tables, beside tables with ``history``: a row for each event about a row."""
        return tuple(table.history_name for table in self.tables if table.history)

    def history_of(self, name: str) -> TableSpec | None:
        """The table whose history is called ``name``, or None."""
        return next((table for table in self.tables if table.history and table.history_name == name), None)

    def versions_of(self, name: str) -> TableSpec | None:
        """The table whose rows' versions are called ``name``, or None."""
        table = self.find_table(name.removesuffix(VERSIONS_SUFFIX))
        return table if table and table.history and table.versions_name == name else None

    def sources_of(self, mart: MartSpec) -> tuple[str, ...]:
        """The tables that a mart reads, as they are stored: where it reads versions, the history they are made of."""
        return tuple(map(self.stored_name, (read.table for read in mart.reads)))

    def declared_sources_of(self, mart: MartSpec) -> tuple[str, ...]:
        """The tables that a mart reads, as they are declared: where it reads versions, the table of the rows."""
        reads = ((read.table, self.versions_of(read.table)) for read in mart.reads)
        return tuple(versions.name if versions else name for name, versions in reads)

    def stored_name(self, name: str) -> str:
        """The stored table behind what a mart reads under this name."""
        versions = self.versions_of(name)
        return versions.history_name if versions else name

    @property
    def tombstones(self) -> tuple[str, ...]:
        """The table of what was deleted in tables that remove deleted rows; none when there are no such tables."""
        every = (*self.tables, *(pattern.like for pattern in self.patterns))
        is_needed = any(table.deletes is Deletes.REMOVE for table in every)
        return (f"{self.log}_deleted",) if is_needed else ()

    @property
    def validated_tables(self) -> list[str]:
        """Tables whose rows something can be expected of: log, tables, marts, loads."""
        return [
            self.log,
            *(t.name for t in self.tables),
            *(m.name for m in self.marts),
            *(load.name for load in self.loads),
        ]

    @property
    def readable(self) -> list[str]:
        """What marts may read: these tables, and versions of rows."""
        return [*self.validated_tables, *(table.versions_name for table in self.tables if table.history)]

    @property
    def log_columns(self) -> tuple[str, ...]:
        """Columns of the log: what each event is, the source's columns, where and when it was read, its day."""
        names = tuple(column.name for column in self.source.columns)
        read = ("read_from", "read_offset", "ingest_time", "event_date")
        rows = ROW_COLUMNS if self.has_row_columns else ()
        return ("event_id", "op", "event_order", "event_time", "transaction_id", *names, *rows, *read)

    @property
    def has_row_columns(self) -> bool:
        """True when the log keeps rows of any columns, or what events of the wide log have beside its columns.

        Of the wide log's events that is what was not declared, and which declared columns did not travel. Only a lake
        of loads alone keeps neither.
        """
        return bool(self.source.columns or self.patterns or self.mirrors)

    def nulls_of(self, table: TableSpec) -> Nulls:
        """What null means in the columns of a table that are no exceptions."""
        return table.nulls or self.source.nulls

    @property
    def wide_tables(self) -> tuple[TableSpec, ...]:
        """Tables that are made of the wide log's events."""
        return tuple(table for table in self.tables if not table.is_mirror)

    @property
    def mirrors(self) -> tuple[TableSpec, ...]:
        """Tables that are made of the events of tables at the source."""
        return tuple(table for table in self.tables if table.is_mirror)

    def find_table(self, name: str) -> TableSpec | None:
        """The table called ``name``, or None."""
        return self._by_name.get(name)

    def has_source_columns(self, name: str) -> bool:
        """True for a table, and for versions of one, whose columns are those of its table at the source."""
        table = self.find_table(name) or self.versions_of(name)
        return bool(table and table.is_mirror)

    def mirror(self, name: str) -> TableSpec | None:
        """The table called ``name`` when it is made of a table at the source, or None."""
        table = self.find_table(name)
        return table if table and table.is_mirror else None

    @property
    def ways(self) -> Ways:
        """How its entries name tables at the source."""
        named = [table.database for table in self.tables if table.database]
        sources = [*(table.shards for table in self._shards), *(pattern.sources for pattern in self.patterns)]
        return ways_of((*named, *(name for of in sources if of for name in of.databases)))

    @property
    def is_open(self) -> bool:
        """True when its tables depend on what the log has seen."""
        return bool(self.patterns or self._shards)

    def pattern_of(self, origin: str) -> TablePattern | None:
        """The pattern that finds a table at the source; None when there is none, or an entry of its own."""
        if origin in self._by_origin or any(table.is_from(origin) for table in self._shards):
            return None
        return next((pattern for pattern in self.patterns if pattern.sources.has(origin)), None)

    def may_yield(self, name: str) -> bool:
        """True for a name that a table may have which a pattern finds."""
        return any(pattern.may_yield(name) for pattern in self.patterns)

    def missing_reads(self, mart: MartSpec) -> tuple[str, ...]:
        """Tables that a mart, or the cache of one, reads and that no pattern has found so far."""
        known = {*self.readable}
        cached = [cache for cache in self.marts if cache.name == mart.cache]
        reads = (read.table for each in (mart, *cached) for read in each.reads)
        return tuple(table for table in reads if table not in known)

    def targets(self, table: str) -> ServiceTargets:
        """What is wanted of the services of a table."""
        return dict(self.table_services).get(table, self.services)

    def check_has(self, name: str) -> None:
        """ContractError unless a table of any kind is called ``name``."""
        if name not in self.table_names:
            raise ContractError(f"lake {self.lake} has no table {show(name)}; it has {sorted(self.table_names)}")

    def table(self, name: str) -> TableSpec:
        """The table called ``name``; ContractError when the lake has none."""
        if (table := self.find_table(name)) is None:
            raise ContractError(f"lake {self.lake} has no table {show(name)}; it has {[t.name for t in self.tables]}")
        return table

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
        return table == self.log or any(m.name == table and m.mode.traits.is_appended for m in self.marts)

    @property
    def fed_tables(self) -> frozenset[str]:
        """Tables whose commits keep each changed row as it was before: some mart needs to take those away.

        Not histories: what changed in versions is found in two states of them.
        """
        read = {
            read.table
            for mart in self.marts
            for read in mart.reads
            if mart.mode.traits.needs_changes and not self.versions_of(read.table)
        }
        return frozenset(name for name in read if not self.is_append_only(name))

    @property
    def caches(self) -> Mapping[str, MartSpec]:
        """Marts that are the cache of a stitch mart, with it: only a move of the cut refreshes them."""
        return {mart.cache: mart for mart in self.marts if mart.cache}

    def readers_of(self, *tables: str) -> tuple[MartSpec, ...]:
        """Marts that read one of ``tables`` (versions are of their history), and those that read them."""
        found = {*tables}
        for mart in self.marts:
            if any(name in found for name in self.sources_of(mart)):
                found.add(mart.name)
        return tuple(mart for mart in self.marts if mart.name in found and mart.name not in tables)
