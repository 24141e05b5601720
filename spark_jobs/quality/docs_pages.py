"""Self-contained Data Docs: pages that fetch nothing from other hosts, and a first page of the whole run.

As Great Expectations writes them, its pages fetch styles, scripts and pictures from several hosts: where those cannot
be reached the first page stays empty, and where they can, they learn who reads about which table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from spark_jobs.contracts.instants import Instant

_FETCHED = re.compile(
    r"<script\b.*?</script>|<footer\b.*?</footer>|<(?:link|img)\b[^>]*(?:href|src)=\"https?:[^>]*>",
    re.DOTALL | re.IGNORECASE,
)
_STYLE = """<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem }
th, td { text-align: left; padding: .35rem .7rem; border-bottom: 1px solid #ddd; vertical-align: top }
.number { text-align: right } .held, .text-success { color: #1b7f3b } .broken, .text-danger { color: #b3261e }
.text-success::before { content: "\\2713" } .text-danger::before { content: "\\2717" }
[data-toggle] input, [data-toggle] label { display: none }
nav ol { padding-left: 0; list-style: none }
</style>
"""
_HEAD = ("table", "as of", "expectation", "what is expected", "rows checked", "rows that break it", "outcome")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One expectation on the first page; ``page`` is the path of the table's own."""

    table: str
    instant: Instant
    name: str
    expected: str
    checked: int
    broken: int
    outcome: str
    page: str

    @property
    def html(self) -> str:
        """As a row of the table."""
        kind = "broken" if self.broken else "held"
        cells = (
            f'<a href="{escape(self.page)}">{escape(self.table)}</a>',
            escape(self.instant),
            escape(self.name),
            escape(self.expected),
        )
        numbers = "".join(f'<td class="number">{count:,}</td>' for count in (self.checked, self.broken))
        texts = "".join(f"<td>{cell}</td>" for cell in cells)
        return f'<tr>{texts}{numbers}<td class="{kind}">{escape(self.outcome)}</td></tr>'


def self_contained(page: str) -> str:
    """A page of Great Expectations without what it would fetch, in a style of its own."""
    return _FETCHED.sub("", page).replace("</head>", f"{_STYLE}</head>", 1)


def first_page(lake: str, clock: str, lines: Iterable[Line]) -> str:
    """The expectations of all tables and their results, those that are broken first."""
    rows = sorted(lines, key=lambda line: (not line.broken, line.table, line.name))
    broken = sum(bool(line.broken) for line in rows)
    title = f"Quality of the lake {escape(lake)}"
    summary = f"{len(rows)} expectations, {broken} broken; checked at {escape(clock)}. Counts alone: no value is shown."
    head = "".join(f"<th>{name}</th>" for name in _HEAD)
    body = "\n".join(line.html for line in rows)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>\n{_STYLE}</head>\n'
        f"<body><h1>{title}</h1><p>{summary}</p>\n<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n"
        "</tbody></table></body></html>\n"
    )
