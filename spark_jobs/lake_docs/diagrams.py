"""Two pictures as SVG: which tables name each other's keys, and what each table is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spark_jobs.lake_docs.curves import curve, cut
from spark_jobs.lake_docs.facts import LakeDoc
from spark_jobs.lake_docs.markup import Markup, element, joined
from spark_jobs.lake_docs.relations import Relation
from spark_jobs.overview.models import TableKind

_WIDTH, _LINE, _GAP_X, _GAP_Y, _PAD = 230, 18, 80, 26, 8
_MOST_COLUMNS = 14
_MOST_LABEL = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    """A box with its place: a title, which is a link when there is a page, and lines below it."""

    title: str
    link: str
    lines: Sequence[str]
    x: int = 0
    y: int = 0

    @property
    def height(self) -> int:
        return _LINE * (len(self.lines) + 1) + _PAD

    def middle(self, line: str = "") -> int:
        """Where a line of the picture begins: beside the title, or beside one of the lines."""
        at = self.lines.index(line) + 1 if line in self.lines else 0
        return self.y + _PAD + _LINE * at + 5


def entity_diagram(doc: LakeDoc, relations: Sequence[Relation]) -> Markup:
    """Tables with their columns, those that others name on the right; an edge from a column to the key it holds."""
    tables = [table for table in doc.tables if table.kind is TableKind.TABLE]
    named = {relation.target for relation in relations}
    holders = {relation.table for relation in relations}
    columns: dict[int, list[_Box]] = {}
    for table in tables:
        lines = [column.name for column in table.columns if not column.is_technical]
        kept = {relation.column for relation in relations if relation.table == table.name}
        shown = [line for at, line in enumerate(lines) if at < _MOST_COLUMNS or line in kept]
        hidden = len(lines) - len(shown)
        box = _Box(title=table.name, link=_page(table.name), lines=[*shown, *([f"{hidden} more"] * bool(hidden))])
        columns.setdefault(0 if table.name in holders else 1 if table.name in named else 2, []).append(box)
    boxes = _placed(columns)
    edges = [
        (boxes[each.table], each.column, boxes[each.target], f"{each.table}.{each.column}: {each.says}")
        for each in relations
        if each.table in boxes and each.target in boxes
    ]
    return _svg("Tables and their keys", boxes, edges)


def lineage_diagram(doc: LakeDoc, around: str = "") -> Markup:
    """From sources on the left to readers on the right; ``around`` one table: what it is made of, and what of it."""
    edges = [(edge.source, edge.target) for edge in doc.edges]
    edges += [(read, table.name) for table in doc.tables for read in table.reads]
    edges = list(dict.fromkeys(edges))
    if around:
        kept = _reached(around, edges) | _reached(around, [(target, source) for source, target in edges])
        edges = [edge for edge in edges if {*edge} <= kept]
    ranks = _ranks(edges, [around] if around else [table.name for table in doc.tables])
    columns: dict[int, list[_Box]] = {}
    for name, rank in ranks.items():
        box = _Box(title=name, link=_page(name) if name in doc.names else "", lines=())
        columns.setdefault(rank, []).append(box)
    boxes = _placed(columns)
    lines = [(boxes[source], "", boxes[target], f"{source} to {target}") for source, target in edges]
    return _svg(f"Lineage of {around}" if around else "Lineage", boxes, lines)


def _page(table: str) -> str:
    return f"{table}.html"


def _reached(start: str, edges: Sequence[tuple[str, str]]) -> set[str]:
    """All that edges lead to from there."""
    found, left = {start}, [start]
    while left:
        at = left.pop()
        new = {target for source, target in edges if source == at} - found
        found |= new
        left += new
    return found


def _ranks(edges: Sequence[tuple[str, str]], names: Sequence[str]) -> Mapping[str, int]:
    """In which column each name is: right of all that it is made of."""
    every = list(dict.fromkeys([*(name for edge in edges for name in edge), *names]))
    ranks = dict.fromkeys(every, 0)
    for _ in every:  # no way is longer; a circle, which a lake does not have, ends it too
        moved = dict(ranks)
        for source, target in edges:
            moved[target] = max(moved[target], ranks[source] + 1)
        if moved == ranks:
            break
        ranks = moved
    return ranks


def _placed(columns: Mapping[int, Sequence[_Box]]) -> dict[str, _Box]:
    placed: dict[str, _Box] = {}
    for at, rank in enumerate(sorted(columns)):
        y = _GAP_Y
        for box in columns[rank]:
            x = at * (_WIDTH + _GAP_X) + _GAP_Y
            placed[box.title] = _Box(title=box.title, link=box.link, lines=box.lines, x=x, y=y)
            y += box.height + _GAP_Y
    return placed


def _svg(title: str, boxes: Mapping[str, _Box], edges: Sequence[tuple[_Box, str, _Box, str]]) -> Markup:
    if not boxes:
        return Markup()
    width = max(box.x for box in boxes.values()) + _WIDTH + _GAP_X
    height = max(box.y + box.height for box in boxes.values()) + _GAP_Y
    drawn = [_line(*edge) for edge in edges] + [_drawn(box) for box in boxes.values()]
    picture = element("svg", element("title", title), *drawn, viewBox=f"0 0 {width} {height}", width=width, role="img")
    return element("div", picture, class_="scroll", tabindex="0")


def _line(start: _Box, column: str, end: _Box, words: str) -> Markup:
    begin, to = (start.x + _WIDTH, start.middle(column)), (end.x, end.middle())
    return element("path", element("title", words), d=curve(begin, to, width=_WIDTH, bend=_GAP_X // 2))


def _drawn(box: _Box) -> Markup:
    title = element("text", cut(box.title, _MOST_LABEL), x=box.x + _PAD, y=box.y + _LINE, class_="title")
    head = element("a", title, href=box.link) if box.link else title
    frame = element("rect", element("title", box.title), x=box.x, y=box.y, width=_WIDTH, height=box.height, rx=4)
    lines = [
        element("text", cut(line, _MOST_LABEL), x=box.x + _PAD, y=box.y + _LINE * (at + 1))
        for at, line in enumerate(box.lines, 1)
    ]
    return joined((frame, head, *lines))
