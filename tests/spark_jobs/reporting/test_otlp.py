"""Metrics of runs, received by real servers of OTLP over HTTP and gRPC, and decoded by OpenTelemetry's own messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2_grpc as metrics_service
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_DELTA

from spark_jobs import entrypoint
from spark_jobs.contracts import metric_names as names
from spark_jobs.contracts.errors import ContractError, TransientError
from spark_jobs.contracts.job_errors import StaleTablesError
from spark_jobs.contracts.results import DONE, JobResult, TableOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.stages import Measure, Stage
from spark_jobs.reporting import otlp, reporter
from spark_jobs.reporting.reporter import RunReporter
from spark_jobs.reporting.runs import RunEnd, RunOutcome, outcome_of
from spark_jobs.spec_files.spec_file import load_lake_spec
from tests.support.contexts import CLOCK, context_of
from tests.support.http_servers import body_of, running_server

Points = dict[tuple[str, ...], float]
SPEC = load_lake_spec(Settings().lake_spec)
RESULT = JobResult(
    job="ingest",
    status=DONE,
    clock="2026-01-02T12:30:00Z",
    tables=(TableOutcome(table="sales_log", instant=None, rows=12, is_committed=True),),
    counters={"records_read": 14, "has_more": 0},
)
RUN = RunEnd(
    context=context_of("ingest", Settings(), spec=SPEC),
    outcome=RunOutcome.DONE,
    begun=CLOCK,
    ended=CLOCK,
    seconds=2.5,
    result=RESULT,
    measures=(
        Measure(stage=Stage.LEASE, table="sales_log", seconds=1.5),
        Measure(stage=Stage.WRITE, table="sales_log", bytes=4096),
    ),
)
POINTS: Points = {
    (names.RUNS.name, "sales", "ingest", "done"): 1,
    (names.RUN_SECONDS.name, "sales", "ingest", "done"): 2.5,
    (names.RUN_ROWS.name, "sales", "ingest", "sales_log"): 12,
    (names.RUN_COUNTS.name, "records_read", "sales", "ingest"): 14,
    (names.STAGE_SECONDS.name, "sales", "ingest", "lease", "sales_log"): 1.5,
    (names.STAGE_BYTES.name, "sales", "ingest", "write", "sales_log"): 4096,
}


class Collector:
    """Takes what is sent to it, after a while."""

    def __init__(self, *, delay: float = 0.0, status: str = "200 OK") -> None:
        self.delay, self.status = delay, status
        self.requests: list[tuple[dict[str, Any], ExportMetricsServiceRequest]] = []

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        body = body_of(environ)
        time.sleep(self.delay)
        self.requests.append((environ, ExportMetricsServiceRequest.FromString(body)))
        start(self.status, [("Content-Type", "application/x-protobuf")])
        return [b""]

    def export(self, request: ExportMetricsServiceRequest, context: Any) -> ExportMetricsServiceResponse:
        """The same over gRPC: the one method of its service."""
        time.sleep(self.delay)
        self.requests.append((dict(context.invocation_metadata()), request))
        return ExportMetricsServiceResponse()

    @property
    def points(self) -> Points:
        """By metric and attributes in order of their names: the value, or the sum of a histogram."""
        return {
            (metric.name, *(a.value.string_value for a in sorted(point.attributes, key=lambda a: a.key))): (
                point.sum if metric.HasField("histogram") else point.as_double or point.as_int
            )
            for metric in self.metrics()
            for point in (metric.histogram if metric.HasField("histogram") else metric.sum).data_points
        }

    def metrics(self) -> Iterator[Any]:
        for _, request in self.requests:
            yield from (m for r in request.resource_metrics for s in r.scope_metrics for m in s.metrics)


@pytest.fixture
def collector(no_variables: pytest.MonkeyPatch) -> Iterator[Collector]:
    collector = Collector()
    with running_server(collector) as port:
        no_variables.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
        yield collector


@contextmanager
def serving_grpc(collector: Collector) -> Iterator[int]:
    """A server of gRPC on a port of the loopback interface, with the stubs that OpenTelemetry publishes."""
    server = grpc.server(ThreadPoolExecutor(1))
    metrics_service.add_MetricsServiceServicer_to_server(SimpleNamespace(Export=collector.export), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield int(port)
    finally:
        server.stop(None).wait()


def test_a_run_is_sent_with_rows_counters_and_stages(collector: Collector) -> None:
    RunReporter().end(RUN)
    assert collector.points == POINTS
    assert {m.unit for m in collector.metrics() if m.name == names.STAGE_BYTES.name} == {"By"}
    (environ, request), *more = collector.requests
    assert more == []
    assert environ["PATH_INFO"] == "/v1/metrics"
    resource = {a.key: a.value.string_value for a in request.resource_metrics[0].resource.attributes}
    assert resource["service.name"] == "lakehouse"


def test_grpc_carries_the_same(no_variables: pytest.MonkeyPatch) -> None:
    collector = Collector()
    no_variables.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    no_variables.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20open-sesame")
    with serving_grpc(collector) as port:
        no_variables.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
        RunReporter().end(RUN)
    assert collector.points == POINTS
    ((headers, request),) = collector.requests
    assert headers["authorization"] == "Bearer open-sesame"
    resource = {a.key: a.value.string_value for a in request.resource_metrics[0].resource.attributes}
    assert resource["service.name"] == "lakehouse"
    kinds = {(m.histogram if m.HasField("histogram") else m.sum).aggregation_temporality for m in collector.metrics()}
    assert kinds == {AGGREGATION_TEMPORALITY_DELTA}


def test_a_protocol_that_is_none_sends_nothing_and_says_what_to_set(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/json")
    RunReporter().end(RUN)
    assert collector.requests == []
    assert "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL is 'http/json'" in caplog.text
    assert "set http/protobuf or grpc); the run is not affected" in caplog.text


def test_increases_are_sent_so_that_runs_can_be_added_up(collector: Collector) -> None:
    for _ in range(2):
        RunReporter().end(RUN)
    sums = [m.sum for m in collector.metrics() if m.name == names.RUN_ROWS.name]
    assert [s.data_points[0].as_int or s.data_points[0].as_double for s in sums] == [12, 12]
    kinds = {(m.histogram if m.HasField("histogram") else m.sum).aggregation_temporality for m in collector.metrics()}
    assert kinds == {AGGREGATION_TEMPORALITY_DELTA}


def test_nothing_is_sent_and_nothing_started_without_an_endpoint(no_variables: pytest.MonkeyPatch) -> None:
    assert not otlp.is_configured()
    no_variables.setattr(reporter.Sender, "start", lambda _: pytest.fail("a thread"))
    RunReporter().end(RUN)


@pytest.mark.parametrize("variables", [{"OTEL_SDK_DISABLED": "true"}, {"OTEL_METRICS_EXPORTER": "none"}])
def test_the_standard_switches_turn_it_off(collector: Collector, variables: dict[str, str]) -> None:
    environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    assert otlp.is_configured(environ)
    assert not otlp.is_configured({**environ, **variables})


@pytest.mark.parametrize(("protocol", "serving"), [("http/protobuf", running_server), ("grpc", serving_grpc)])
def test_a_collector_that_is_slow_keeps_nobody_waiting_longer_than_that(
    protocol: str, serving: Any, no_variables: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    no_variables.setattr(reporter, "MOST_SECONDS", 0.2)
    no_variables.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    slow = Collector(delay=3.0)
    with serving(slow) as port:
        no_variables.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
        RunReporter().end(RUN)
        assert slow.requests == [], "the run did not wait for it"
        assert "the run is not affected" in caplog.text


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_a_collector_that_is_not_there_fails_nothing(
    protocol: str, no_variables: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    no_variables.setattr(reporter, "MOST_SECONDS", 0.2)
    no_variables.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    no_variables.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    no_variables.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20very-secret")
    RunReporter().end(RUN)
    assert "very-secret" not in caplog.text


def test_what_cannot_be_sent_at_all_is_a_line_in_the_log(
    collector: Collector, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_: RunEnd) -> Iterator[otlp.Measured]:
        raise ValueError("nonsense")

    monkeypatch.setattr(otlp, "measured_of", broken)
    RunReporter().end(RUN)
    assert "metrics not sent (ValueError: nonsense); the run is not affected" in caplog.text


def test_the_command_line_reports_its_run(collector: Collector, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKEHOUSE_BASE_PATH", str(tmp_path / "lake"))
    monkeypatch.setenv("LAKEHOUSE_LANDING_PATH", str(tmp_path / "landing"))
    assert entrypoint.main(["consumers", "list"]) == 2
    assert (names.RUNS.name, "", "consumers", "error") in collector.points
    assert entrypoint.main(["init"]) == 0
    assert entrypoint.main(["consumers", "list"]) == 0
    assert (names.RUNS.name, "sales", "consumers", "done") in collector.points


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, RunOutcome.DONE),
        (ContractError("x"), RunOutcome.ERROR),
        (TransientError("x"), RunOutcome.TRY_AGAIN),
        (StaleTablesError(late={"sales": "late"}, result=RESULT), RunOutcome.REPORTED),
        (KeyboardInterrupt(), RunOutcome.TRY_AGAIN),
        (OSError("x"), RunOutcome.TRY_AGAIN),
    ],
)
def test_how_a_run_ended_is_what_the_exit_code_says(error: BaseException | None, outcome: RunOutcome) -> None:
    assert outcome_of(RESULT, error) is outcome
    assert outcome_of(replace(RESULT, status="nothing_to_do"), None) is RunOutcome.NOTHING_TO_DO


def test_values_are_of_metrics_that_are_declared() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    for metric, labels, _ in otlp.measured_of(replace(RUN, begun=at)):
        assert metric in names.RUN_METRICS
        assert len(labels) == len(metric.labels)
