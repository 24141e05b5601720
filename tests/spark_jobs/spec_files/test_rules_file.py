"""Files of rule versions: what is shipped, and one clear line with its place for every mistake.

The broken ones are ``v2`` as shipped with a replacement in its text.
"""

from __future__ import annotations

import hashlib
import json
from datetime import date
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError, LakehouseError, SettingsError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.spec_files.rules_file import load_rules, parse_rules
from tests.support.rule_files import sales_rules

SHIPPED = PROJECT_ROOT / "include" / "rules"
SIX = "WHEN 6 THEN 0.2"


def test_the_shipped_versions():
    book = load_rules(Settings().rules_path)
    assert book.names == ["v1", "v2"]
    assert book.types == {"share": "decimal(9,6)", "factor": "decimal(9,6)"}
    assert [rules.promoted for rules in book.versions] == [True, False]
    assert [value.line for value in book.version("v1").values] == ["CASE status_id WHEN 8 THEN 1 ELSE 0 END", "1"]
    assert [value.line for value in book.version("v2").values] == [
        "CASE status_id WHEN 6 THEN 0.2 WHEN 7 THEN 0.3 WHEN 8 THEN 0.5 ELSE 0 END",
        "CASE project_id WHEN 3 THEN 1.10 ELSE 1 END",
    ]
    assert {month: rules and rules.version for month in ("2014-12", "2015-01", "2026-06")
            for rules in [book.in_force(month)]} == {"2014-12": None, "2015-01": "v1", "2026-06": "v1"}  # fmt: skip


@pytest.mark.parametrize(
    ("version", "shares", "factors"),
    [("v1", {8: "1"}, {}), ("v2", {6: "0.2", 7: "0.3", 8: "0.5"}, {3: "1.1"})],
)
def test_months_that_were_counted_before_there_were_expressions_stay_as_they_are(version, shares, factors):
    """Their commits have the fingerprint of lists of numbers, shares by status and factors by project."""
    before = hashlib.sha256(json.dumps([sorted(shares.items()), sorted(factors.items())]).encode()).hexdigest()[:16]
    assert load_rules(str(SHIPPED)).version(version).counts_as(before)


def test_the_path_is_a_setting():
    assert Settings.from_environment({"LAKEHOUSE_RULES_PATH": "/company/rules"}).rules_path == "/company/rules"
    assert Settings.from_environment({"LAKEHOUSE_RULES_PATH": "rules"}).rules_path == str(Path.cwd() / "rules")


