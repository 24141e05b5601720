"""Tables of planted bugs: the one of docs/testing.md, made of the patches' headers, and the one a run prints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spark_jobs.contracts.text_table import format_table
from tests.mutants.bugs import ROOT, Patch, read_promises
from tests.mutants.runs import Tried

PAGE = Path("docs/testing.md")
BEGIN = "<!-- planted bugs: written by `python -m tests.mutants --write` -->"
END = "<!-- end of planted bugs -->"
_HEAD = ("promise", "bug", "caught by")


def format_page_table(patches: Sequence[Patch], promises: Sequence[str]) -> str:
    """The table as Markdown, in the order of the promises; a promise is written once."""
    lines = [f"| {' | '.join(_HEAD)} |", f"|{'---|' * len(_HEAD)}"]
    last = ""
    for patch in sorted(patches, key=lambda patch: (promises.index(patch.promise), patch.title)):
        promise = "" if patch.promise == last else patch.promise
        tests = ", ".join(f"`{test.removeprefix('tests/')}`" for test in patch.tests)
        lines.append(f"| {promise} | {patch.bug.replace('|', chr(92) + '|')} | {tests} |")
        last = patch.promise
    return "\n".join(lines)


def fill_page(text: str, patches: Sequence[Patch], promises: Sequence[str]) -> str:
    """The page with the table between its markers."""
    before, _, rest = text.partition(BEGIN)
    _, marker, after = rest.partition(END)
    if not marker:
        raise ValueError(f"{PAGE} needs the lines {BEGIN} and {END}")
    return f"{before}{BEGIN}\n\n{format_page_table(patches, promises)}\n\n{END}{after}"


def write_page(patches: Sequence[Patch], root: Path = ROOT) -> None:
    """Rewrite the table in the page."""
    page = root / PAGE
    page.write_text(fill_page(page.read_text(encoding="utf-8"), patches, read_promises(root)), encoding="utf-8")


def format_tried(tried: Sequence[Tried], promises: Sequence[str]) -> str:
    """What a run found, as text."""
    ordered = sorted(tried, key=lambda one: (promises.index(one.patch.promise), one.patch.title))
    rows = [
        (
            one.patch.promise,
            f"{one.patch.title}: {one.patch.bug}",
            ", ".join(one.patch.tests),
            one.verdict.value,
            f"{one.seconds:.0f}",
        )
        for one in ordered
    ]
    return format_table((*_HEAD, "outcome", "seconds"), rows)
