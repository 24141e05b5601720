"""Athena's API whose views appear in Glue's catalog as those of the real one do; it runs no other SQL."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
import pytest

from tests.support.glue_api import GlueApi, running_glue

_VIEW = re.compile(r'CREATE OR REPLACE VIEW "(?P<database>\w+)"\."(?P<name>\w+)" AS\n(?P<select>.+)', re.DOTALL)
_DROP = re.compile(r'DROP VIEW IF EXISTS "(?P<database>\w+)"\."(?P<name>\w+)"')
_DATABASE = re.compile(r"CREATE DATABASE IF NOT EXISTS (?P<database>\w+)")


@contextmanager
def running_athena() -> Iterator[GlueApi]:
    """Athena and Glue on one server, to which this process's clients go until the block ends."""
    with running_glue() as api, pytest.MonkeyPatch.context() as patch:
        for name, value in (api.environment | {"AWS_ENDPOINT_URL_ATHENA": api.url}).items():
            patch.setenv(name, value)

        def carry_out(name: str, given: dict[str, Any]) -> None:
            if name == "StartQueryExecution":
                _carry_out(api, given["QueryString"])

        api.answer = carry_out
        yield api


def statements(api: GlueApi) -> list[str]:
    """The statements that Athena got."""
    return [given["QueryString"] for name, given in api.calls if name == "StartQueryExecution"]


def _carry_out(api: GlueApi, statement: str) -> None:
    """As Athena does, with Glue's calls of its own, which are not the client's."""
    glue, before = boto3.client("glue"), list(api.calls)
    if made := _DATABASE.fullmatch(statement):
        if made["database"] not in {each["Name"] for each in glue.get_databases()["DatabaseList"]}:
            glue.create_database(DatabaseInput={"Name": made["database"]})
    elif view := _VIEW.fullmatch(statement):
        text = f"/* Presto View: {base64.b64encode(view['select'].encode()).decode()} */"
        described = {"Name": view["name"], "TableType": "VIRTUAL_VIEW", "ViewOriginalText": text}
        there = {each["Name"] for each in glue.get_tables(DatabaseName=view["database"])["TableList"]}
        change = glue.update_table if view["name"] in there else glue.create_table
        change(DatabaseName=view["database"], TableInput=described)
    elif gone := _DROP.fullmatch(statement):
        glue.delete_table(DatabaseName=gone["database"], Name=gone["name"])
    api.calls[:] = before