def broken(folder: Path, *edits: tuple[str, str]) -> LakehouseError:
    """What is refused of v2 with these replacements in its text."""
    text = (SHIPPED / "v2.yaml").read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "v2.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(LakehouseError) as caught:
        load_rules(str(folder))
    assert caught.value.exit_code == 2
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("version: v2", "version: v3", 2, "version is 'v3'; give the file's own name, 'v2'"),
        ("promoted: false", "promoted: maybe", 4, "promoted is 'maybe'; give true or false"),
        ("promoted: false", "promotet: false", 4, "unknown entries ['promotet']; write promoted"),
        ("promoted: false\n", "", 2, "missing 1 required keyword-only argument: 'promoted'"),
        ("valid_from: 2026-01-01", "valid_from: soon", 3, "valid_from is 'soon'; give a day, for example 2026-01-01"),
        ("valid_from: 2026-01-01", "valid_from: 2026-01-01 08:00:00", 3, "give a day, for example 2026-01-01"),
        ("values:", "values: 7\nx:", 8, "values must be a mapping of names to values"),
        ("values:", "value:", 8, "unknown entries ['value']; write values"),
        ("  factor: ", "  share: ", 18, "'share' is there twice, on lines 9 and 18; keep one of them"),
        ("  factor: ", "  Factor: ", 18, "rule value 'Factor' is not a snake_case identifier"),
        ("  factor: ", "  version: ", 18, "value version is the version's name, which is there by itself"),
        ("    type: decimal(9,6)\n    sql: CASE", "    sql: CASE", 18, "argument: 'type'; add the entry type"),
        ("    sql: CASE", "    sql: 1 #", 20, "sql is 1; give text"),
        ("    sql: CASE", "    sqls: CASE", 20, "unknown entries ['sqls']; write sql"),
        ("type: decimal(9,6)", "type: double", 10, "value share: type 'double' is unknown; give decimal(9,6) with "),
        (SIX, "WHEN 6 THEN 0.2000001", 11, "rules v2: share: 0.2000001 is no decimal(9,6); correct it"),
        (SIX, "WHEN 6 THEN 0.2 WHEN", 11, "rules v2: share: its SQL cannot be read ("),
        (SIX, "WHEN 6 THEN sqrt(0.04)", 11, "rules v2: share: sqrt is not among the functions that rules may use"),
        (SIX, "WHEN 6 THEN 2e-1", 11, "rules v2: share: '2e-1' is no exact number"),
        (SIX, "WHEN 6 THEN (SELECT 1)", 11, "is not one value of one row"),
        ('["9ae925391010c31b"]', "9ae925391010c31b", 21, "formerly is '9ae925391010c31b'; give a list of names"),
        ('formerly: ["9', 'formerly: ["x', 21, "formerly has 'xae925391010c31b', which is no fingerprint"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place(tmp_path, old, new, line, message):
    refused = broken(tmp_path, (old, new))
    assert "\n" not in str(refused)
    assert message in str(refused)
    assert str(refused).startswith(f"{tmp_path}/v2.yaml:{line}: ")


def test_a_file_that_cannot_be_read(tmp_path):
    refused = broken(tmp_path, ("version: v2", "version: ["))
    assert f"{tmp_path}/v2.yaml cannot be read (" in str(refused)
    assert "\n" not in str(refused)


def test_mistakes_are_reported_with_their_lines(tmp_path):
    refused = broken(
        tmp_path, ("promoted: false", "promoted: maybe"), ("0.3", "0.3e0"), ("THEN 1.10 ELSE", "THEN y / x ELSE")
    )
    assert isinstance(refused, ContractError)
    lines = [str(error).removeprefix(f"{tmp_path}/v2.yaml:").split(":")[0] for error in refused.each]
    assert sorted(map(int, lines)) == [4, 11, 20]


def test_mistakes_of_all_files_are_found_at_once(tmp_path):
    sales_rules(tmp_path, "v1", {8: "1e0"}, {})
    refused = broken(tmp_path, ("0.3", "0.3e0"))
    assert isinstance(refused, ContractError)
    assert [str(error).split(": ")[0] for error in refused.each] == [f"{tmp_path}/v1.yaml:8", f"{tmp_path}/v2.yaml:11"]


def test_a_value_has_one_type_in_all_versions(tmp_path):
    sales_rules(tmp_path, "v1", {8: "1"}, {}, valid_from="2015-01-01")
    refused = broken(tmp_path, ("type: decimal(9,6)", "type: decimal(10,7)"))
    assert str(refused) == (
        f"{tmp_path}/v2.yaml:10: value share is decimal(9,6) in rules v1 and decimal(10,7) in rules v2; give it one "
        f"type in all versions"
    )


def test_the_form_of_shares_and_bonuses_is_refused_with_the_new_one(tmp_path):
    old = ["version: v3", "valid_from: 2026-01-01", "promoted: false", "description: x", "shares:"]
    old += ['  - {status_id: 8, share: "1"}', "bonuses: []", ""]
    (tmp_path / "v3.yaml").write_text("\n".join(old), encoding="utf-8")
    with pytest.raises(ContractError) as caught:
        load_rules(str(tmp_path))
    assert str(caught.value) == (
        f"{tmp_path}/v3.yaml:5: rules v3: shares is of a form that is read no more; write each number that counts as "
        'an expression below values, such as values: {share: {type: "decimal(9,6)", sql: CASE kind WHEN 1 THEN 0.5 '
        "ELSE 0 END}} (docs/rules.md, From shares and bonuses)"
    )


def test_the_form_that_the_refusal_shows_is_right():
    document = {"version": "x", "valid_from": date(2026, 1, 1), "promoted": False, "description": ""}
    document["values"] = {"share": {"type": "decimal(9,6)", "sql": "CASE kind WHEN 1 THEN 0.5 ELSE 0 END"}}
    assert [value.name for value in parse_rules(document).values] == ["share"]


def test_a_folder_without_rules(tmp_path):
    with pytest.raises(SettingsError, match=r"no rules in .*; write <version>\.yaml there or set LAKEHOUSE_RULES_PATH"):
        load_rules(str(tmp_path / "nowhere"))
