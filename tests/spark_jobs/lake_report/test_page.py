"""The page of a report as browsers and screen readers parse it, whatever is in the values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.contracts.answers import Answer
from spark_jobs.contracts.instants import Instant
from spark_jobs.lake_report.page import MARK, Picture, Report, page_of
from spark_jobs.lake_report.series import series_of
from spark_jobs.lake_report.style import STYLE
from spark_jobs.lake_spec.reports import Chart, PageSpec, PictureSpec, ReportSpec, Step

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
AT = Instant("20260101110203004")
SPECS = (
    PictureSpec(title="All", view="v", chart=Chart.NUMBER, value="n"),
    PictureSpec(
        title="By name", view="v", chart=Chart.BARS, value="n", label=("who",), most=3, unit="EUR", note="Why."
    ),
    PictureSpec(title="By day", view="v", chart=Chart.COLUMNS, value="n", label=("day",), step=Step.DAY),
    PictureSpec(title="Steps", view="v", chart=Chart.FUNNEL, value="n", label=("who",), order="n"),
    PictureSpec(title="Share", view="v", chart=Chart.BARS, value="n", label=("who",), per="n", newest="day", digits=1),
)
HOSTILE = (
    '<script>alert("x")</script>',
    "</title></svg><img src=http://x.example/y>",
    "' onload='x",
    "&amp;&lt;",
    "a\x00b\x1b[0m\r\nc",
    "\u202egnp.exe\u2066",
    "\ud800",
    "الوكيل",
    "x" * 5000,
    "]]>-->",
    "",
)
_VOID = {"meta", "link", "img", "br", "input"}


@dataclass
class Node:
    name: str
    attributes: dict[str, str]
    children: list[Node] = field(default_factory=list)
    text: str = ""

    def all(self) -> Iterator[Node]:
        yield self
        for child in self.children:
            yield from child.all()

    def named(self, name: str) -> list[Node]:
        return [each for each in self.all() if each.name == name]

    @property
    def whole_text(self) -> str:
        return self.text + "".join(child.whole_text for child in self.children)


class Tree(HTMLParser):
    """Elements, each of which must be closed where it was opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.root = Node("", {})
        self._open = [self.root]
        self.feed(text)
        self.close()
        assert len(self._open) == 1, "not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), "an attribute twice"
        node = Node(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(node)
        if tag not in _VOID:
            self._open.append(node)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().name == tag

    def handle_data(self, data: str) -> None:
        self._open[-1].text += data


def page(rows: Sequence[Sequence[Any]], *, late: Sequence[str] = (), specs: Sequence[PictureSpec] = SPECS) -> str:
    """The page of some rows of who, day and n."""
    names = ("who", "day", "n")
    answers = {
        each: Answer.of(each.columns, [[row[names.index(name)] for name in each.columns] for row in rows], None)
        for each in specs
    }
    pictures = [
        Picture(
            spec=each,
            series=series_of(answers[each], each, time_zone="UTC", hide=lambda _, value: value),
            instants={"a_mart": AT},
            late=late,
        )
        for each in specs
    ]
    declared = ReportSpec(title="Sales & more", pages=(PageSpec(title="One <page>", pictures=tuple(specs)),))
    return page_of(Report(lake="sales", spec=declared, pictures=[pictures], time_zone="UTC", now=NOW))


NUMBERS = st.one_of(st.none(), st.integers(-(10**20), 10**20), st.decimals(allow_nan=False, allow_infinity=False))
ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.text(max_size=60), st.sampled_from(HOSTILE)),
        st.one_of(st.none(), st.sampled_from(["2026-01-01", "2026-02-03", "2024-02-29"])),
        st.one_of(st.none(), st.integers(-(10**20), 10**20)),
    ),
    max_size=12,
)


