"""DAG ids by lake: no two DAGs of any lakes have one id, and sales has those it always had."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.dag_ids import DAG_IDS, KINDS, dag_id_of, kinds_of

LAKES = st.one_of(
    st.from_regex(r"[a-z][a-z0-9_]{0,30}", fullmatch=True),
    st.sampled_from(["sales", "ingest", "fast", "table", "data", "catalog", "x_fast_layer", "sales_", "shop_ingest"]),
)


@given(one=st.tuples(st.sampled_from(KINDS), LAKES), other=st.tuples(st.sampled_from(KINDS), LAKES))
def test_no_two_dags_of_any_lakes_have_one_id(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (dag_id_of(*one) == dag_id_of(*other)) == (one == other)


@given(kind=st.sampled_from(KINDS))
def test_a_lake_that_is_alone_and_sales_have_the_same_ids(kind: str) -> None:
    assert dag_id_of(kind) == dag_id_of(kind, "sales") == DAG_IDS[KINDS.index(kind)]


@pytest.mark.parametrize(
    ("kind", "dag_id"), [("ingest", "shop_ingest"), ("split", "shop_split"), ("fast_layer", "shop_fast_layer")]
)
def test_another_lakes_ids_begin_with_its_name(kind: str, dag_id: str) -> None:
    assert dag_id_of(kind, "shop") == dag_id


@given(layers=st.sets(st.sampled_from(["fast", "stitch", "slow", "weekly"])))
def test_a_layer_without_marts_has_no_dag(layers: set[str]) -> None:
    missing = {f"{layer}_layer" for layer in ("fast", "stitch", "slow") if layer not in layers}
    assert set(KINDS) - set(kinds_of(layers)) == missing
