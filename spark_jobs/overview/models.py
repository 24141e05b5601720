"""What is seen of a lake: values that pages, commands and metrics show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.task_runs import TaskRun
from spark_jobs.quality.freshness import TableFreshness
from spark_jobs.quality.holds import Hold
from spark_jobs.quality.results import QualityResult
from spark_jobs.quality.verdicts import Outcome
from spark_jobs.storage.consumer_places import ConsumerPlace
from spark_jobs.storage.layouts import TableLayout
from spark_jobs.storage.timeline_steps import Step


class TableKind(StrEnum):
    """What a table of the lake is."""

    LOG = "log"
    QUARANTINE = "quarantine"
    TABLE = "table"
    HISTORY = "history"
    DELETED = "deleted"
    """What was deleted in tables that remove deleted rows."""
    MART = "mart"
    CACHE = "cache"
    LOAD = "load"
    RESULTS = "results"
    """Results of quality."""


class NodeKind(StrEnum):
    """What a node of the graph is."""

    SOURCE = "source"
    TABLE = "table"
    STORE = "store"
    CONSUMER = "consumer"
    """A reader outside the lake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTotals:
    """The files that a reader of the newest state opens; ``log`` ones are those of a merge-on-read table."""

    base_files: int = 0
    base_bytes: int = 0
    log_files: int = 0
    log_bytes: int = 0
    partitions: int = 0

    @property
    def files(self) -> int:
        """All of them."""
        return self.base_files + self.log_files

    @property
    def bytes(self) -> int:
        """Of all of them."""
        return self.base_bytes + self.log_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFiles:
    """One partition ("" for a table without) and the sizes of its files, base files and log files apart."""

    partition: str
    base: tuple[int, ...]
    logs: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Of all its files."""
        return sum(self.base) + sum(self.logs)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateOutcome:
    """What a commit says of its gate: counts of rows such as ``read``, ``written`` and ``quarantined``, and results."""

    instant: Instant
    rows: Mapping[str, int]
    results: tuple[QualityResult, ...]

    @property
    def not_held(self) -> tuple[QualityResult, ...]:
        """Those that failed, whatever followed from that."""
        return tuple(each for each in self.results if each.outcome is not Outcome.HELD)


@dataclass(frozen=True, kw_only=True)
class TableOverview:
    """One table. ``problem`` is why jobs refuse it or it cannot be read, "" when all is well; what can be seen is here.

    ``newest`` is the newest completed write of any kind, ``last`` the newest that changed rows, both None for a table
    that was never made. ``reads`` are the names of its inputs, tables or sources. ``pending`` is what was begun and did
    not end. ``freshness`` is None for a table that promises nothing.
    """

    name: str
    kind: TableKind
    layout: TableLayout
    layer: str = ""
    buckets: int = 1
    newest: Instant | None = None
    last: Instant | None = None
    commits: int = 0
    files: FileTotals = field(default_factory=FileTotals)
    pending: Sequence[Step] = ()
    freshness: TableFreshness | None = None
    quality: GateOutcome | None = None
    held: Hold | None = None
    reads: Sequence[str] = ()
    consumers: Sequence[ConsumerPlace] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """From what is read to who reads it, by names.

    ``behind`` is how many commits the reader lacks, None where commits are not what is read, or the reader's place is
    lost; ``waiting_since`` is the moment of the oldest thing that it lacks.
    """

    source: str
    target: str
    source_kind: NodeKind = NodeKind.TABLE
    target_kind: NodeKind = NodeKind.TABLE
    behind: int | None = None
    waiting_since: datetime | None = None
    is_lost: bool = False


@dataclass(frozen=True, kw_only=True)
class LakeOverview:
    """A whole lake at ``now``. ``source_problem`` is why what was delivered could not be looked at, else ""."""

    lake: str
    now: datetime
    tables: Sequence[TableOverview]
    edges: Sequence[Edge]
    source_problem: str = ""

    @property
    def by_name(self) -> Mapping[str, TableOverview]:
        """Its tables by their names."""
        return {table.name: table for table in self.tables}


class CommitKind(StrEnum):
    """What a step on a timeline did."""

    WRITE = "write"
    SERVICE = "service"
    ROLLBACK = "rollback"
    """Of a write that lost a conflict, or whose writer died: the timeline does not say which."""
    RESTORE = "restore"
    SAVEPOINT = "savepoint"


@dataclass(frozen=True, kw_only=True)
class CommitOverview:
    """One step on a table's timeline.

    ``run`` is the key that its write has, ``clock`` that of the run where a commit names it. ``task`` is the one of
    Airflow that wrote it; None from a shell, of services, and of commits from before they named it. ``service`` names
    the table service. Rows are counted as in :class:`spark_jobs.contracts.row_counts.RowCounts`. ``seconds`` is from
    its instant to the time of its file, None where files have lost their times. ``read`` are the checkpoints of its
    sources, ``outcome`` the counts and results of its gate.
    """

    table: str
    instant: Instant
    action: str
    state: str
    kind: CommitKind
    run: str = ""
    clock: str = ""
    task: TaskRun | None = None
    service: str = ""
    operation: str = ""
    added: int = 0
    changed: int = 0
    removed: int = 0
    upserted: int = 0
    bytes: int = 0
    files: int = 0
    seconds: float | None = None
    read: Mapping[str, str] = field(default_factory=dict)
    outcome: GateOutcome | None = None

    @property
    def rows(self) -> int:
        """Rows that it added, changed, removed or upserted."""
        return self.added + self.changed + self.removed + self.upserted


@dataclass(frozen=True, kw_only=True)
class SchemaStep:
    """The columns of a table from a commit on: what came, what went, whose type changed (name, before, after)."""

    instant: Instant
    added: Sequence[tuple[str, str]]
    removed: Sequence[str]
    retyped: Sequence[tuple[str, str, str]]


@dataclass(frozen=True, kw_only=True)
class TableDetail:
    """A table's own page: the overview, partitions by name, columns with types, and how these became so."""

    table: TableOverview
    edges: Sequence[Edge]
    partitions: Sequence[PartitionFiles]
    columns: Sequence[tuple[str, str]]
    schema_steps: Sequence[SchemaStep]
    commits: Sequence[CommitOverview]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadWindow:
    """What a run read of one source: after ``after`` ("" from the beginning), up to and with ``up_to``."""

    source: str
    after: str
    up_to: str


@dataclass(frozen=True, kw_only=True)
class RunOverview:
    """One run that wrote a table: its commit, what it read, what others that went to the same places wrote with it.

    ``held`` are the holds of tables that read the same sources and were kept out. ``before`` is the table's write
    before this one; None where the timeline has none.
    """

    commit: CommitOverview
    read: Sequence[ReadWindow]
    beside: Sequence[CommitOverview]
    held: Sequence[Hold]
    before: Instant | None