@settings(max_examples=30)
@given(ROWS)
def test_whatever_the_values_are_the_page_is_whole_and_has_no_script_and_no_other_host(rows: list[Any]):
    text = page(rows)
    text.encode("utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)
    root = Tree(text).root
    assert {each.name for each in root.all()} & {"script", "img", "link", "iframe", "object", "image", "use"} == set()
    for each in root.all():
        assert not [name for name in each.attributes if name.startswith("on")]
        assert {*each.attributes} & {"src", "srcset", "data", "xlink:href", "style", "action"} == set()
        assert each.attributes.get("href", "#").startswith("#")
        values = [value for name, value in each.attributes.items() if name != "content"]
        assert not [value for value in values if "url(" in value]
    assert "url(" not in STYLE
    assert "@import" not in STYLE


@settings(max_examples=15)
@given(ROWS)
def test_each_picture_has_a_title_and_a_table_with_the_same_values(rows: list[Any]):
    root = Tree(page(rows)).root
    ids = [each.attributes["id"] for each in root.all() if "id" in each.attributes]
    assert len(ids) == len({*ids})
    for picture in root.named("svg"):
        title = picture.children[0]
        assert (title.name, title.attributes["id"]) == ("title", picture.attributes["aria-labelledby"])
        assert title.text
    for figure in root.named("figure"):
        assert len(figure.named("svg")) == len(figure.named("table"))
        for table in figure.named("table"):
            assert len(table.named("caption")) == 1
            assert {each.attributes["scope"] for each in table.named("th")} <= {"col", "row"}
    levels = [int(each.name[1]) for each in root.all() if re.fullmatch("h[1-6]", each.name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_text_and_as_much_of_it_as_can_be_shown(name: str):
    root = Tree(page([(name, "2026-01-01", 5)])).root
    (cell,) = [each for each in root.named("figure")[1].named("th") if each.attributes["scope"] == "row"]
    if name.isprintable():
        assert cell.whole_text == (name if len(name) <= 200 else f"{name[:199]}…")
    else:
        assert cell.whole_text.isprintable()
        assert "\\x" in cell.whole_text or "\\u" in cell.whole_text


def test_bars_and_columns_below_zero_begin_at_it():
    rows = [("up", "2026-01-01", 30), ("down", "2026-01-02", -10), ("zero", "2026-01-03", 0)]
    root = Tree(page(rows)).root
    bars = [each.attributes for each in root.named("figure")[1].named("rect")]
    assert [(each["x"], each["width"], each["class"]) for each in bars] == [
        ("25.000%", "75.000%", "bar"),
        ("25.000%", "0.000%", "bar"),
        ("0.000%", "25.000%", "bar below"),
    ]
    columns = [each.attributes for each in root.named("figure")[2].named("rect")]
    ends = [(float(each["y"]), float(each["y"]) + float(each["height"])) for each in columns]
    assert ends[0][1] == ends[1][0] == ends[2][0]
    assert ends[0][1] - ends[0][0] == pytest.approx(3 * (ends[1][1] - ends[1][0]), abs=0.05)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("x" * 60, f"{'x' * 32}…"), ("x" * 33, "x" * 33), ("名" * 30, f"{'名' * 15}…"), ("名" * 16, "名" * 16)],
)
def test_a_label_leaves_room_for_its_value_on_a_phone(name: str, shown: str):
    root = Tree(page([(name, "2026-01-01", 123456)])).root  # "123,456 EUR" leaves 33 of 44 characters
    label, value = root.named("figure")[1].named("svg")[0].named("text")
    assert (label.text, value.text) == (shown, "123,456 EUR")


def test_an_empty_view_has_pictures_that_say_so():
    root = Tree(page([])).root
    figures = [each.whole_text for each in root.named("figure")]
    assert figures[0].startswith("All0as of a_mart 2026-01-01 11:02:03")
    assert all("no rows" in text for text in figures[1:])
    assert root.named("svg") == []


def test_a_table_that_was_never_made_is_named():
    picture = Picture(spec=SPECS[1], series=None, instants={"a_mart": None, "agents": AT})
    spec = ReportSpec(title="R", pages=(PageSpec(title="P", pictures=(SPECS[1],)),))
    text = page_of(Report(lake="sales", spec=spec, pictures=[[picture]], time_zone="UTC", now=NOW))
    assert "not made yet: a_mart" in Tree(text).root.whole_text
    assert "as of agents 2026-01-01 11:02:03" in Tree(text).root.whole_text


def test_what_is_late_is_said_above_the_pictures_and_at_each():
    text = page([("a", "2026-01-01", 1)], late=["sales lacks <what> came"])
    (note,) = [each for each in Tree(text).root.all() if each.attributes.get("class") == "late"]
    assert note.whole_text == "Late: newer rows may be missingsales lacks <what> came"
    assert text.count("(late, see above)") == len(SPECS)
    assert "Late" not in page([("a", "2026-01-01", 1)])


def test_it_says_as_of_when_and_is_known_as_a_report():
    text = page([("a", "2026-01-01", 1)])
    assert MARK in text[:400]
    assert "lake sales, newest commit 2026-01-01 11:02:03" in text
    assert "made 2026-01-01 12:00:00; times are of UTC" in text


def test_values_are_written_with_their_units_and_shares():
    rows = [("a", "2026-01-01", Decimal("1234567.5")), ("b", "2026-01-02", Decimal(2))]
    whole = Tree(page(rows)).root.whole_text
    assert "1,234,568 EUR" in whole
    assert "100.0%" in whole
    assert "day 2026-01-02" in whole


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "print"])
def test_colours_can_be_told_apart(scheme: int):
    blocks = re.findall(r":root \{([^}]*)\}", STYLE)
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", blocks[scheme]))

    def contrast(one: str, other: str = "back") -> float:
        lighter, darker = sorted((luminance(colours[one]), luminance(colours[other])), reverse=True)
        return (lighter + 0.05) / (darker + 0.05)

    assert min(contrast(name) for name in ("text", "soft", "link", "bad")) >= 4.5
    assert min(contrast(name) for name in ("bar", "below")) >= 3
