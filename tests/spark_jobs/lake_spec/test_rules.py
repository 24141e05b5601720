"""Rule versions: which one counts in a month, and what makes two contents the same.

``ONE`` is promoted from March 2025 on; its value ``share`` is 1 for kind 8 and else 0.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.rules import RuleBook, RuleValue, RuleVersion, first_day

SHARE = RuleValue(name="share", type="decimal(9,6)", sql="CASE kind WHEN 8 THEN 1 ELSE 0 END")
BONUS = RuleValue(name="bonus", type="decimal(9,6)", sql="1.1")
ONE = RuleVersion(version="one", valid_from=date(2025, 3, 1), promoted=True, description="", values=(SHARE, BONUS))


def test_a_version_that_starts_within_a_month_counts_from_the_next():
    book = RuleBook(versions=(ONE, replace(ONE, version="two", valid_from=date(2025, 6, 2))))
    names = {
        month: getattr(book.in_force(month), "version", None) for month in ("2025-02", "2025-03", "2025-06", "2025-07")
    }
    assert names == {"2025-02": None, "2025-03": "one", "2025-06": "one", "2025-07": "two"}
    assert book.by_month(["2025-07", "2025-02", "2025-03", "2025-03"]) == {"2025-03": "one", "2025-07": "two"}


@given(
    st.lists(st.tuples(st.dates(date(2024, 1, 1), date(2026, 12, 31)), st.booleans()), unique_by=lambda part: part[0]),
    st.dates(date(2024, 1, 1), date(2026, 12, 31)),
)
def test_what_counts_is_found_by_going_back_day_by_day(starts, day):
    versions = [
        replace(ONE, version=f"v{number}", valid_from=start, promoted=promoted)
        for number, (start, promoted) in enumerate(starts)
    ]
    by_day = {rules.valid_from: rules.version for rules in versions if rules.promoted}
    day = day.replace(day=1)
    found = RuleBook(versions=tuple(versions)).in_force(f"{day:%Y-%m}")
    while day not in by_day and day > date(2023, 12, 31):
        day -= timedelta(days=1)
    assert (found.version if found else None) == by_day.get(day)


def with_share(sql: str, **changes: str) -> RuleVersion:
    return replace(ONE, values=(BONUS, replace(SHARE, sql=sql, **changes)))


def test_the_content_of_a_version_is_what_it_counts_and_nothing_else():
    same = [
        replace(ONE, version="other", valid_from=date(2020, 1, 1), promoted=False, description="described otherwise"),
        replace(ONE, values=(BONUS, SHARE)),
        replace(ONE, formerly=("0123456789abcdef",)),
        with_share("case Kind\n  when 8 then 1  -- 'signed'\n  /* all\nothers */ else 0 end"),
        with_share(SHARE.sql, type="DECIMAL( 9, 6 )"),
    ]
    others = [
        with_share("CASE kind WHEN 7 THEN 1 ELSE 0 END"),
        with_share("CASE kind WHEN 8 THEN 0.1 ELSE 0 END"),
        with_share("CASE kind WHEN 8 THEN 1 END"),
        with_share("CASE kind WHEN 8 THEN 10 ELSE 0 END"),
        with_share("CASE kind WHEN '8' THEN 1 ELSE 0 END"),
        with_share("CASE kind WHEN '8 ' THEN 1 ELSE 0 END"),
        with_share("CASE kind WHEN 'a' THEN 1 ELSE 0 END"),
        with_share("CASE kind WHEN 'A' THEN 1 ELSE 0 END"),
        with_share("CASE kind WHEN '-- a' THEN 1 ELSE 0 END"),
        with_share("a * (b + c)"),
        with_share("(a * b) + c"),
        with_share(SHARE.sql, type="decimal(9,5)"),
        with_share(SHARE.sql, name="portion"),
        replace(ONE, values=(SHARE,)),
    ]
    assert {rules.content for rules in same} == {ONE.content}
    assert len({rules.content for rules in [ONE, *others]}) == 1 + len(others)


WORDS = st.sampled_from(
    ["case", "KIND", "when", "'A b'", '"x -- y"', "`The Kind`", "8", "1.10", "(", ")", "*", "-", "="]
)
GAPS = st.sampled_from([" ", "\n", "  \t", " -- it's a note\n", " /* not 'this' -- nor\nthat */ "])


@given(st.lists(st.tuples(WORDS, GAPS), min_size=1), st.lists(st.tuples(WORDS, GAPS), min_size=1))
def test_spaces_and_comments_never_count_and_words_always_do(one, other):
    """Words are read with a space between them, so that two texts are the same exactly when their words are."""
    contents = [with_share("".join(word + gap for word, gap in text)).content for text in (one, other)]
    words = [[word if word[0] in "'\"`" else word.lower() for word, _ in text] for text in (one, other)]
    assert (contents[0] == contents[1]) == (words[0] == words[1])


def test_the_same_count_under_another_content_is_a_matter_of_a_persons_word():
    edited = with_share("IF(kind = 8, 1, 0)")
    assert not edited.counts_as(ONE.content)
    assert edited.counts_as(edited.content)
    known = replace(edited, formerly=("0123456789abcdef", ONE.content))
    assert known.counts_as(ONE.content)
    assert known.counts_as(edited.content)
    assert not known.counts_as("")


def test_an_expression_on_one_line():
    sql = "CASE kind\n  WHEN 8 THEN 0.5  -- signed\n  WHEN 9 THEN '-- no' /* x\n*/ END"
    assert replace(SHARE, sql=sql).line == "CASE kind WHEN 8 THEN 0.5 WHEN 9 THEN '-- no' END"


@pytest.mark.parametrize(
    "month", ["2026", "2026-1", "2026-13", "2026-01-01", "0000-01", "", "2026-01\n", "２０２６-01"]
)
def test_what_is_no_month(month):
    with pytest.raises(ContractError, match="is not a month; give yyyy-MM"):
        first_day(month)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"versions": (ONE, replace(ONE, version="two"))}, "rules one and two are both promoted from 2025-03-01 on"),
        ({"versions": (ONE, replace(ONE, valid_from=date(2026, 1, 1)))}, "rules one are there twice"),
        (
            {"versions": (ONE, replace(with_share("1", type="bigint"), version="two", promoted=False))},
            r"value share is decimal\(9,6\) in rules one and bigint in rules two; give it one type",
        ),
    ],
)
def test_versions_that_contradict_each_other(changes, message):
    with pytest.raises(ContractError, match=message):
        RuleBook(**changes)


def test_two_versions_from_one_day_on_of_which_one_is_promoted():
    assert RuleBook(versions=(ONE, replace(ONE, version="two", promoted=False))).in_force("2025-03") == ONE


@pytest.mark.parametrize("name", ["V1", "v 1", "", "v-1"])
def test_a_name_that_is_none(name):
    with pytest.raises(ContractError, match="is not a snake_case identifier"):
        replace(ONE, version=name)
    with pytest.raises(ContractError, match=r"rule value .* is not a snake_case identifier"):
        replace(SHARE, name=name)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"valid_from": datetime(2026, 1, 1, 8, tzinfo=UTC)}, "give a day, for example 2026-01-01"),
        ({"values": ()}, "values are needed, each once"),
        ({"values": (SHARE, SHARE)}, "values are needed, each once"),
        ({"formerly": ("v1",)}, "formerly has 'v1', which is no fingerprint"),
        ({"formerly": ("0123456789ABCDEF",)}, "which is no fingerprint"),
    ],
)
def test_a_version_that_contradicts_itself(changes, message):
    with pytest.raises(ContractError, match=message):
        replace(ONE, **changes)


@pytest.mark.parametrize(
    "type_", ["", "double", "float", "decimal", "decimal(9)", "decimal(39,6)", "decimal(6,9)", "decimal(0,0)", "int"]
)
def test_a_type_that_is_none(type_):
    with pytest.raises(ContractError, match="is unknown; give decimal"):
        replace(SHARE, type=type_)


def test_the_version_itself_is_no_value_of_a_file():
    with pytest.raises(ContractError, match="value version is the version's name, which is there by itself"):
        replace(SHARE, name="version")


def test_a_version_that_is_not_there():
    with pytest.raises(ContractError, match=r"there are no rules 'v3'; there are \['one'\]"):
        RuleBook(versions=(ONE,)).version("v3")
