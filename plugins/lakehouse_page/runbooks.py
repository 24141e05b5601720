"""The runbooks as pages: what to do about a finding, beside the page that shows it."""

from __future__ import annotations

import re
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup

from spark_jobs.contracts.shipped import CHECKOUT

FOLDER = CHECKOUT / "docs" / "runbooks" if CHECKOUT else Path(__file__).parent / "runbook_pages"
_NAME = re.compile(r"[a-z]+(-[a-z]+)*")
_LINK = re.compile(r'<a href="(?P<target>[^"]*)">')
_RUNBOOK = re.compile(r"(?P<name>[a-z-]+)\.md(?P<anchor>#[\w-]+)?")


def find_runbook(name: str, base: str, folder: Path = FOLDER) -> Markup | None:
    """The page of this name as HTML, or None. Links to other runbooks lead to their pages; others are left as text.

    Args:
        name: without its ending.
        base: the path of the lake page's root.
        folder: where runbooks are.
    """
    path = folder / f"{name}.md"
    if not _NAME.fullmatch(name) or not path.is_file():
        return None
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    html = markdown.render(path.read_text(encoding="utf-8"))
    html = re.sub(r"<table>", '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>', html)
    html = html.replace("</table>", "</table></div>").replace("<pre>", '<pre class="scroll" tabindex="0">')
    return Markup(_LINK.sub(lambda found: _link(found["target"], base, folder), html))


def _link(target: str, base: str, folder: Path) -> str:
    found = _RUNBOOK.fullmatch(target)
    if found and (folder / f"{found['name']}.md").is_file():
        return f'<a href="{base}/runbooks/{found["name"]}">'
    return "<a>"
