"""Pages of Data Docs: what they would fetch is taken out, what they say stays; and the first page of a run."""

from __future__ import annotations

from spark_jobs.contracts.instants import Instant
from spark_jobs.quality.docs_pages import Line, first_page, self_contained

PAGE = """<html><head><title>Result</title>
<link rel="stylesheet" href="https://cdn.example.com/a.css"/><link rel="shortcut icon" href="./static/favicon.ico"/>
<script src="https://cdn.example.com/a.js"></script><script>
  $('#x').table()
</script></head><body><img
  class="logo" src="https://cdn.example.com/logo.png?d=1"
  alt="x"/><td>keys_are_known</td><img src="../static/own.png"/>
<footer><p>Newsletter <a href="https://example.com">here</a></p></footer></body></html>"""


def line(table: str, name: str, *, broken: int) -> Line:
    outcome = "warned" if broken else "held"
    return Line(
        table=table,
        instant=Instant("20260101000000000"),
        name=name,
        expected="a < b & c",
        checked=1234,
        broken=broken,
        outcome=outcome,
        page="v/a.html",
    )


def test_a_page_fetches_nothing_and_says_the_same():
    page = self_contained(PAGE)
    assert "https://" not in page
    assert "<script" not in page
    for kept in ("keys_are_known", "./static/favicon.ico", "../static/own.png", "<title>Result</title>", "<style>"):
        assert kept in page


def test_the_first_page_has_what_is_broken_first_and_is_no_place_for_markup():
    page = first_page("sales", "2026-01-01T00:00:00Z", [line("a", "fine", broken=0), line("b", "wrong", broken=7)])
    assert page.index("<td>wrong</td>") < page.index("<td>fine</td>")
    assert "2 expectations, 1 broken" in page
    assert "a &lt; b &amp; c" in page
    assert '<td class="number">1,234</td><td class="number">7</td><td class="broken">warned</td>' in page
    assert "https://" not in page
