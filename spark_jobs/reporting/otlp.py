"""What a run did as metrics by OTLP, where the standard variables name a collector.

A run is a short process, so it sends increases (delta temporality) and not sums: a collector adds them up, over all
runs of all machines. Attributes are names of jobs, tables, stages and counters, never values of rows.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from spark_jobs.contracts import metric_names as names
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.metric_names import Metric, MetricKind
from spark_jobs.contracts.names import show
from spark_jobs.reporting.runs import RunEnd

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter
    from opentelemetry.sdk.metrics.export import AggregationTemporality, MetricExporter
    from opentelemetry.sdk.resources import Resource

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HTTP = "http/protobuf"
_OFF, _EXPORTER = "OTEL_SDK_DISABLED", "OTEL_METRICS_EXPORTER"
_TEMPORALITY = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"
_SERVICE = "lakehouse"
Measured = tuple[Metric, tuple[str, ...], float]


def is_configured(environ: Mapping[str, str] = os.environ) -> bool:
    """True when a collector is named, and metrics are not switched off."""
    is_off = environ.get(_OFF, "").lower() == "true" or environ.get(_EXPORTER, "otlp") != "otlp"
    return not is_off and any(environ.get(name) for name in _ENDPOINTS)


def send_metrics(run: RunEnd, *, seconds: float) -> None:
    """Send the run's metrics; what the collector's client raises is raised, and it takes about ``seconds`` at most."""
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    # Sent when it is flushed, by no thread of its own, and not at exit: whoever waits for the run waits for this alone.
    reader = PeriodicExportingMetricReader(
        _make_exporter(seconds), export_interval_millis=math.inf, export_timeout_millis=1000 * seconds
    )
    provider = MeterProvider([reader], resource=_resource(), shutdown_on_exit=False)
    try:
        _record(provider.get_meter(_SERVICE), run)
        provider.force_flush(timeout_millis=1000 * seconds)
    finally:
        provider.shutdown(timeout_millis=1000 * seconds)


def measured_of(run: RunEnd) -> Iterator[Measured]:
    """Every value that the run sends, with those of the metric's own labels."""
    job, outcome = run.context.job, run.outcome.value
    yield names.RUNS, (job, outcome), 1
    yield names.RUN_SECONDS, (job, outcome), run.seconds
    if run.result:
        yield from ((names.RUN_ROWS, (job, each.table), each.rows) for each in run.result.tables)
        yield from ((names.RUN_COUNTS, (job, name), count) for name, count in run.result.counters.items())
    for each in run.measures:
        labels = (job, each.stage.value, each.table)
        if each.seconds is not None:
            yield names.STAGE_SECONDS, labels, each.seconds
        if each.bytes:
            yield names.STAGE_BYTES, labels, each.bytes


def _record(meter: Meter, run: RunEnd) -> None:
    counters = {
        metric.name: meter.create_counter(metric.name, unit=metric.unit, description=metric.help)
        for metric in names.RUN_METRICS
        if metric.kind is MetricKind.COUNTER
    }
    histograms = {
        metric.name: meter.create_histogram(metric.name, unit=metric.unit, description=metric.help)
        for metric in names.RUN_METRICS
        if metric.kind is MetricKind.HISTOGRAM
    }
    for metric, labels, value in measured_of(run):
        attributes = dict(zip(metric.all_labels, (run.lake, *labels), strict=True))
        if metric.kind is MetricKind.HISTOGRAM:
            histograms[metric.name].record(value, attributes)
        elif value > 0:
            counters[metric.name].add(value, attributes)


def _resource() -> Resource:
    """What the standard variables say of this process; its service is ``lakehouse`` unless they name another."""
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource

    named = Resource.create()
    is_unnamed = str(named.attributes.get(SERVICE_NAME, "")).startswith("unknown_service")
    return named.merge(Resource({SERVICE_NAME: _SERVICE})) if is_unnamed else named


def _temporality() -> dict[type, AggregationTemporality] | None:
    """Increases, unless the standard variable wants something else."""
    from opentelemetry.sdk.metrics import Counter, Histogram
    from opentelemetry.sdk.metrics.export import AggregationTemporality

    if os.environ.get(_TEMPORALITY):
        return None
    return dict.fromkeys((Counter, Histogram), AggregationTemporality.DELTA)


def _make_exporter(seconds: float) -> MetricExporter:
    """The client of the protocol that the variables name, HTTP by default as OpenTelemetry's specification has it."""
    name, protocol = next(((name, given) for name in _PROTOCOLS if (given := os.environ.get(name))), ("", _HTTP))
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcExporter

        return GrpcExporter(timeout=seconds, preferred_temporality=_temporality())
    if protocol != _HTTP:
        raise ContractError(f"{name} is {show(protocol)}, which is no protocol here: set {_HTTP} or grpc")
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpExporter

    return HttpExporter(timeout=seconds, preferred_temporality=_temporality())
