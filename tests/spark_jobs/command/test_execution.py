"""A command: nothing changes without a yes, results alone on standard output. Jobs are replaced by ones that record."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from spark_jobs.command import execution
from spark_jobs.command.execution import carry_out
from spark_jobs.command.grammar import VERBS, Asks, Verb
from spark_jobs.context import JobContext
from spark_jobs.contracts.errors import TerminalError, TransientError
from spark_jobs.contracts.job_errors import ChecksFailedError
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult

BY_PATH = {verb.path: verb for verb in VERBS}
VALUES: Mapping[str, Mapping[str, Any]] = {
    "lake erase": {"role of customer": "7"},
    "undo changes": {"plan": "plan-x"},
    "undo recompute": {"undo": "recompute-x"},
    "partition delete": {"table": "rates", "partition": "2026-01-01"},
    "restore": {"to": "manual-x"},
    "savepoint delete": {"name": "manual-x"},
    "consumer forget": {"name": "audit"},
    "quality accept": {"table": "units", "because": "it is right"},
    "quarantine replay": {"all": True, "because": "repaired"},
    "quarantine discard": {"reason": "not_json", "because": "noise"},
    "source new-epoch": {"stream": "s"},
    "source same-epoch": {"stream": "s"},
}
ASKING = [verb for verb in VERBS if verb.asks is not Asks.NOTHING and verb.path != "apply"]


class Jobs:
    """What was run, in order; each prints a line and ends as ``status`` says, or raises."""

    def __init__(self) -> None:
        self.ran: list[JobContext[Any]] = []
        self.status = DONE
        self.error: Exception | None = None
        self.messages: tuple[str, ...] = ()

    def run(self, context: JobContext[Any]) -> JobResult:
        self.ran.append(context)
        print(f"{context.job} prints")
        if self.error:
            raise self.error
        return context.result(self.status, messages=self.messages)

    @property
    def done(self) -> list[tuple[str, str, bool]]:
        """Job, action, and whether it was a run with --yes."""
        facts = ((each.job, each.options) for each in self.ran)
        return [(job, getattr(of, "action", ""), bool(getattr(of, "yes", False))) for job, of in facts]


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> Jobs:
    made = Jobs()
    monkeypatch.setattr(execution, "run_job", made.run)
    return made


def end(path: str, *, confirm: bool | None = None, typed: tuple[str, ...] = ("x",), **values: Any) -> int:
    return carry_out(BY_PATH[path], {**VALUES.get(path, {}), **values}, confirm=lambda: confirm, typed=[*typed])


@pytest.mark.parametrize("verb", ASKING, ids=lambda verb: verb.path)
@pytest.mark.parametrize("answer", [None, False])
def test_without_a_yes_it_is_only_shown(
    jobs: Jobs, capsys: pytest.CaptureFixture[str], verb: Verb, answer: Any
) -> None:
    assert end(verb.path, confirm=answer) == 0
    shown = (verb.job, verb.action, False) if verb.asks is Asks.PLAN else (*(verb.look or ("", "")), False)
    assert jobs.done == [shown]
    errors = capsys.readouterr().err.splitlines()
    assert errors[-1] == "next: lakehouse x --yes"
    assert errors[-2].startswith(("planned in", "listed in"))


@pytest.mark.parametrize("verb", ASKING, ids=lambda verb: verb.path)
def test_with_a_yes_it_is_done_at_once_and_after_a_typed_one_too(jobs: Jobs, verb: Verb) -> None:
    done = (verb.job, verb.action, verb.asks is Asks.PLAN)
    assert end(verb.path, yes=True) == 0
    assert jobs.done == [done]
    assert end(verb.path, confirm=True) == 0
    assert len(jobs.done) == 3
    assert jobs.done[-1] == done


def test_an_ingest_needs_a_yes_only_for_what_is_read_once_more(jobs: Jobs) -> None:
    assert end("run ingest") == 0
    assert end("run ingest", again="erp/*") == 0
    assert end("run ingest", again="erp/*", yes=True) == 0
    assert jobs.done == [("ingest", "", False), ("ingest", "", False), ("ingest", "", True)]


def test_json_is_one_document_alone(jobs: Jobs, capsys: pytest.CaptureFixture[str]) -> None:
    jobs.status = NOTHING_TO_DO
    assert end("schema apply", as_json=True) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["status"] == "planned"
    assert "schema prints" in shown.err
    assert end("quality list", as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "listed"


def test_people_see_no_json_and_the_next_command_last(jobs: Jobs, capsys: pytest.CaptureFixture[str]) -> None:
    jobs.messages = ("2 marts differ", "next: preview --plan p.yaml, then: apply --plan p.yaml")
    assert end("plan") == 0
    shown = capsys.readouterr()
    assert shown.out.splitlines() == ["plan prints", "2 marts differ"]
    assert shown.err.splitlines()[-1] == "next: lakehouse preview p.yaml, then: lakehouse apply p.yaml"
    assert "nothing_to_do" not in shown.out + shown.err


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (TransientError("the lease is taken"), 1, "try again: the lease is taken"),
        (TerminalError("held: publish accept --table units"), 2, "error: held: lakehouse quality accept units"),
        (RuntimeError("a bug"), 1, "try again: RuntimeError: a bug"),
    ],
)
def test_errors_are_one_line_with_the_exit_code_of_the_entry_point(
    jobs: Jobs, capsys: pytest.CaptureFixture[str], error: Exception, code: int, line: str
) -> None:
    jobs.error = error
    assert end("run split") == code
    assert capsys.readouterr().err.splitlines()[-1] == line


def test_a_job_that_found_what_must_not_be_reports_it_all_the_same(
    jobs: Jobs, capsys: pytest.CaptureFixture[str]
) -> None:
    result = JobResult(job="checks", status=DONE, clock="2026-01-01T00:00:00Z", counters={"checks": 1})
    jobs.error = ChecksFailedError(broken={"units.known": 2}, result=result)
    assert end("quality check", as_json=True) == 2
    assert json.loads(capsys.readouterr().out)["counters"] == {"checks": 1}


def test_a_query_prefers_the_local_engine_and_prints_rows(jobs: Jobs, capsys: pytest.CaptureFixture[str]) -> None:
    assert end("query", sql="SELECT 1", as_json=True) == 0
    assert end("query", sql="SELECT 1", format="csv", engine="spark") == 0
    assert end("query", sql="SELECT 1", output="x.csv") == 0
    options = [context.options for context in jobs.ran]
    assert [(each.engine, each.format) for each in options] == [("auto", "json"), ("spark", "csv"), ("auto", "")]
    assert capsys.readouterr().out.splitlines() == ["query prints"] * 3
