"""Rule versions: which one counts in a month, what it makes of it, and one clear line for every mistake in a file.

``v1`` and ``v2`` are the shipped files; the broken ones are one of them with a replacement in its text.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError, LakehouseError, SettingsError
from spark_jobs.contracts.rules import RuleBook, RuleVersion, first_day
from spark_jobs.contracts.rules_file import load_rules, parse_rules
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings

SHIPPED = PROJECT_ROOT / "include" / "rules"
ONE = RuleVersion(
    version="one",
    valid_from=date(2025, 3, 1),
    promoted=True,
    description="",
    shares=((8, Decimal(1)),),
    bonuses=((3, Decimal("1.1")),),
)


def test_the_shipped_versions():
    book = load_rules(Settings().rules_path)
    assert book.names == ["v1", "v2"]
    assert [rules.promoted for rules in book.versions] == [True, False]
    assert book.version("v1").shares == ((8, Decimal(1)),)
    assert book.version("v2").shares == ((6, Decimal("0.2")), (7, Decimal("0.3")), (8, Decimal("0.5")))
    assert book.version("v2").bonuses == ((3, Decimal("1.10")),)
    assert {month: rules and rules.version for month in ("2014-12", "2015-01", "2026-06")
            for rules in [book.in_force(month)]} == {"2014-12": None, "2015-01": "v1", "2026-06": "v1"}  # fmt: skip


def test_the_path_is_a_setting():
    assert Settings.from_environment({"LAKEHOUSE_RULES_PATH": "/company/rules"}).rules_path == "/company/rules"
    assert Settings.from_environment({"LAKEHOUSE_RULES_PATH": "rules"}).rules_path == str(Path.cwd() / "rules")


def test_rows_of_months():
    book = load_rules(str(SHIPPED))
    months = ["2026-02", "2014-12", "2026-01", "2026-02"]
    overrides = {"2026-02": "v2", "1999-01": "v2"}
    assert book.share_rows(months) == [("2026-01", "v1", 8, Decimal(1)), ("2026-02", "v1", 8, Decimal(1))]
    assert book.bonus_rows(months) == []
    assert book.share_rows(months, overrides) == [
        ("2026-01", "v1", 8, Decimal(1)),
        ("2026-02", "v2", 6, Decimal("0.2")),
        ("2026-02", "v2", 7, Decimal("0.3")),
        ("2026-02", "v2", 8, Decimal("0.5")),
    ]
    assert book.bonus_rows(months, overrides) == [("2026-02", 3, Decimal("1.1"))]
    assert book.share_rows(["2014-12"], {"2014-12": "v1"}) == [("2014-12", "v1", 8, Decimal(1))]
    with pytest.raises(ContractError, match=r"there are no rules 'v3'; there are \['v1', 'v2'\]"):
        book.share_rows(months, {"2026-01": "v3"})


def test_a_version_that_starts_within_a_month_counts_from_the_next():
    book = RuleBook(versions=(ONE, replace(ONE, version="two", valid_from=date(2025, 6, 2))))
    names = {
        month: getattr(book.in_force(month), "version", None) for month in ("2025-02", "2025-03", "2025-06", "2025-07")
    }
    assert names == {"2025-02": None, "2025-03": "one", "2025-06": "one", "2025-07": "two"}


def test_the_content_of_a_version_is_what_it_counts_and_nothing_else():
    same = [
        replace(ONE, version="other", valid_from=date(2020, 1, 1), promoted=False, description="said otherwise"),
        replace(ONE, bonuses=((3, Decimal("1.10")), (4, Decimal(1)))),
        replace(ONE, shares=((8, Decimal("1.0")),)),
    ]
    others = [
        replace(ONE, shares=((7, Decimal(1)),)),
        replace(ONE, shares=((7, Decimal("0.5")), (8, Decimal("0.5")))),
        replace(ONE, bonuses=()),
        replace(ONE, bonuses=((4, Decimal("1.1")),)),
        replace(ONE, bonuses=((3, Decimal(0)),)),
    ]
    assert {rules.content for rules in same} == {ONE.content}
    assert len({rules.content for rules in [ONE, *others]}) == 1 + len(others)


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


@pytest.mark.parametrize(
    "month", ["2026", "2026-1", "2026-13", "2026-01-01", "0000-01", "", "2026-01\n", "２０２６-01"]
)
def test_what_is_no_month(month):
    with pytest.raises(ContractError, match="is not a month; give yyyy-MM"):
        first_day(month)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version: v2", "version: v3", "version is 'v3'; give the file's own name, 'v2'"),
        ("version: v2", "version: [", "cannot be read"),
        ("promoted: false", "promoted: maybe", "promoted is 'maybe'; give true or false"),
        ("promoted: false", "promotet: false", "unknown entries ['promotet']"),
        ("promoted: false\n", "", "missing 1 required keyword-only argument: 'promoted'"),
        ("valid_from: 2026-01-01", "valid_from: soon", "valid_from is 'soon'; give a day, for example 2026-01-01"),
        ("valid_from: 2026-01-01", "valid_from: 2026-01-01 08:00:00", "give a day, for example 2026-01-01"),
        ('share: "0.2"', "share: 0.2", 'share is 0.2 without quotes, which is no exact number; write "0.2"'),
        ('share: "0.2"', "share: 1", 'share is 1 without quotes, which is no exact number; write "1"'),
        ('share: "0.2"', 'share: "a fifth"', "share is 'a fifth'; give a decimal number in quotes"),
        ('share: "0.2"', 'share: "-0.2"', "share is '-0.2'; give a decimal number in quotes"),
        ('share: "0.2"', 'share: "2e-1"', "share is '2e-1'; give a decimal number in quotes"),
        ('share: "0.2"', 'share: "NaN"', "share is 'NaN'; give a decimal number in quotes"),
        ('share: "0.2"', 'share: "0.3"', "rules v2: its shares sum to 1.1; make them sum to 1"),
        ('share: "0.2"', 'share: "0.2000001"', "status_id 6: 0.2000001 has more than 6 digits after the point"),
        ('share: "0.2"', 'share: "0"', "status_id [6] has a share of 0; leave it out"),
        ('share: "0.2"', 'share: "1000"', "status_id 6: 1000 is not between 0 and 999; correct it"),
        ('share: "0.2"', 'sharing: "0.2"', "give status_id and share, and nothing else"),
        ('share: "0.2"', 'share: "0.2", of: x', "give status_id and share, and nothing else"),
        ("status_id: 6", "status_id: Reservation", "status_id is 'Reservation'; give a whole number"),
        ("status_id: 6", "status_id: true", "status_id is True; give a whole number"),
        ("status_id: 6", "status_id: 7", "status_id [7] is given twice; give each once"),
        ('factor: "1.10"', "factor: 1.10", 'project_id 3: factor is 1.1 without quotes, which is no exact number'),
        ("bonuses:\n  - {project_id: 3,", "bonuses:\n  - 3\n  - {project_id: 4,", "an entry must be a mapping"),
        ("bonuses:\n  - {project", "bonuses: none\nx:\n  - {project", "rules v2: bonuses must be a list"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_that_names_the_file(tmp_path, old, new, message):
    text = (SHIPPED / "v2.yaml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "v2.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(LakehouseError) as caught:
        load_rules(str(tmp_path))
    assert caught.value.exit_code == 2
    assert "v2.yaml" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert message in str(caught.value)


def test_mistakes_are_told_with_their_lines(tmp_path):
    text = (SHIPPED / "v2.yaml").read_text(encoding="utf-8")
    for old, new in (("promoted: false", "promoted: maybe"), ('share: "0.3"', "share: 0.3"), ('"1.10"', '"much"')):
        text = text.replace(old, new, 1)
    (tmp_path / "v2.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ContractError) as caught:
        load_rules(str(tmp_path))
    lines = [str(error).removeprefix(f"{tmp_path}/v2.yaml:").split(":")[0] for error in caught.value.each]
    assert sorted(map(int, lines)) == [4, 10, 13]
    assert str(caught.value).endswith(" (and 2 more)")


def test_two_versions_from_one_day_on():
    with pytest.raises(ContractError, match="rules one and two are both promoted from 2025-03-01 on"):
        RuleBook(versions=(ONE, replace(ONE, version="two")))
    assert RuleBook(versions=(ONE, replace(ONE, version="two", promoted=False))).in_force("2025-03") == ONE


def test_one_name_for_two_versions():
    with pytest.raises(ContractError, match="rules one are there twice"):
        RuleBook(versions=(ONE, replace(ONE, valid_from=date(2026, 1, 1))))


@pytest.mark.parametrize("name", ["V1", "v 1", "", "v-1"])
def test_a_name_that_is_none(name):
    with pytest.raises(ContractError, match="is not a snake_case identifier"):
        replace(ONE, version=name)


def test_bonuses_may_be_left_out_and_a_project_may_count_for_nothing():
    document = {"version": "x", "valid_from": date(2026, 1, 1), "promoted": False, "description": ""}
    document["shares"] = [{"status_id": 8, "share": "1.000000"}]
    assert parse_rules(document).bonuses == ()
    assert parse_rules({**document, "bonuses": [{"project_id": 1, "factor": "0"}]}).bonuses == ((1, Decimal(0)),)
    with pytest.raises(ContractError, match="its shares sum to 0"):
        parse_rules({**document, "shares": []})


def test_a_folder_without_rules(tmp_path):
    with pytest.raises(SettingsError, match=r"no rules in .*; write <version>\.yaml there or set LAKEHOUSE_RULES_PATH"):
        load_rules(str(tmp_path / "nowhere"))
