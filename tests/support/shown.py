"""What a page shows of a command's output, compared with what the command printed.

Every line of the page is a line of the output, in this order; a line or a part of one that is ``…`` is left out on the
page. Instants, dates, times, seconds, hosts' paths and the widths of columns are other ones in every run, so they are
not compared. Of a block that is the reader's own no number is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LEFT_OUT = "…"
_OTHER_EACH_TIME = (
    (re.compile(r"\b\d{17}\b"), "INSTANT"),
    (re.compile(r"\b\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?Z?"), "TIME"),
    (re.compile(r"\b\d+(?:\.\d+)? s\b"), "SECONDS"),
    (re.compile(r"(?:/[\w.+-]+)+(?=/data/)"), "PLACE"),
    (re.compile(r"\bplan-[0-9TZa-f-]+"), "PLAN"),
)
_NUMBER = re.compile(r"\d[\d,.]*")


def missing(shown: str, printed: str, *, is_yours: bool) -> list[str]:
    """The first line of the page that the output does not have in its place; [] when it has all of them."""
    lines = iter([_without(line, is_yours=is_yours) for line in printed.splitlines()])
    for line in shown.splitlines():
        wanted = _pattern(_without(line, is_yours=is_yours))
        if line.strip() not in ("", LEFT_OUT) and not _goes_on_to(wanted, lines):
            return [line]
    return []


def _goes_on_to(wanted: re.Pattern[str], lines: Iterable[str]) -> bool:
    return any(wanted.fullmatch(line) for line in lines)


def _pattern(line: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, line.split(LEFT_OUT))))


def _without(line: str, *, is_yours: bool) -> str:
    for pattern, word in _OTHER_EACH_TIME:
        line = pattern.sub(word, line)
    line = _NUMBER.sub("N", line) if is_yours else line
    return re.sub(r"-{2,}", "-", " ".join(line.split()))
