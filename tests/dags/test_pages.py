"""docs/dags.md is what the docstrings say."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_stack.errors import SetupError
from local_stack.pages.dag_pages import DAGS, PAGE, build_page


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == build_page(DAGS), "run: python -m local_stack.pages.dag_pages"


def test_it_has_a_section_for_each_dag_in_the_order_of_the_flow() -> None:
    titles = [line for line in build_page(DAGS).splitlines() if line.startswith("## ")]
    dags = (
        *("ingest_sales", "split_sales", "fast_layer", "stitch_layer", "slow_layer"),
        *("recompute", "apply_changes", "undo_changes"),
        *("table_services", "savepoints", "restore", "erase", "snapshot"),
        *("catalog_sync", "data_quality", "freshness", "lake_specs", "lakes"),
    )
    assert titles == [f"## {dag_id}" for dag_id in dags]


def test_a_dag_without_a_docstring_is_refused(tmp_path: Path) -> None:
    (tmp_path / "quiet.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(SetupError, match=r"quiet.py has no docstring"):
        build_page(tmp_path)
