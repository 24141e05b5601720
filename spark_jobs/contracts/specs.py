"""The lake spec: which source columns there are and which tables and marts they become."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.expectations import Expectation, QuarantineLimit
from spark_jobs.contracts.freshness import FreshnessPromise
from spark_jobs.contracts.loads import LoadSpec
from spark_jobs.contracts.marts import MartMode, MartSpec, sort_marts
from spark_jobs.contracts.mirrors import Deletes, MirrorSpec
from spark_jobs.contracts.names import show
from spark_jobs.contracts.people import PersonSpec
from spark_jobs.contracts.quality import QualitySpec
from spark_jobs.contracts.services import ServiceTargets
from spark_jobs.contracts.spec_mistakes import mistakes_of
from spark_jobs.contracts.tables import MIRROR_COLUMNS, ColumnSpec, SourceSpec, TableSpec


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
        self._arrange()
        raise_all(mistakes_of(self))

    def _arrange(self) -> None:
        object.__setattr__(self, "columns_by_name", {column.name: column for column in self.source.columns})
        with suppress(ContractError):  # a circle, which is among the mistakes
            object.__setattr__(self, "marts", sort_marts(self.marts))

    @property
    def table_names(self) -> list[str]:
        """Every table of the lake: log, quarantine, tables, marts, loads, results of quality."""
        return [*self.data_tables, self.quality.table]

    @property
    def data_tables(self) -> list[str]:
        """What a savepoint is of: results of quality say what was seen, and stay when the lake goes back."""
        return [self.log, self.quarantine, *self.asked_tables[1:], *self.tombstones]

    @property
    def tombstones(self) -> tuple[str, ...]:
        """The table of what was deleted in mirrors that keep no deleted rows; none when there are none."""
        is_needed = any(mirror.deletes is Deletes.HARD for mirror in self.mirrors)
        return (f"{self.log}_deleted",) if is_needed else ()

    @property
    def asked_tables(self) -> list[str]:
        """Tables whose rows something can be expected of: log, tables, marts, loads, mirrors."""
        return [
            self.log,
            *(t.name for t in self.tables),
            *(m.name for m in self.marts),
            *(load.name for load in self.loads),
            *(mirror.name for mirror in self.mirrors),
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
