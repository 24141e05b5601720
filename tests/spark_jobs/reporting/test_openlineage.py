"""Lineage of runs: a real HTTP server receives what the client's HTTP transport sends; files get the same.

Every event that arrives is held against the schemas that OpenLineage publishes, its own and those of its facets.
The lake is that of tests/support/seen_lakes.py: a run of `split` wrote units, a run of `mart` the daily deals.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from spark_jobs.contracts.results import DONE, JobResult, TableOutcome
from spark_jobs.reporting import openlineage, reporter
from spark_jobs.reporting.reporter import RunReporter
from spark_jobs.reporting.runs import RunEnd, RunOutcome
from tests.support.contexts import context_of
from tests.support.http_servers import body_of, running_server
from tests.support.openlineage_schemas import problems_of
from tests.support.seen_lakes import MART, START, SeenLake, minute, seen_lake

Event = dict[str, Any]


class Receiver:
    """What a consumer of lineage is to its producers: it takes events by POST."""

    def __init__(self, *, delay: float = 0.0) -> None:
        self.delay = delay
        self.events: list[Event] = []
        self.problems: list[str] = []
        self.headers: list[dict[str, Any]] = []

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        body = body_of(environ)
        time.sleep(self.delay)
        self.events.append(json.loads(body))
        self.problems += problems_of(self.events[-1])
        self.headers.append(environ)
        start("201 Created", [])
        return [b""]


@pytest.fixture
def lake(tmp_path: Path) -> SeenLake:
    return seen_lake(tmp_path)


@pytest.fixture
def receiver(no_variables: pytest.MonkeyPatch) -> Iterator[Receiver]:
    receiver = Receiver()
    with running_server(receiver) as port:
        no_variables.setenv("OPENLINEAGE_URL", f"http://127.0.0.1:{port}")
        no_variables.setenv("OPENLINEAGE_API_KEY", "open-sesame")
        yield receiver
        assert receiver.problems == []
        assert not [name for name in os.environ if name.startswith("OPENLINEAGE__")]


def run_of(
    lake: SeenLake, job: str, table: str, at: int, outcome: RunOutcome = RunOutcome.DONE, **options: Any
) -> RunEnd:
    written = TableOutcome(table=table, instant=minute(at), rows=3, is_committed=True)
    result = JobResult(job=job, status=DONE, clock="2026-01-01T00:30:00Z", tables=(written,))
    context = context_of(job, lake.settings, spec=lake.spec, clock=START, **options)
    ended = START + timedelta(minutes=1)
    return RunEnd(context=context, outcome=outcome, begun=START, ended=ended, seconds=60.0, result=result)


def report(run: RunEnd) -> None:
    reporting = RunReporter()
    reporting.begin(run.context, run.begun)
    reporting.end(run)


def output_of(event: Event) -> Event:
    (output,) = event["outputs"]
    return dict(output)


def test_a_run_is_a_start_and_an_end_of_one_id(receiver: Receiver, lake: SeenLake) -> None:
    report(run_of(lake, "split", "units", 4))
    start, end = receiver.events
    assert (start["eventType"], end["eventType"]) == ("START", "COMPLETE")
    assert start["run"]["runId"] == end["run"]["runId"]
    assert UUID(start["run"]["runId"])
    assert (start["eventTime"], end["eventTime"]) == ("2026-01-01T00:00:00+00:00", "2026-01-01T00:01:00+00:00")
    assert end["job"]["namespace"] == "sales"
    assert end["job"]["name"] == "split"
    assert {each["PATH_INFO"] for each in receiver.headers} == {"/api/v1/lineage"}
    assert {each["HTTP_AUTHORIZATION"] for each in receiver.headers} == {"Bearer open-sesame"}


def test_datasets_have_the_instants_that_were_read_and_written(receiver: Receiver, lake: SeenLake) -> None:
    report(run_of(lake, "split", "units", 4))
    end = receiver.events[-1]
    output = output_of(end)
    assert (output["namespace"], output["name"]) == ("file", lake.settings.table_path("units"))
    assert output["facets"]["version"]["datasetVersion"] == minute(4)
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 3
    assert output["outputFacets"]["outputStatistics"]["size"] == 100
    assert [(each["name"], each["facets"]["version"]["datasetVersion"]) for each in end["inputs"]] == [
        (lake.settings.table_path("sales_log"), minute(3))
    ]


def test_columns_lead_to_columns_of_what_was_read(receiver: Receiver, lake: SeenLake) -> None:
    report(run_of(lake, "mart", MART, 7, layer="fast"))
    end = receiver.events[-1]
    fields = output_of(end)["facets"]["columnLineage"]["fields"]
    (day,) = fields["day"]["inputFields"]
    assert (day["name"], day["field"]) == (lake.settings.table_path("sales"), "contract_signing_date")
    assert "deals" not in fields, "a count of rows has no column"
    assert end["job"]["name"] == "mart.fast"
    versions = {each["name"]: each["facets"].get("version", {}).get("datasetVersion") for each in end["inputs"]}
    assert versions[lake.settings.table_path("sales")] == minute(4)
    assert versions[lake.settings.table_path("units")] is None, "the commit does not say how far it was read"


def test_columns_and_their_types_are_those_of_the_commit(receiver: Receiver, lake: SeenLake) -> None:
    columns = [("_hoodie_record_key", "string"), ("unit_id", "long"), ("unit_name", "string")]
    fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in columns]
    schema = json.dumps({"type": "record", "name": "units", "fields": fields})
    lake.commit("units", 8, action="deltacommit", extraMetadata={"schema": schema}, operationType="UPSERT")
    report(run_of(lake, "split", "units", 8))
    found = output_of(receiver.events[-1])["facets"]["schema"]["fields"]
    assert [(each["name"], each["type"]) for each in found] == [("unit_id", "bigint"), ("unit_name", "string")]


def test_the_gate_is_in_the_facet_of_quality(receiver: Receiver, lake: SeenLake) -> None:
    report(run_of(lake, "mart", MART, 7, layer="fast"))
    found = output_of(receiver.events[-1])["facets"]["dataQualityAssertions"]["assertions"]
    failed = [each["assertion"] for each in found if not each["success"]]
    assert failed == ["deals_are_few"]


def test_a_run_that_failed_says_so(receiver: Receiver, lake: SeenLake) -> None:
    run = run_of(lake, "split", "units", 4, RunOutcome.TRY_AGAIN)
    report(replace(run, result=None))
    assert [each["eventType"] for each in receiver.events] == ["START", "FAIL"]
    assert receiver.events[-1]["outputs"] == []


def test_every_facet_names_its_schema(receiver: Receiver, lake: SeenLake) -> None:
    report(run_of(lake, "mart", MART, 7, layer="fast"))
    end = receiver.events[-1]
    facets = [
        *end["job"]["facets"].values(),
        *output_of(end)["facets"].values(),
        *output_of(end)["outputFacets"].values(),
    ]
    assert len(facets) >= 4
    assert all(each["_schemaURL"].startswith("https://openlineage.io/spec/facets/") for each in facets)
    assert end["schemaURL"].endswith("#/$defs/RunEvent")


def test_files_get_the_same_events(no_variables: pytest.MonkeyPatch, lake: SeenLake, tmp_path: Path) -> None:
    file = tmp_path / "lineage.jsonl"
    config = {"type": "file", "log_file_path": str(file), "append": True}
    no_variables.setenv("OPENLINEAGE__TRANSPORT", json.dumps(config))
    report(run_of(lake, "split", "units", 4))
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert [each["eventType"] for each in events] == ["START", "COMPLETE"]
    assert [problem for each in events for problem in problems_of(each)] == []


def test_an_event_that_is_not_of_its_schemas_is_noticed(receiver: Receiver, lake: SeenLake) -> None:
    report(run_of(lake, "mart", MART, 7, layer="fast"))
    good = receiver.events[-1]

    def changed(*path: str | int, to: Any) -> list[str]:
        event = json.loads(json.dumps(good))
        part = event
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = to
        return problems_of(event)

    facets = ("outputs", 0, "facets")
    assert problems_of(good) == []
    assert changed("run", "runId", to="7"), "an id is a UUID"
    assert changed("eventTime", to="2026-01-01T00:00:00"), "a time has a zone"
    assert changed("eventType", to="DONE")
    assert changed(*facets, "version", "datasetVersion", to=7)
    assert changed(*facets, "dataQualityAssertions", "assertions", 0, "success", to="yes")
    assert changed(*facets, "columnLineage", "fields", "day", "inputFields", 0, "field", to=None)
    newer = str(good["outputs"][0]["facets"]["version"]["_schemaURL"]).replace("1-0-1", "9-0-0")
    assert changed(*facets, "version", "_schemaURL", to=newer), "the schema of another version is not known"
    assert changed(*facets, "other", to=good["outputs"][0]["facets"]["version"]), "a facet has the name of its schema"


def test_the_id_is_that_of_the_run(lake: SeenLake) -> None:
    run = run_of(lake, "split", "units", 4)
    assert openlineage.run_id(run.context, START) == openlineage.run_id(run.context, START)
    ids = {openlineage.run_id(run.context, START), openlineage.run_id(run.context, START + timedelta(seconds=1))}
    assert len(ids | {openlineage.run_id(run_of(lake, "mart", MART, 7, layer="fast").context, START)}) == 3


def test_jobs_that_change_no_table_and_runs_without_a_lake_send_nothing(receiver: Receiver, lake: SeenLake) -> None:
    run = run_of(lake, "freshness", "units", 4)
    report(run)
    report(replace(run, context=context_of("split", lake.settings, clock=START)))
    assert receiver.events == []


def test_nothing_is_sent_unless_a_receiver_is_named() -> None:
    assert not openlineage.is_configured({"HOME": "/"})
    named = {"OPENLINEAGE__TRANSPORT__TYPE": "console"}
    assert openlineage.is_configured(named)
    assert not openlineage.is_configured({**named, "OPENLINEAGE_DISABLED": "true"})


def test_a_receiver_that_is_slow_or_gone_fails_nothing(
    no_variables: pytest.MonkeyPatch, lake: SeenLake, caplog: pytest.LogCaptureFixture
) -> None:
    no_variables.setattr(reporter, "MOST_SECONDS", 0.2)
    slow = Receiver(delay=2.0)
    with running_server(slow) as port:
        no_variables.setenv("OPENLINEAGE_URL", f"http://127.0.0.1:{port}")
        report(run_of(lake, "split", "units", 4))
        assert len(slow.events) < 2, "the run did not wait for it"
    assert "the run is not affected" in caplog.text
