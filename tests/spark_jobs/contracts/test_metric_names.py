"""Names of metrics are as Prometheus and OpenTelemetry want them."""

from __future__ import annotations

import re

import pytest

from spark_jobs.contracts.metric_names import LAKE_COUNTERS, LAKE_METRICS, LAKE_STATE, RUN_METRICS, Metric, MetricKind

_UNITS = {"s": "seconds", "By": "bytes"}


def ident(metric: Metric) -> str:
    return metric.name


def test_no_name_is_used_twice() -> None:
    names = [metric.name for metric in (*LAKE_METRICS, *RUN_METRICS)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("metric", LAKE_METRICS, ids=ident)
def test_names_of_the_lake_are_prometheus_own(metric: Metric) -> None:
    assert re.fullmatch(r"lakehouse(_[a-z]+)+", metric.name)
    assert metric.name.endswith("_total") == (metric in LAKE_COUNTERS)
    if metric.unit:
        assert metric.name.removesuffix("_total").endswith(f"_{_UNITS[metric.unit]}")
    assert {metric.kind} <= ({MetricKind.COUNTER} if metric in LAKE_COUNTERS else {MetricKind.GAUGE})
    assert metric in LAKE_STATE or metric in LAKE_COUNTERS


@pytest.mark.parametrize("metric", RUN_METRICS, ids=ident)
def test_names_of_runs_are_opentelemetrys(metric: Metric) -> None:
    assert re.fullmatch(r"lakehouse\.run(\.[a-z]+)+", metric.name)
    assert "job" not in metric.labels, "Prometheus has a label of its own of that name, which would replace it"
