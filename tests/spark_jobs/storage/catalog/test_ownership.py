"""Which entries of a catalog may be touched: any mixture of the lake's own, others' and those without an owner."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.catalogs import OWNER, Action
from spark_jobs.storage.catalog.ownership import drop_stale, refuse_foreign

NAMES = st.sampled_from(["sales_log", "sales_ro", "sales_rt", "units_ro", "old", "report"])
PARAMETERS: st.SearchStrategy[dict[str, str] | None] = st.one_of(
    st.none(),
    st.just({}),
    st.fixed_dictionaries({OWNER: st.sampled_from(["sales", "Sales", "sales2", "hotels", ""])}),
    st.just({"classification": "sales"}),
)


@given(found=st.dictionaries(NAMES, PARAMETERS), wanted=st.sets(NAMES))
def test_what_is_gone_is_dropped_when_it_is_the_lakes_own_and_nothing_else(
    found: Mapping[str, Mapping[str, str] | None], wanted: set[str]
):
    changes = list(drop_stale(found, wanted, "sales"))
    own = {name for name, parameters in found.items() if parameters and parameters.get(OWNER) == "sales"}
    assert {change.name for change in changes} == own - wanted
    assert len(changes) == len(own - wanted)
    assert {change.action for change in changes} <= {Action.DROP}


@given(name=NAMES, parameters=PARAMETERS)
def test_an_entry_is_refused_unless_it_is_the_lakes_own(name: str, parameters: Mapping[str, str] | None):
    refused = refuse_foreign(name, parameters, "sales")
    is_own = bool(parameters) and (parameters or {}).get(OWNER) == "sales"
    assert (refused is None) == is_own
    assert refused is None or (refused.name, refused.action) == (name, Action.REFUSE)
