"""docs/metrics.md has the metrics that are declared."""

from __future__ import annotations

import pytest

from local_stack.errors import SetupError
from local_stack.pages.metrics_page import PAGE, fill
from spark_jobs.contracts.metric_names import LAKE_METRICS, RUN_METRICS


def test_the_page_is_that_of_the_metrics() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert fill(text) == text, "run: python -m local_stack.pages.metrics_page"
    assert [each.name for each in (*LAKE_METRICS, *RUN_METRICS) if f"| `{each.name}` |" not in text] == []


def test_a_page_without_places_for_the_tables_is_refused() -> None:
    with pytest.raises(SetupError, match=r"mark one by <!-- state -->"):
        fill("# Metrics\n")
