"""Athena that cannot be called, or refuses: one line that says what is needed. What it runs is in test_view_ddl.py."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.catalog.athena import query, run_statements
from tests.support.http_servers import running_server
from tests.support.without_aws import forget_aws

LOGIN = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y"}


def test_without_a_region_it_cannot_be_called(monkeypatch: pytest.MonkeyPatch):
    forget_aws(monkeypatch, **LOGIN)
    expected = r"^Athena cannot be called .*region.*; give the job a role and AWS_DEFAULT_REGION$"
    with pytest.raises(SettingsError, match=expected):
        run_statements(["SELECT 1"], Settings())
    with pytest.raises(SettingsError, match=expected):
        query("SELECT 1", schema="sales", settings=Settings())


def test_what_it_refuses_is_an_error_and_nothing_is_run_after_it(monkeypatch: pytest.MonkeyPatch):
    statements: list[str] = []

    def refuse(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        given = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        statements.append(given["QueryString"])
        start_response("400 Bad Request", [("Content-Type", "application/x-amz-json-1.1")])
        return [json.dumps({"__type": "InvalidRequestException", "message": "No output location provided"}).encode()]

    with running_server(refuse) as port:
        forget_aws(
            monkeypatch, **LOGIN, AWS_DEFAULT_REGION="eu-west-1", AWS_ENDPOINT_URL_ATHENA=f"http://127.0.0.1:{port}"
        )
        with pytest.raises(SettingsError) as caught:
            run_statements(["SELECT 1", "SELECT 2"], Settings())
    assert str(caught.value).startswith("Athena refused a statement (")
    assert "No output location provided); look at the workgroup, LAKEHOUSE_ATHENA_RESULTS and the" in str(caught.value)
    assert statements == ["SELECT 1"]
