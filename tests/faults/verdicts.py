"""What came of an interruption: were rows lost or doubled, is the table stuck, is something left over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import TableLayout, all_layouts
from spark_jobs.storage.recovery import MARKERS
from spark_jobs.storage.services.state import TableState
from tests.faults.homes import grow_old
from tests.support.lakes import Lake
from tests.support.numbered_tables import NumberedTable, Rows

TRIES = 2
SPARK, RUST = "Spark", "Rust"
HEAD = ("kind", "operations", "points", "lost", "duplicated", "stuck", "left over", "slowest recovery (s)")
_JAVA_FRAME, _MOST_ERROR = "\tat ", 600
LOST, _DOUBLED = "rows lost", "rows doubled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One interruption and what came of it; the last three say what is wrong, or are empty."""

    kind: str
    operation: str
    seconds: float
    stuck: str = ""
    rows: str = ""
    left_over: str = ""

    @property
    def wrong(self) -> str:
        """What is wrong, or ""."""
        return self.stuck or self.rows or self.left_over


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """The points of one kind, out of how many operations."""

    kind: str
    operations: int
    points: tuple[Point, ...]

    def cells(self) -> tuple[object, ...]:
        """A line of the table, under ``HEAD``."""
        points = self.points
        lost = sum(point.rows.startswith(LOST) for point in points)
        doubled = sum(point.rows.startswith(_DOUBLED) for point in points)
        stuck, left = (sum(bool(getattr(point, name)) for point in points) for name in ("stuck", "left_over"))
        slowest = max((point.seconds for point in points), default=0.0)
        return (self.kind, self.operations or "-", len(points), lost, doubled, stuck, left, f"{slowest:.1f}")


def attempt(do: Callable[[], object]) -> str:
    """The error that it ended with, or ""."""
    with ThreadPoolExecutor(1) as thread:
        error = thread.submit(do).exception()
    lines = f"{type(error).__name__}: {error}".splitlines() if error else []
    return " ".join(" ".join(line for line in lines if not line.startswith(_JAVA_FRAME)).split())[:_MOST_ERROR]


def retry(do: Callable[[], object], *, tries: int = TRIES) -> str:
    """The platform's own retry: the error of the last try, or "" when one of them ended well."""
    error = ""
    for _ in range(tries):
        if not (error := attempt(do)):
            break
    return error


def look(kind: str, operation: str, table: NumberedTable, last: int, *, stuck: str, seconds: float) -> Point:
    """Look at the rows after a retry; ``last`` is the number of the newest commit that was acknowledged."""
    rows = "" if stuck else wrong_rows(table, table.expected(last), readers=(RUST,))
    return Point(kind=kind, operation=operation, seconds=round(seconds, 1), stuck=stuck, rows=rows)


def go_on(point: Point, table: NumberedTable, last: int, *, wait: Callable[[], None] | None = None) -> Point:
    """Make the next commit, look at the rows again, and then at what is left over two runs later.

    ``wait`` is for storage whose files cannot be dated back: until they are old.
    """
    rows = wrong_rows(table, table.expected(last), readers=(SPARK,))
    stuck = retry(lambda: table.put(last + 1))
    rows = rows or ("" if stuck else wrong_rows(table, table.expected(last + 1)))
    left = "" if stuck else ", ".join(left_over(table.layout, table.path))
    if left:  # what may be in use is left alone for a while
        (wait or (lambda: grow_old(Path(table.settings.base_path))))()
        stuck = retry(lambda: table.put(last + 2))
        left = ", ".join(left_over(table.layout, table.path))
    return replace(point, stuck=stuck, rows=rows, left_over=left)


def judge_lake(
    kind: str, operation: str, lake: Lake, assert_right: Callable[[], object], *, stuck: str, seconds: float
) -> Point:
    """Look at the tables of a lake that has ingested everything, and at what is left over in them."""
    wrong = "" if stuck else attempt(assert_right)
    layouts = all_layouts(load_lake_spec(lake.settings.lake_spec))
    there = [(layout, lake.path(layout.name)) for layout in layouts if is_there(lake.path(layout.name))]
    left = [f"{layout.name}: {what}" for layout, path in there if not stuck for what in left_over(layout, path)]
    return Point(
        kind=kind,
        operation=operation,
        seconds=round(seconds, 1),
        stuck=stuck,
        rows=f"{LOST} or changed: {wrong}" if wrong else "",
        left_over=", ".join(left),
    )


def left_over(layout: TableLayout, path: str) -> Iterator[str]:
    """What a fault left behind that no run took away: pending instants, plans, markers, files of no commit."""
    state = TableState.look(layout, path)
    timeline = state.timeline
    yield from (f"pending {instant}" for instant in sorted(timeline.pending))
    yield from (f"marker {folder}" for folder in Filesystem(path).folders(MARKERS))
    for group in state.groups:
        for slice_ in group.slices:
            if slice_.base and not timeline.is_finished(slice_.instant):
                yield f"file {slice_.base.path.rsplit('/', 1)[-1]}"


def is_there(path: str) -> bool:
    """True when there is anything of a table."""
    return Filesystem(path).changed_ns("") is not None


def wrong_rows(table: NumberedTable, expected: Rows, readers: Collection[str] = (SPARK, RUST)) -> str:
    """Rows that are missing or too many by one of the readers, or ""."""
    read = {SPARK: table.rows_by_spark, RUST: table.rows_by_rust}
    for reader in readers:
        rows = read[reader]()
        lost, more = Counter(expected) - Counter(rows), Counter(rows) - Counter(expected)
        if lost or more:
            return (
                f"{LOST if lost else _DOUBLED} by {reader}: {len(list(lost.elements()))} missing, {more.total()} more"
            )
    return ""
