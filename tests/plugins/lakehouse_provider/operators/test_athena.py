"""Queries in Athena by an Airflow connection, against Athena's API as moto serves it.

It speaks the protocol and runs no SQL: answers and the states of a running query are put there by the tests.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import boto3
import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from hypothesis import given
from hypothesis import strategies as st

from lakehouse_provider.hooks import athena as athena_hook
from lakehouse_provider.hooks.athena import AthenaHook, estimate_usd, to_literal
from lakehouse_provider.operators.athena import AthenaQueryOperator
from local_stack.demos.engines import answer_as
from spark_jobs.contracts.errors import ContractError
from tests.support.glue_api import GlueApi, running_glue
from tests.support.hostile_names import HOSTILE, is_clear
from tests.support.processes import wait_until

CANARY = "canary-of-athena"
SQL = "SELECT agent_name, contracts FROM agent_contracts WHERE day = ? AND agent_name = ?"
ROWS: list[dict[str, Any]] = [{"agent_name": "Ann", "contracts": 3}, {"agent_name": None, "contracts": 1}]


@pytest.fixture
def api() -> Iterator[GlueApi]:
    with running_glue() as api:
        yield api


@pytest.fixture(autouse=True)
def connection(api: GlueApi, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    facts = {
        "conn_type": "generic",
        "login": "key",
        "password": CANARY,
        "extra": {"region_name": "eu-west-1", "endpoint_url": api.url, "s3_staging_dir": "s3://lakehouse/results/"},
    }
    monkeypatch.setattr(athena_hook, "POLL_SECONDS", 0.05)
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_ATHENA", json.dumps(facts))
    return facts


def set_extra(connection: dict[str, Any], monkeypatch: pytest.MonkeyPatch, **extra: Any) -> None:
    monkeypatch.setenv(
        "AIRFLOW_CONN_LAKEHOUSE_ATHENA", json.dumps({**connection, "extra": connection["extra"] | extra})
    )


def states(api: GlueApi, *reported: tuple[str, int]) -> None:
    """Let a query be in one state after another, with so many bytes scanned; the last one stays."""
    left = list(reported)

    def answer(name: str, given: dict[str, Any]) -> dict[str, Any] | None:
        if name != "GetQueryExecution":
            return None
        state, scanned = left.pop(0) if len(left) > 1 else left[0]
        return {
            "QueryExecution": {
                "QueryExecutionId": given["QueryExecutionId"],
                "Query": SQL,
                "Status": {"State": state, "StateChangeReason": "SYNTAX_ERROR: line 1"},
                "Statistics": {"DataScannedInBytes": scanned},
                "ResultConfiguration": {"OutputLocation": "s3://lakehouse/results/x.csv"},
            }
        }

    api.answer = answer


def calls(api: GlueApi, name: str) -> list[dict[str, Any]]:
    return [given for call, given in api.calls if call == name]


def run(**options: Any) -> dict[str, Any]:
    return AthenaQueryOperator(task_id="query", sql=SQL, parameters=[date(2026, 1, 2), "O'Neil"], **options).execute({})


def test_values_are_parameters_and_the_answer_says_what_it_cost(api: GlueApi, capsys: pytest.CaptureFixture[str]):
    answer_as(ROWS, endpoint=api.url, region="eu-west-1")
    states(api, ("QUEUED", 0), ("RUNNING", 5_000_000), ("SUCCEEDED", 40 * 1024**2))
    result = run(schema="sales_views", most_rows=5)
    log = "".join(capsys.readouterr())
    (started,) = calls(api, "StartQueryExecution")
    assert started["QueryString"] == SQL
    assert started["ExecutionParameters"] == ["DATE '2026-01-02'", "'O''Neil'"]
    assert started["WorkGroup"] == "primary"
    assert started["QueryExecutionContext"]["Database"] == "sales_views"
    assert result["rows"] == ROWS
    assert (result["scanned_bytes"], result["usd"]) == (40 * 1024**2, "0.000191")
    assert f"query {result['query_id']} started" in log
    assert CANARY not in log + json.dumps(result)


def test_results_may_be_taken_again(api: GlueApi, connection: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    set_extra(connection, monkeypatch, reuse_minutes=30, work_group="reports")
    keys = {"aws_access_key_id": "key", "aws_secret_access_key": CANARY}
    athena = boto3.client("athena", endpoint_url=api.url, region_name="eu-west-1", **keys)
    athena.create_work_group(Name="reports")
    run()
    (started,) = calls(api, "StartQueryExecution")
    assert started["WorkGroup"] == "reports"
    assert started["ResultReuseConfiguration"] == {
        "ResultReuseByAgeConfiguration": {"Enabled": True, "MaxAgeInMinutes": 30}
    }


def test_one_that_scans_too_much_is_stopped(api: GlueApi, connection: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    set_extra(connection, monkeypatch, most_bytes=1_000_000)
    states(api, ("RUNNING", 10), ("RUNNING", 1_000_001))
    with pytest.raises(AirflowFailException, match=r"scanned 1,000,001 bytes and was stopped; it may scan 1,000,000"):
        run()
    assert len(calls(api, "StopQueryExecution")) == 1


def test_a_killed_task_cancels_its_query(api: GlueApi):
    states(api, ("RUNNING", 10))
    task = AthenaQueryOperator(task_id="query", sql="SELECT 1")
    caught: list[BaseException] = []

    def execute() -> None:
        try:
            task.execute({})
        except AirflowException as error:
            caught.append(error)

    thread = threading.Thread(target=execute)
    thread.start()
    wait_until(lambda: len(calls(api, "GetQueryExecution")) > 2, "the query is watched")
    task.on_kill()
    (stopped,) = calls(api, "StopQueryExecution")
    states(api, ("CANCELLED", 10))
    thread.join(timeout=30)
    assert f"query {stopped['QueryExecutionId']} was cancelled; run again" in str(caught[0])
    assert not isinstance(caught[0], AirflowFailException)


def test_a_task_that_is_killed_before_its_query_began_cancels_nothing(api: GlueApi):
    AthenaQueryOperator(task_id="query", sql="SELECT 1").on_kill()
    assert api.calls == []


def test_one_that_fails_is_not_retried(api: GlueApi):
    states(api, ("FAILED", 0))
    with pytest.raises(AirflowFailException, match=r"failed: SYNTAX_ERROR: line 1"):
        run()


def test_one_that_is_refused_is_not_retried(api: GlueApi):
    api.refuse = lambda name: "AccessDeniedException" if name == "StartQueryExecution" else ""
    with pytest.raises(AirflowFailException, match=r"refused the query .*AccessDenied.* connection lakehouse_athena"):
        run()


def test_an_athena_that_does_not_answer_may_be_tried_again(connection: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    set_extra(connection, monkeypatch, endpoint_url="http://127.0.0.1:9")
    with pytest.raises(AirflowException, match="Athena does not answer") as raised:
        run()
    assert not isinstance(raised.value, AirflowFailException)


def test_a_connection_without_a_region_says_what_to_give(monkeypatch: pytest.MonkeyPatch):
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_ATHENA", json.dumps({"conn_type": "generic"}))
    with pytest.raises(AirflowFailException, match="give region_name and s3_staging_dir in its extra"):
        run()


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (None, "NULL"),
        (True, "true"),
        (7, "7"),
        (Decimal("1E+3"), "DECIMAL '1000'"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).replace(tzinfo=None), "TIMESTAMP '2026-01-02 03:04:05'"),
        (datetime(2026, 1, 2, tzinfo=UTC), "TIMESTAMP '2026-01-02 00:00:00+00:00'"),
        ("x'); DROP TABLE sales;--", "'x''); DROP TABLE sales;--'"),
    ],
)
def test_values_become_literals(value: object, literal: str):
    assert to_literal(value) == literal


@given(st.text())
def test_no_text_ends_its_own_literal(text: str):
    from sqlglot import exp, parse_one

    parsed = parse_one(f"SELECT {to_literal(text)}", dialect="trino").expressions
    assert len(parsed) == 1
    assert isinstance(parsed[0], exp.Literal)
    assert parsed[0].this == text


@pytest.mark.parametrize("name", [*HOSTILE.values(), ""])
def test_a_schema_that_is_no_name_is_refused_before_athena_is_called(name: str):
    if name == HOSTILE["upper case"]:
        return
    with pytest.raises(ContractError) as caught:
        AthenaHook().run("SELECT 1", schema=name)
    assert is_clear(str(caught.value), most=250)


@pytest.mark.parametrize("name", ["most_bytes", "reuse_minutes"])
def test_a_limit_that_is_no_number_says_which(name: str, connection: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    set_extra(connection, monkeypatch, **{name: "1; DROP"})
    with pytest.raises(AirflowFailException, match=f"{name} is '1; DROP'; give a whole number"):
        AthenaQueryOperator(task_id="query", sql="SELECT 1").execute({})


def test_what_has_no_literal_is_refused():
    with pytest.raises(ContractError, match="list cannot be a parameter"):
        to_literal([1])


@pytest.mark.parametrize(
    ("scanned", "usd"), [(0, "0"), (1, "0.000048"), (1024**4, "5.000000"), (2**40 + 1, "5.000005")]
)
def test_ten_megabytes_are_the_least_that_is_charged(scanned: int, usd: str):
    assert estimate_usd(scanned) == Decimal(usd)


def test_the_hook_can_be_used_without_an_operator(api: GlueApi):
    assert AthenaHook().run("SELECT 1").query_id == calls(api, "GetQueryExecution")[0]["QueryExecutionId"]
