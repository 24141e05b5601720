"""What a page shows of an output is compared as tests/support/shown.py says."""

from __future__ import annotations

import pytest

from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.documents import Group, groups, outputs
from tests.support.followed import FOLLOWED
from tests.support.shown import missing

TABLE = "  table      rows written\n  ---------  ------------\n  sales_log             2\n\ndone in 3.1 s\n"


@pytest.mark.parametrize(
    ("shown", "is_yours", "found"),
    [
        ("  table  rows written\n  sales_log  2\ndone in 12.0 s\n", False, []),
        ("  sales_log  3\n", False, ["  sales_log  3"]),
        ("  sales_log  3\n", True, []),
        ("…\n  sales…  2\n", False, []),
        ("done in 3.1 s\n  sales_log  2\n", False, ["  sales_log  2"]),
        ("nothing to do in 3.1 s\n", False, ["nothing to do in 3.1 s"]),
        ("  units  2\n", True, ["  units  2"]),
    ],
)
def test_lines_are_found_in_their_order(shown: str, is_yours: bool, found: list[str]) -> None:
    assert missing(shown, TABLE, is_yours=is_yours) == found


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sales: upsert at 20260101000000000", "sales: upsert at 20270228133000123"),
        ("since 2026-01-01 10:00 UTC", "since 2027-02-28 09:59 UTC"),
        ("lake sales at /home/me/lakehouse/data/first-hour/lake", "lake sales at /tmp/x/data/first-hour/lake"),
    ],
)
def test_what_is_another_one_each_time_is_not_compared(one: str, other: str) -> None:
    assert missing(one, other, is_yours=False) == []
    assert missing(one, f"no {other}", is_yours=False) == [one]


def test_the_first_hour_shows_what_its_commands_print() -> None:
    page = "docs/first-hour.md"
    shown = outputs(page)
    assert len(shown) > 20
    chapters = [group.chapter for group in groups(page)]
    assert {each.group.chapter for each in shown} == {*FOLLOWED[page]} == {*chapters}
    of = [each.group for each in shown]
    assert len(of) == len({each.line for each in of}), "one block for each group of commands"


def test_a_here_document_is_one_command() -> None:
    text = 'cat > file <<EOF\n{"a": 1, \\\n"b": $now}  # no comment\nEOF\ncat file   # a comment'
    group = Group(page="", chapter="", line=1, text=text)
    assert group.commands == (text.rpartition("\n")[0], "cat file")


def test_no_page_but_the_first_hour_is_followed_with_its_outputs() -> None:
    pages = [str(path.relative_to(PROJECT_ROOT)) for path in (PROJECT_ROOT / "docs").glob("*.md")]
    assert [page for page in pages if outputs(page) and page != "docs/first-hour.md"] == []
