"""Whatever is no identifier is refused, on one line that shows what it is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError, LakehouseError
from spark_jobs.contracts.identifiers import check_identifier
from spark_jobs.contracts.names import plain, show, show_all, show_path, spell
from tests.support.hostile_names import HOSTILE, is_clear

IDENTIFIER = re.compile(r"\A[a-z][a-z0-9_]{0,62}\Z", re.ASCII)


def refusal(name: object) -> str:
    with pytest.raises(ContractError) as caught:
        check_identifier(name, "table")
    return str(caught.value)


@pytest.mark.parametrize("name", [*HOSTILE.values(), "", None, 7, ["sales"], {"a": "b"}, b"sales"])
def test_what_is_no_identifier_is_refused_on_one_clear_line(name):
    assert is_clear(refusal(name), most=200)


@given(st.text(max_size=400) | st.from_regex(r"[a-z][a-z0-9_]{0,70}\n?", fullmatch=True))
def test_nothing_but_an_identifier_passes(name):
    if IDENTIFIER.match(name):
        check_identifier(name, "table")
    else:
        assert is_clear(refusal(name), most=200)


@given(st.text(max_size=400))
def test_an_error_is_one_line_whatever_it_quotes(text):
    assert str(LakehouseError(text)).isprintable()
    assert spell(text).isprintable()
    assert plain(text).isprintable()
    assert show_path(text).isprintable()


def test_a_name_is_shown_so_that_no_one_is_fooled():
    assert show("sales") == "'sales'"
    assert show("s\u0430les") == r"'s\u0430les'"
    assert show("a\nb\u202e") == r"'a\nb\u202e'"
    assert show("x" * 300) == f"'{'x' * 60}'\u2026 (300 characters)"
    assert show(["\u0430"]) == r"['\u0430']"
    assert show_all(["a", "b"]) == "['a', 'b']"
    assert show_all(range(30)).endswith("7, and 22 more]")


def test_harmless_words_are_left_as_they_are():
    assert plain("v1.yaml") == "v1.yaml"
    assert plain("v\u0661.yaml") == r"'v\u0661.yaml'"
    assert show_path("/data/Gr\u00f6\u00dfe/v1.yaml") == "/data/Gr\u00f6\u00dfe/v1.yaml"
    assert show_path("/a\nb") == r"'/a\nb'"
    assert len(show_path("x" * 5000)) < 100
