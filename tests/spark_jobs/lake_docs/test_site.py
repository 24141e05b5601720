"""The docs of a lake as files: every link leads to one of them, text is escaped, nothing comes from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_docs.facts import facts_of
from spark_jobs.lake_docs.site import pages_of, write_site
from spark_jobs.lake_spec.specs import LakeSpec
from tests.support.seen_lakes import MART, NOW, SPEC, empty_lake, seen_lake

HOSTILE = "<script>alert(1)</script> & \"more\" 'words'"


class Page(HTMLParser):
    """What a page has: texts, links, and whether every element that is opened is closed in its place."""

    _VOID = ("meta", "link", "input", "!doctype")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts, self.links, self.elements = list[str](), list[str](), list[str]()
        self._open = list[str]()
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        if tag not in self._VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def site_of(folder: Path, spec: LakeSpec = SPEC) -> Mapping[str, str]:
    lake = seen_lake(folder)
    return pages_of(facts_of(spec, lake.settings, NOW))


@pytest.mark.parametrize("make", [empty_lake, seen_lake])
def test_every_page_is_whole_and_every_link_leads_to_a_file_of_the_site(tmp_path: Path, make):
    lake = make(tmp_path)
    site = pages_of(facts_of(SPEC, lake.settings, NOW))
    assert {f"{table}.html" for table in SPEC.table_names} < site.keys()
    for name, text in site.items():
        if name.endswith(".html"):
            page = Page(text)
            assert set(page.links) <= site.keys(), name
    assert not any("http" in text or "@import" in text for text in site.values())


def test_a_table_has_its_columns_expectations_lineage_and_sql(tmp_path: Path):
    site = site_of(tmp_path)
    mart, sales = Page(site[f"{MART}.html"]), Page(site["sales.html"])
    assert {"contracts signed", "data platform", "scoped", "1 day", "sales", "units"} <= set(mart.texts)
    assert any("LEFT JOIN units ON sales.unit_id = units.unit_id" in text for text in mart.texts)
    assert ".contract_subtotal" in mart.texts
    assert "ContractSubtotal at the source" in Page(site[f"{SPEC.log}.html"]).texts
    assert {MART, "stitch_agent_days"} <= set(sales.texts)
    assert any(each.name in sales.texts for each in SPEC.expectations if each.table == "sales")
    assert "names a person" in " ".join(Page(site["agents.html"]).texts)


def test_words_of_a_spec_are_text_and_no_markup(tmp_path: Path):
    mart = replace(SPEC.mart(MART), description=HOSTILE, owner=HOSTILE, comments=(("deals", HOSTILE),))
    marts = tuple(mart if each.name == MART else each for each in SPEC.marts)
    site = site_of(tmp_path, replace(SPEC, description=HOSTILE, marts=marts))
    for name in ("index.html", f"{MART}.html"):
        page = Page(site[name])
        assert HOSTILE in page.texts
        assert page.elements.count("script") == (name == "index.html")


def test_the_index_says_who_owns_a_table_and_what_it_is(tmp_path: Path):
    mart = replace(SPEC.mart(MART), owner="desk", tags=("daily",))
    marts = tuple(mart if each.name == MART else each for each in SPEC.marts)
    texts = Page(site_of(tmp_path, replace(SPEC, marts=marts))["index.html"]).texts
    assert {"desk", "daily", "data platform", mart.description} <= set(texts)


def test_a_table_that_cannot_be_read_says_so_on_its_page(tmp_path: Path):
    lake = seen_lake(tmp_path)
    properties = Path(lake.settings.table_path("units"), ".hoodie", "hoodie.properties")
    properties.write_text(properties.read_text().replace("hoodie.table.version=6", "hoodie.table.version=9"))
    site = pages_of(facts_of(SPEC, lake.settings, NOW))
    assert "version" in " ".join(Page(site["units.html"]).texts)


def test_a_folder_is_written_again_and_what_is_no_more_goes(tmp_path: Path):
    folder = tmp_path / "deep" / "site"
    write_site({"index.html": "one", "old.html": "two"}, folder)
    write_site({"index.html": "three"}, folder)
    assert {path.name: path.read_text() for path in folder.glob("*.html")} == {"index.html": "three"}


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path):
    (tmp_path / "mine.txt").write_text("kept")
    with pytest.raises(ContractError, match=r"has files that are no docs of a lake, such as mine.txt; give an empty"):
        write_site({"index.html": "one"}, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(ContractError, match=r"mine.txt.*cannot be written .*; give another folder"):
        write_site({"index.html": "one"}, tmp_path / "mine.txt" / "site")
