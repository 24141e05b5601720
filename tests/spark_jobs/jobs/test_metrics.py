"""The job ``metrics``: what Prometheus reads, and that its alerts and the dashboard name nothing else.

The lake is that of tests/support/seen_lakes.py; no JVM takes part.
"""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path

import pytest
import yaml
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from local_stack.layout import PROJECT_ROOT
from spark_jobs.contracts import metric_names as names
from spark_jobs.contracts.errors import ContractError, SettingsError
from spark_jobs.contracts.metric_names import LAKE_METRICS, LAKE_STATE
from spark_jobs.job_options.metrics import MetricsOptions
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.commit_counts import CommitCounts
from spark_jobs.overview.exposition import LakeCollector, make_registry
from tests.support.contexts import context_of, run_in
from tests.support.seen_lakes import NOW, SeenLake, seen_lake

OBSERVABILITY = PROJECT_ROOT / "include" / "observability"
RULES, DASHBOARD = OBSERVABILITY / "prometheus-rules.yaml", OBSERVABILITY / "grafana-dashboard.json"
_NAME = re.compile(r"\blakehouse_[a-z_]+\b")


@pytest.fixture
def lake(tmp_path: Path) -> SeenLake:
    return seen_lake(tmp_path)


def read(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """By metric: by its labels' values in order of their names, the value."""
    return {
        each.name: {tuple(value for _, value in sorted(s.labels.items())): s.value for s in each.samples}
        for each in text_string_to_metric_families(text)
    }


def exposition_of(lake: SeenLake, counts: CommitCounts | None = None) -> str:
    collector = LakeCollector(
        settings=lake.settings, spec=lambda: lake.spec, now=lambda: NOW, log=logging.getLogger(), counts=counts
    )
    return generate_latest(make_registry(collector)).decode()


def test_one_look_is_printed_as_prometheus_reads_it(lake: SeenLake, capsys: pytest.CaptureFixture[str]) -> None:
    result = run_in(context_of("metrics", lake.settings, spec=lake.spec, clock=NOW, once=True))
    found = read(capsys.readouterr().out)
    assert {*found} == {metric.name for metric in LAKE_STATE}
    assert result.counters == {"metrics": len(LAKE_STATE)}
    assert found[names.TIMELINE.name]["sales", "units"] == 2
    parts = ("lake", "quarantine", "spec", "tables")
    assert found[names.READ_ERRORS.name] == {("sales", part): 0 for part in parts}


def test_one_look_is_written_to_a_file_in_one_step(lake: SeenLake, tmp_path: Path) -> None:
    file = tmp_path / "collected" / "lake.prom"
    run_in(context_of("metrics", lake.settings, spec=lake.spec, clock=NOW, once=True, output=str(file)))
    assert {*read(file.read_text())} == {metric.name for metric in LAKE_STATE}
    assert [path.name for path in file.parent.iterdir()] == ["lake.prom"]


def test_an_exporter_that_keeps_running_has_the_counters_too(lake: SeenLake) -> None:
    counts = CommitCounts()
    first = read(exposition_of(lake, counts))
    assert {f"{name}_total" for name in first} | {*first} >= {metric.name for metric in LAKE_METRICS}
    lake.write("sales", 9, action="deltacommit", rows=7)
    again = exposition_of(lake, counts)
    assert 'lakehouse_rows_total{lake="sales",outcome="added",table="sales"} 7.0' in again
    assert 'lakehouse_written_bytes_total{kind="write",lake="sales",table="sales"} 100.0' in again


def test_a_part_that_cannot_be_read_is_named_and_the_rest_is_there(
    lake: SeenLake, caplog: pytest.LogCaptureFixture
) -> None:
    lake.write("quarantine", 2, action="deltacommit")  # of a table that has no schema: its reader refuses it
    found = read(exposition_of(lake))
    assert found[names.READ_ERRORS.name]["sales", "quarantine"] == 1
    assert found[names.READ_ERRORS.name]["sales", "tables"] == 0
    assert found[names.TIMELINE.name]["sales", "units"] == 2
    assert "quarantine could not be read" in caplog.text


def test_a_spec_that_cannot_be_read_leaves_an_answer(lake: SeenLake) -> None:
    def broken() -> LakeSpec:
        raise SettingsError("no such file")

    collector = LakeCollector(settings=lake.settings, spec=broken, now=lambda: NOW, log=logging.getLogger())
    found = read(generate_latest(make_registry(collector)).decode())
    assert found[names.READ_ERRORS.name] == {("", "spec"): 1}


def test_alerts_and_dashboard_name_only_what_the_exporter_has(lake: SeenLake) -> None:
    known = {line.split()[2] for line in exposition_of(lake, CommitCounts()).splitlines() if line.startswith("# HELP ")}
    rules, dashboard = set(_NAME.findall(RULES.read_text())), set(_NAME.findall(DASHBOARD.read_text()))
    assert len(rules) > 10
    assert len(dashboard) > 15
    assert rules - known == set()
    assert dashboard - known == set()


def test_every_alert_has_a_runbook_that_is_there() -> None:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    pages = {rule["alert"]: rule["annotations"]["runbook"] for rule in group["rules"]}
    assert len(pages) == len(group["rules"]) > 10
    assert [alert for alert, page in pages.items() if not (PROJECT_ROOT / page).is_file()] == []


def test_every_alert_is_tested() -> None:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    tests = yaml.safe_load((OBSERVABILITY / "prometheus-rules-test.yaml").read_text())["tests"]
    fired = {each["alertname"] for test in tests for each in test["alert_rule_test"] if each["exp_alerts"]}
    assert fired == {rule["alert"] for rule in group["rules"]}


def test_the_dashboard_has_panels_that_ask_its_own_variables() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    variables = {each["name"] for each in dashboard["templating"]["list"]}
    used = set(re.findall(r"\$\{?([a-z]+)\b", json.dumps(dashboard["panels"])))
    assert used == variables
    assert [panel["title"] for panel in dashboard["panels"] if not panel["targets"]] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"listen": "9464"}, "must look like"),
        ({"listen": "localhost:http"}, "must look like"),
        ({"listen": ":9464"}, "must look like"),
        ({"listen": "127.0.0.1:70000"}, "must look like"),
        ({"listen": "127.0.0.1:9000", "once": True}, "answers no one"),
        ({"output": "lake.prom"}, "give --once too"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(ContractError, match=message):
        MetricsOptions.from_values(options)


@pytest.mark.parametrize(("given", "address"), [("[::1]:9464", ("::1", 9464)), ("0.0.0.0:0", ("0.0.0.0", 0))])
def test_addresses_are_hosts_with_ports(given: str, address: tuple[str, int]) -> None:
    assert MetricsOptions(listen=given).address == address
