"""Pictures as SVG: places and sizes are computed here, templates write them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from lakehouse_page.words import at, lag_of, size
from spark_jobs.lake_docs.curves import curve, cut
from spark_jobs.overview.models import CommitKind, CommitOverview, Edge, LakeOverview, NodeKind, TableKind
from spark_jobs.overview.states import state_of

WIDTH, HEIGHT, GAP_X, GAP_Y = 184, 40, 64, 14
BAR, MOST_HEIGHT, _LEAST_HEIGHT = 8, 90, 6
_COLUMN = {
    TableKind.LOG: 1,
    TableKind.QUARANTINE: 1,
    TableKind.LOAD: 1,
    TableKind.TABLE: 2,
    TableKind.HISTORY: 2,
    TableKind.DELETED: 2,
    TableKind.RESULTS: 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A node of the graph with its place; ``table`` is "" for what has no page."""

    name: str
    table: str
    x: int
    y: int
    colour: str
    words: str

    @property
    def label(self) -> str:
        """What fits into the box."""
        return cut(self.name, 24)

    @property
    def small(self) -> str:
        """As many of its words as fit there."""
        return cut(self.words, 26)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An edge as a path between two boxes."""

    path: str
    colour: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Boxes in columns, from sources on the left to who reads on the right."""

    width: int
    height: int
    boxes: Sequence[Box]
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One step of a timeline."""

    x: int
    y: float
    height: float
    commit: CommitOverview
    words: str


def draw_graph(seen: LakeOverview) -> Graph:
    """The graph of a lake."""
    columns = _columns(seen)
    boxes, tables = dict[str, Box](), seen.by_name
    for column in sorted(set(columns.values())):
        for row, name in enumerate(name for name, at_ in columns.items() if at_ == column):
            colour, words = state_of(tables[name], seen.now) if name in tables else ("none", "")
            boxes[name] = Box(
                name=name,
                table=name if name in tables else "",
                x=column * (WIDTH + GAP_X),
                y=row * (HEIGHT + GAP_Y),
                colour=colour,
                words=words,
            )
    lines = [_line(edge, boxes, seen.now) for edge in seen.edges if edge.source in boxes and edge.target in boxes]
    return Graph(
        width=max((box.x for box in boxes.values()), default=0) + WIDTH,
        height=max((box.y for box in boxes.values()), default=0) + HEIGHT,
        boxes=list(boxes.values()),
        lines=lines,
    )


def draw_timeline(commits: Sequence[CommitOverview]) -> list[Bar]:
    """A bar a step, oldest first; its height is the logarithm of its bytes."""
    most = max((commit.bytes for commit in commits), default=0)
    return [
        Bar(x=place * (BAR + 2), y=MOST_HEIGHT - height, height=height, commit=commit, words=words_of(commit))
        for place, commit in enumerate(commits)
        for height in [_height(commit.bytes, most)]
    ]


def words_of(commit: CommitOverview) -> str:
    """A step in one line."""
    what = commit.service or commit.action
    state = "" if commit.state == "completed" else f" ({commit.state})"
    rows = f", {commit.rows:,} rows, {size(commit.bytes)}" if commit.kind is CommitKind.WRITE else ""
    return f"{at(commit.instant)} {what}{state}{rows}"


def histogram(sizes: Sequence[int]) -> Mapping[str, int]:
    """How many files there are of each order of size."""
    bounds = ((10**6, "under 1 MB"), (10**7, "1 to 10 MB"), (10**8, "10 to 100 MB"), (10**18, "over 100 MB"))
    found = dict.fromkeys((words for _, words in bounds), 0)
    for each in sizes:
        found[next(words for bound, words in bounds if each < bound)] += 1
    return found


def _columns(seen: LakeOverview) -> dict[str, int]:
    """In which column each node is: marts that read marts are right of these."""
    columns = {edge.source: 0 for edge in seen.edges if edge.source_kind is NodeKind.SOURCE}
    columns |= {table.name: _COLUMN.get(table.kind, 3) for table in seen.tables}
    marts = {table.name: table for table in seen.tables if table.kind in (TableKind.MART, TableKind.CACHE)}
    for _ in marts:
        moved = {
            name: max(columns[name], 1 + max((columns[read] for read in mart.reads if read in marts), default=0))
            for name, mart in marts.items()
        }
        if all(columns[name] == column for name, column in moved.items()):
            break
        columns |= moved
    last = max(columns.values(), default=0) + 1
    return columns | {
        edge.target: last for edge in seen.edges if edge.target_kind in (NodeKind.STORE, NodeKind.CONSUMER)
    }


def _line(edge: Edge, boxes: Mapping[str, Box], now: datetime) -> Line:
    start, end = boxes[edge.source], boxes[edge.target]
    begin, to = (start.x + WIDTH, start.y + HEIGHT // 2), (end.x, end.y + HEIGHT // 2)
    path = curve(begin, to, width=WIDTH, bend=GAP_X // 2)
    colour, words = lag_of(edge, now)
    return Line(path=path, colour=colour, words=f"{edge.source} to {edge.target}: {words}" if words else "")


def _height(count: int, most: int) -> float:
    least = 6.0
    return (
        least
        if not count or not most
        else round(least + (MOST_HEIGHT - least) * math.log1p(count) / math.log1p(most), 1)
    )
