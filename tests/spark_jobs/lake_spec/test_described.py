"""What a lake, a table, a load or a mart is for people: checked, and of no effect on any row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.definitions import digest_of, mart_parts, table_parts
from spark_jobs.lake_spec.described import Described
from spark_jobs.lake_spec.descriptions import comments_of, described
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.spec_files.spec_file import load_lake_spec

SPEC = load_lake_spec(Settings().lake_spec)
MART = "fast_daily_deals"
WORDS: dict[str, Any] = {"description": "other", "owner": "other", "tags": ("other",)}


def with_mart(**words: Any) -> LakeSpec:
    marts = tuple(replace(each, **words) if each.name == MART else each for each in SPEC.marts)
    return replace(SPEC, marts=marts)


def test_other_words_are_the_same_definition():
    mart = replace(SPEC.mart(MART), **WORDS, comments=(("deals", "other"),))
    tables = tuple(replace(table, **WORDS) for table in SPEC.tables)
    other = replace(with_mart(**WORDS, comments=(("deals", "other"),)), tables=tables, **WORDS)
    assert mart.definition == SPEC.mart(MART).definition
    assert mart_parts(mart, other) == mart_parts(SPEC.mart(MART), SPEC)
    assert [table_parts(table, other) for table in tables] == [table_parts(table, SPEC) for table in SPEC.tables]
    assert (digest_of(other, None), other) == (digest_of(SPEC, None), SPEC)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"description": "x" * 1501}, r"it: description has more than 1500 characters"),
        ({"description": "a\x07b"}, r"it: description has more than 1500 characters, or some that cannot be printed"),
        ({"owner": "a\nb"}, r"it: owner 'a\\nb' is not one line of at most 255 characters; shorten it"),
        ({"tags": ("gold", "Not this")}, r"it: tag 'Not this' has other characters than a-z.*; rename it"),
        ({"comments": (("a", "x" * 256),)}, r"it: the comment of 'a' is not one line of at most 255 characters"),
    ],
)
def test_words_that_a_catalog_cannot_take_are_refused(words: dict[str, Any], says: str):
    (found,) = Described(**words).mistakes_of_description("it")
    with pytest.raises(ContractError, match=says):
        raise found


def test_two_paragraphs_and_tags_with_signs_are_taken():
    words = Described(description="one\n\ntwo", owner="a@b.c", tags=("tier:1", "gold", "x.y-z_1"))
    assert not list(words.mistakes_of_description("it"))


def test_comments_are_of_columns_that_there_are():
    mart = with_mart(comments=(("deals", "signed"), ("dealz", "signed"))).mart(MART)
    (found,) = mart.mistakes_of_comments("mart x", ("day", "deals"))
    with pytest.raises(ContractError, match=r"mart x: comments names 'dealz', none of its columns; write 'deals'"):
        raise found


def test_columns_of_the_wide_log_have_their_comments_where_they_are_declared():
    with pytest.raises(ContractError, match=r"table units: comments is for columns that no entry declares; write comm"):
        replace(SPEC.table("units"), comments=(("unit_name", "what it is called"),))
    columns = tuple(
        replace(each, comment="what it is called") if each.name == "unit_name" else each for each in SPEC.source.columns
    )
    spec = replace(SPEC, source=replace(SPEC.source, columns=columns))
    assert comments_of(spec, "units") == comments_of(spec, SPEC.log) == {"unit_name": "what it is called"}


def test_an_owner_is_the_lakes_unless_the_table_has_its_own():
    assert described(replace(SPEC, owner="lake team"), "units").owner == "lake team"
    spec = with_mart(owner="desk")
    assert (described(spec, MART).owner, described(spec, SPEC.quarantine).owner) == ("desk", SPEC.owner)


def test_files_say_them_and_mistakes_have_their_lines(tmp_path: Path):
    (tmp_path / "lake.yaml").write_text(
        "lake: l\nowner: team\nsource: {topics: [t]}\nlog: log\nquarantine: q\n"
        "tables:\n- {name: orders, from: {database: s, table: o}, key: [id], tags: [gold],\n"
        "   comments: {id: the order, n: 3}}\n"
        "- {name: rates, key: [c], comments: {c: x}, load: {columns: [{name: c, type: string}]}}\n"
    )
    with pytest.raises(ContractError, match=r"lake.yaml:8: table 'orders': comments: 'n' is 3; give a text") as error:
        load_lake_spec(str(tmp_path / "lake.yaml"))
    assert "load rates: comments is for columns that no entry declares" in "".join(map(str, error.value.each))
    text = (tmp_path / "lake.yaml").read_text().replace(", n: 3", "").replace(" comments: {c: x},", "")
    (tmp_path / "lake.yaml").write_text(text)
    spec = load_lake_spec(str(tmp_path / "lake.yaml"))
    found = described(spec, "orders")
    assert (found.owner, found.tags, comments_of(spec, "orders")) == ("team", ("gold",), {"id": "the order"})
