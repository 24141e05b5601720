"""Declared marts: what a mart reads, its grain, and how it is kept current. Read from ``include/marts/*.yaml``."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum

from spark_jobs.contracts.errors import ContractError, raise_all
from spark_jobs.contracts.identifiers import wrong_identifier
from spark_jobs.contracts.names import plain, show
from spark_jobs.contracts.places import Steps
from spark_jobs.lake_spec.described import DESCRIBING, Described
from spark_jobs.lake_spec.freshness import FreshnessPromise
from spark_jobs.lake_spec.tables import TableType

_SQL_PARTS = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|--[^\n]*|(?:(?!--)[^\s'"])+""")
"""Quoted text, comments, and what is between them and spaces."""

CELL_ID = "cell_id"
"""The record key of every mart: the grain's values as text."""
ROWS_COUNT = "rows__count"
"""How many rows a cell of an aggregate mart is made of; technical, as every column with two underscores is."""


class MartMode(StrEnum):
    """How a mart is kept current."""

    APPEND = "append"
    """Map and filter: new rows of one append-only table are added."""
    AGGREGATE = "aggregate"
    """Sums, counts, minima, maxima and averages: what came is added to the cells, what left is taken away."""
    SCOPED = "scoped"
    """Anything that stays inside a scope (a key, an hour, a month): scopes that changed are computed again."""
    FULL = "full"
    """Anything: computed again as a whole when something it reads has changed."""
    STITCH = "stitch"
    """A rolling window over the cells of an aggregate mart (its cache), plus what came after the cache's cut."""

    @property
    def traits(self) -> Traits:
        """What follows from the mode, wherever it matters."""
        return _TRAITS[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a mode requires of a declaration, and what others have to know of its rows.

    How marts of a mode are refreshed is in the module of its name, :mod:`spark_jobs.marts.modes`.
    """

    reads_one: bool = False
    """Its marts read one table."""
    is_scoped: bool = False
    """They have a scope, and each read says its own, or is looked up."""
    is_appended: bool = False
    """Their rows never change: new ones are added."""
    adds_up: bool = False
    """New rows of a table are added to what is there, so that the same row must not come as new twice."""
    needs_changes: bool = False
    """What they read keeps its changed rows as they were before."""
    is_whole: bool = False
    """Every refresh computes all rows."""
    has_cache: bool = False
    """What they read is a cache of their own: an aggregate mart with a time."""


_TRAITS = {
    MartMode.APPEND: Traits(reads_one=True, is_appended=True, adds_up=True, needs_changes=True),
    MartMode.AGGREGATE: Traits(reads_one=True, adds_up=True, needs_changes=True),
    MartMode.SCOPED: Traits(is_scoped=True, needs_changes=True),
    MartMode.FULL: Traits(is_whole=True),
    MartMode.STITCH: Traits(reads_one=True, has_cache=True),
}


class TimeUnit(StrEnum):
    """Units of a mart's time column: start of the hour (timestamp), ``yyyy-MM-dd`` (text), ``yyyy-MM`` (text)."""

    HOUR = "hour"
    DAY = "day"
    MONTH = "month"
    YEAR = "year"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSpec:
    """A table or mart that a mart reads.

    Of a scoped mart either ``scope`` is given (SQL over the table's columns: the scope a row belongs to), or ``by``
    (this table is looked up by its key, which is in this column of the scoped one). ``partition`` is SQL over the
    scope column: the only partitions of the table that can hold rows of a scope. ``at`` is for versions that are looked
    up: the column of the scoped rows with the moment whose version they are joined to.
    """

    table: str
    scope: str = ""
    by: str = ""
    partition: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSpec:
    """The output column that says when a row is of, and its unit."""

    column: str
    unit: TimeUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSpec:
    """The last ``length`` units up to the clock's own, in the company's time zone but for hours, which are UTC's."""

    length: int
    unit: TimeUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class MartSpec(Described):
    """One declared mart. ``sql`` is a SELECT over the tables in ``reads``; ``:time_zone`` is the company's."""

    name: str
    layer: str
    mode: MartMode
    reads: tuple[ReadSpec, ...]
    grain: tuple[str, ...]
    sql: str
    scope: str = ""
    time: TimeSpec | None = None
    window: WindowSpec | None = None
    partition: str = ""
    type: TableType = TableType.COPY_ON_WRITE
    buckets: int = 1
    rules: bool = False
    """Its SQL uses values of the rule version that counts in a month, ``RULE('…')`` (docs/rules.md)."""
    max_commits_after_cut: int = 48
    """Of a stitch mart: its cache's cut is moved when more commits than this came after it."""
    freshness: FreshnessPromise | None = None
    """What it promises instead of what the lake does for all tables."""
    served: bool = True
    """``serve`` copies it to the serving store."""

    def __post_init__(self) -> None:
        raise_all(self._mistakes())

    def _mistakes(self) -> Iterator[ContractError]:
        yield from wrong_identifier(self.name, "mart", at=("name",))
        yield from self.mistakes_of_description(f"mart {plain(self.name)}")
        yield from wrong_identifier(self.layer, f"mart {plain(self.name)}: layer", at=("layer",))
        yield from self._mistakes_of_columns()
        if not self.grain or len(set(self.grain)) != len(self.grain):
            yield self._refused("grain needs columns, each once; correct grain", "grain")
        if not self.reads or len({read.table for read in self.reads}) != len(self.reads):
            yield self._refused("reads needs tables, each once; correct reads", "reads")
        for field in ("buckets", "max_commits_after_cut"):
            if getattr(self, field) < 1:
                yield self._refused("buckets and max_commits_after_cut must be at least 1; correct it", field)
        yield from self._mistakes_of_mode()
        yield from self._mistakes_of_window()

    @property
    def definition(self) -> str:
        """A fingerprint of all that decides the mart's rows.

        Commits of earlier releases have nothing else (:mod:`spark_jobs.lake_spec.definitions`): it must not change.
        """
        facts = asdict(self)
        for name in ("layer", "type", "buckets", "max_commits_after_cut", "freshness", "served", *DESCRIBING):
            del facts[name]
        for read in facts["reads"]:
            if not read["at"]:  # which earlier releases do not have
                del read["at"]
        facts["sql"] = self.sql_words
        return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:16]

    @property
    def cache(self) -> str:
        """The mart that is its cache; "" when it has none."""
        return self.reads[0].table if self.mode.traits.has_cache else ""

    @property
    def sql_words(self) -> list[str]:
        """The SQL without comments, and however it is laid out."""
        return [part for part in _SQL_PARTS.findall(self.sql) if not part.startswith("--")]

    @property
    def scoped_reads(self) -> tuple[ReadSpec, ...]:
        """Reads that say which scope their rows belong to."""
        return tuple(read for read in self.reads if read.scope)

    @property
    def lookups(self) -> tuple[ReadSpec, ...]:
        """Reads that are looked up by their key."""
        return tuple(read for read in self.reads if read.by)

    def _refused(self, reason: str, *at: object) -> ContractError:
        return ContractError(f"mart {plain(self.name)}: {reason}", at=at)

    def _mistakes_of_columns(self) -> Iterator[ContractError]:
        named: list[tuple[str, Steps]] = [(column, ("grain", at)) for at, column in enumerate(self.grain)]
        named += [(getattr(self, field), (field,)) for field in ("scope", "partition") if getattr(self, field)]
        if self.time:
            named.append((self.time.column, ("time", "column")))
        for column, at in named:
            yield from wrong_identifier(column, f"mart {plain(self.name)}: column", at=at)
            if "__" in column or column == CELL_ID:
                yield self._refused(f"column {show(column)} is a name kept for technical columns; rename it", *at)

    def _mistakes_of_mode(self) -> Iterator[ContractError]:
        is_scoped = self.mode.traits.is_scoped
        if is_scoped != bool(self.scope):
            way = "add scope: column" if is_scoped else "take it out"
            yield self._refused(f"scope is needed in mode scoped, and means nothing in another; {way}", "scope")
        if self.scope and self.scope not in self.grain:
            yield self._refused(f"its scope {show(self.scope)} must be part of its grain; add it there", "grain")
        if is_scoped and not self.scoped_reads:
            yield self._refused("one of its reads has to say its scope; add scope: to it", "reads")
        for at, read in enumerate(self.reads):
            if (read.scope or read.by) and not is_scoped:
                reason = f"{plain(read.table)}: scope and by mean nothing in mode {self.mode}; take them out"
                yield self._refused(reason, "reads", at)
            if is_scoped and bool(read.scope) == bool(read.by):
                reason = f"{plain(read.table)}: give either its scope, or by for a lookup; correct this read"
                yield self._refused(reason, "reads", at)
            if read.at and not read.by:
                reason = f"{plain(read.table)}: at is of versions that are looked up; add by, or take at out"
                yield self._refused(reason, "reads", at, "at")
        is_by_month = self.time and self.time.column == self.scope and self.time.unit is TimeUnit.MONTH
        if self.rules and not (is_scoped and is_by_month):
            yield self._refused(
                "rules count by month: they need mode scoped, and time with the scope column and unit month; correct "
                "time, or take rules out",
                "rules",
            )
        if self.mode.traits.reads_one and len(self.reads) > 1:
            yield self._refused(
                f"mode {self.mode} reads one table; join in mode scoped (or full), or first make a mart of the join",
                "reads",
            )

    def _mistakes_of_window(self) -> Iterator[ContractError]:
        if self.mode.traits.has_cache:
            if self.window is None or self.window.unit is TimeUnit.HOUR:
                yield self._refused("mode stitch needs a window of days, months or years; correct window", "window")
        elif self.window:
            is_of_scope = self.time and self.time.column == self.scope and self.time.unit == self.window.unit
            if not is_of_scope:
                yield self._refused(
                    "a window needs mode scoped, and time with the scope column and the same unit; correct time, or "
                    "take window out",
                    "window",
                )
        if self.window and self.window.length < 1:
            yield self._refused("a window is at least 1 long; correct length", "window", "length")


def sort_marts(marts: Collection[MartSpec]) -> tuple[MartSpec, ...]:
    """The marts so that each comes after those it reads; ContractError for a circle."""
    left, names = list(marts), {mart.name for mart in marts}
    done: list[MartSpec] = []
    while left:
        placed = {mart.name for mart in done}
        ready = [mart for mart in left if all(r.table not in names or r.table in placed for r in mart.reads)]
        if not ready:
            raise ContractError(
                f"marts {sorted(mart.name for mart in left)} read each other in a circle; take one of the reads out",
                at=("marts", _in_circle(left), "reads"),
            )
        done += ready
        left = [mart for mart in left if mart not in ready]
    return tuple(done)


def _in_circle(marts: Collection[MartSpec]) -> str:
    """One of the circle itself: of marts that each read one of the others, some are only readers of it."""
    reads = {mart.name: [read.table for read in mart.reads] for mart in marts}
    name, seen = min(reads), set[str]()
    while name not in seen:
        seen.add(name)
        name = next(table for table in reads[name] if table in reads)
    return name
