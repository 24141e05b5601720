"""What distinguishes changes is the hash that rows of existing lakes are stored under, however it is computed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.sources import identity
from spark_jobs.sources.identity import look_at, tie_of

names = st.sampled_from(["SaleId", "UnitName", "é", "100%", "%s", '"', "\\", "\ud800", ""]) | st.text(max_size=3)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)
images = st.none() | st.integers() | st.text(max_size=3) | st.dictionaries(names, values, max_size=5)


def found(op: str, *images: Any) -> str:
    before, after = ((image, look_at(image) if isinstance(image, dict) else None) for image in images)
    return tie_of(op, before, after)


def defined(op: str, before: Any, after: Any) -> str:
    """The hash by its definition."""
    known = [
        sorted((name, str(value)) for name, value in image.items() if value is not None)
        if isinstance(image, dict)
        else None
        for image in (before, after)
    ]
    text = json.dumps([op, known], separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@given(st.sampled_from("crud"), images, images)
def test_it_is_the_hash_of_the_definition(op, before, after):
    assert found(op, before, after) == defined(op, before, after)


def test_it_stays_what_it_was():
    image = {"UnitName": "été", "SaleId": 7, "AgentName": None}
    assert found("c", None, image) == "a52c42419f8ea649"


def test_names_that_are_always_others_take_no_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(identity, "_MOST_SHAPES", 3)
    for number in range(10):
        image = {f"column{number}": 1, "SaleId": number}
        assert found("d", image, None) == defined("d", image, None)
    assert len(identity._shapes) <= 3
