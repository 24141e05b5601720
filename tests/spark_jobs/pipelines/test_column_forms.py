"""Whether a mirror has to be written again: when any of its columns has another name or type than it was written with.

What it was written with is in the metadata of its commits; those of services have nothing of it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.lake_spec.schemas import Column
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.pipelines.column_forms import column_forms, has_other_form, stored_forms
from spark_jobs.storage.layouts import table_layout
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.keyed_rows import MergedTable
from tests.support.made_tables import MadeTable

SPEC = TableSpec(name="orders", database="shop", table="orders", key=("Id",))


def column(source: str, name: str, type_: str) -> Column:
    return Column(source=source, name=name, type=type_, added="1", since="1")


COLUMNS = (column("Id", "id", "bigint"), column("Total", "total", "int"), column("Note", "note", "string"))
TABLE = MergedTable(spec=SPEC, columns=COLUMNS)
FORMS = {each.source: (each.name, each.type) for each in COLUMNS}


def with_column(number: int, **other: Any) -> MergedTable:
    changed = [replace(each, **other) if at == number else each for at, each in enumerate(COLUMNS)]
    return replace(TABLE, columns=tuple(changed))


@pytest.mark.parametrize("number", range(3))
def test_another_name_or_type_of_any_column_is_another_form(number: int):
    assert not has_other_form(TABLE, FORMS)
    assert has_other_form(with_column(number, name="other"), FORMS)
    assert has_other_form(with_column(number, type="decimal(20,0)"), FORMS)


def test_a_column_more_is_none_and_neither_is_one_that_only_went_at_the_source():
    more = replace(TABLE, columns=(*COLUMNS, column("Paid", "paid", "boolean")))
    assert not has_other_form(more, FORMS)
    assert not has_other_form(replace(TABLE, columns=(*COLUMNS[:2], replace(COLUMNS[2], is_gone=True))), FORMS)
    assert not has_other_form(TABLE, {})
    assert has_other_form(replace(more, columns=(replace(COLUMNS[0], name="key"), *more.columns[1:])), FORMS)


@given(
    steps=st.lists(
        st.none() | st.tuples(st.sampled_from(["id", "key"]), st.sampled_from(["total", "amount"])), max_size=5
    )
)
def test_what_it_was_written_with_is_in_its_newest_commit_with_columns(tmp_path_factory, steps):
    """None is a commit without columns in its metadata, such as that of a service."""
    made = MadeTable(table_layout(SPEC), tmp_path_factory.mktemp("lake") / "orders")
    expected: dict[str, tuple[str, str]] = {}
    for number, names in enumerate(steps, start=1):
        metadata: dict[str, str] = {}
        if names:
            table = replace(TABLE, columns=tuple(replace(c, name=n) for c, n in zip(COLUMNS, names, strict=False)))
            metadata = {f"lakehouse.{key}": value for key, value in column_forms(table).items()}
            expected = {each.source: (each.name, each.type) for each in table.columns}
        made.commits(number, extraMetadata=metadata)
    assert stored_forms(Timeline(table="orders", path=str(Path(made.folder)))) == expected
