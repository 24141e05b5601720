"""Text is escaped wherever it stands, and markup is not."""

from __future__ import annotations

from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.lake_docs.markup import element, facts_list, joined, table_of

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]))


@given(TEXT, TEXT)
def test_any_text_comes_back_from_content_and_attributes(content: str, value: str):
    found = ElementTree.fromstring(element("p", element("b", content), title=value or "x"))
    assert found.attrib["title"] == (value or "x")
    assert "".join(found.itertext()) == content


def test_what_is_empty_is_left_out():
    assert table_of(("a",), []) == ""
    assert facts_list([("a", ""), ("b", "1")]) == "<dl><dt>b</dt><dd>1</dd></dl>"
    assert element("a", class_="", href=None) == "<a></a>"
    assert joined(["<", element("br")], ",") == "&lt;,<br></br>"
