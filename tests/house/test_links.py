"""Every link of a page to another one, or to a file or a chapter, leads there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.house.test_files import ROOT, tracked_files

LINK = re.compile(r"\]\((?!https?:|mailto:)([^()\s#]*)(?:#([^()\s]*))?\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
CODE = re.compile(r"^( {4,}|```).*$", re.MULTILINE)
PAGES = sorted(path for path in tracked_files() if path.suffix == ".md")


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "") for heading in HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in plain}


def wrong_links(page: Path, text: str) -> list[str]:
    """Links in ``text``, a page at this place, that lead nowhere."""
    wrong = []
    for target, anchor in LINK.findall(CODE.sub("", text)):
        path = (page.parent / target) if target else page
        if path != page and not path.exists():
            wrong.append(target)
        elif anchor and path.suffix == ".md":
            known = anchors(text if path == page else path.read_text(encoding="utf-8"))
            wrong += [f"{target}#{anchor}"] if anchor not in known else []
    return wrong


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert wrong_links(page, page.read_text(encoding="utf-8")) == []


def test_there_are_links_to_look_at() -> None:
    found = [LINK.findall(page.read_text(encoding="utf-8")) for page in PAGES]
    assert sum(map(len, found)) > 300


@pytest.mark.parametrize("text", ["[a](missing.md)", "[a](#nowhere)", "# One\n[a](#two)", "[a](docs/tables.md#zz)"])
def test_a_link_that_leads_nowhere_is_found(text: str) -> None:
    assert len(wrong_links(ROOT / "PAGE.md", text)) == 1


@pytest.mark.parametrize("text", ["# One & two\n[a](#one--two)", "[a](docs/tables.md)", "    [a](x.md)", "[a](docs)"])
def test_a_link_that_leads_somewhere_is_not(text: str) -> None:
    assert wrong_links(ROOT / "PAGE.md", text) == []
