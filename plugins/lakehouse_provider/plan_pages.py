"""What a job plans to do, and what a preview found, as a page in Markdown that a person can approve."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from spark_jobs.contracts.previews import PREVIEW_HEADER, ColumnPreview
from spark_jobs.contracts.text_table import cell_text, number_columns
from spark_jobs.lake_spec.lake_plan import HEADER, DefinitionChange

_MARKS = re.compile(r"[\\`*_\[\]<>|]")
_FOR_A_SHELL = ("--yes", "--plan")
"""Options in lines that say what to type next: here a person presses a button."""
MOST_LINES = 200
"""A page of more lines is cut here; the logs of the tasks that made it have them all."""


def plan_page(plan: Mapping[str, Any], preview: Mapping[str, Any] | None = None) -> str:
    """The results of the jobs as a page: numbers, changes and differences as tables, messages as a list.

    Args:
        plan: the result of the job that planned, as a dict.
        preview: the result of ``preview``, where there is one.
    """
    changes = [DefinitionChange.from_facts(facts) for facts in (plan.get("findings") or {}).get("changes", ())]
    numbers = [(name.replace("_", " "), value) for name, value in (plan.get("counters") or {}).items() if value]
    lines = [
        *_table(("what", "number"), numbers),
        *_table(HEADER, [change.cells() for change in changes]),
        *_message_lines(plan, but={change.describe() for change in changes if not change.remedy}),
        *_previewed(preview or {}),
    ]
    more = [f"- and {len(lines) - MOST_LINES} lines more in the log"] if len(lines) > MOST_LINES else []
    return "\n".join([*lines[:MOST_LINES], *more]).strip() or "The plan is empty; look at the log of its task."


def _previewed(preview: Mapping[str, Any]) -> Iterator[str]:
    """Each mart with its rows now and then, its columns as a table, and keys where some were wanted."""
    for mart, facts in (preview.get("findings") or {}).items():
        yield from ("", f"**{_plain(mart)}**: {facts['rows_now']:,} rows now, {facts['rows_then']:,} then", "")
        yield from _table(PREVIEW_HEADER, [ColumnPreview.from_facts(column).cells() for column in facts["columns"]])
        for kind, keys in facts["samples"].items():
            if keys:
                yield f"- {kind}, the first {len(keys)}: {_plain(', '.join(keys))}"
    if lines := _message_lines(preview):
        yield from ("", *lines)


def _message_lines(result: Mapping[str, Any], but: Collection[str] = ()) -> list[str]:
    """The messages of a result, line by line, without those that a table has already."""
    kept = [message for message in result.get("messages") or () if message not in but]
    lines = [line for message in kept for line in message.splitlines() if line.strip()]
    return [f"- {_plain(line)}" for line in lines if not any(option in line for option in _FOR_A_SHELL)]


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """A table with an empty line after it; nothing without rows."""
    if not rows:
        return []
    rule = ["---:" if is_number else "---" for is_number in number_columns(header, rows)]
    cells = [[_plain(cell_text(value)) for value in row] for row in rows]
    return [*(f"| {' | '.join(line)} |" for line in (header, rule, *cells)), ""]


def _plain(line: str) -> str:
    """A line that Markdown shows as it is: a name in it becomes no emphasis, no link and no element."""
    return _MARKS.sub(r"\\\g<0>", " ".join(line.split()))
