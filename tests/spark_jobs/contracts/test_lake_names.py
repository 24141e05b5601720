"""The name of a lake as text, and when tables without a name are of this lake."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.lake_names import LAYOUT, LakeName, LakeTooNewError, doubt_about

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True)


@given(NAMES)
def test_a_name_comes_back_as_it_was(lake):
    text = LakeName(lake=lake).to_json()
    assert text.count("\n") == 1
    assert LakeName.from_json(text.encode(), base_path="/l") == LakeName(lake=lake)


@pytest.mark.parametrize(
    "text",
    [b"", b"{}", b"[]", b"\xff", b'"sales"', b'{"lake": "sales"}', b'{"lake": "Sales", "layout": 1}']
    + [b'{"lake": "sales", "layout": %s}' % each for each in (b"0", b"true", b'"1"', b"null")],
)
def test_anything_else_is_no_name(text):
    with pytest.raises(ContractError, match=r"^/l/\.lake\.json does not say which lake this is; .*init"):
        LakeName.from_json(text, base_path="/l")


def test_a_lake_of_a_later_release():
    text = LakeName(lake="sales", layout=LAYOUT + 1).to_json().encode()
    with pytest.raises(LakeTooNewError, match=r"has layout 2, and this release knows layouts up to 1"):
        LakeName.from_json(text, base_path="/l")


@given(st.sets(NAMES, min_size=1, max_size=6), st.sets(NAMES, max_size=6), st.data())
def test_there_is_no_doubt_only_where_all_tables_are_declared_and_the_log_is_the_log(tables, more, data):
    log = data.draw(st.sampled_from(sorted(tables | more)))
    log_says = data.draw(st.sampled_from([log, "other", None]))
    declared = data.draw(st.sampled_from([sorted(tables | more), sorted(more | {log})]))
    doubt = doubt_about(tables=sorted(tables), declared=declared, log=log, log_says=log_says, spec_path="a.yaml")
    is_own = all(table in declared for table in tables) and (log not in tables or log_says == log)
    assert (doubt == "") == is_own
