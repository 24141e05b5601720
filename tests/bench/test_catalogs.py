"""The time of Glue's API by the client's events: of each call once, and not the time between calls."""

from __future__ import annotations

import time
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.session import get_session
from botocore.stub import Stubber

from bench.catalogs import ApiTime, Sync, summarize


@pytest.fixture
def glue() -> tuple[ApiTime, Any, Stubber]:
    """A client whose answers are given, and who listens to it."""
    api, session = ApiTime(), get_session()
    api.listen(session.get_component("event_emitter"))
    keys = {"aws_access_key_id": "nobody", "aws_secret_access_key": "nothing"}
    client = boto3.Session(botocore_session=session, region_name="eu-west-1", **keys).client("glue")
    return api, client, Stubber(client)


def test_calls_are_counted_and_the_time_between_is_not(glue: tuple[ApiTime, Any, Stubber]):
    api, client, stubber = glue
    stubber.add_response("get_database", {"Database": {"Name": "a"}})
    stubber.add_client_error("get_table", "EntityNotFoundException")
    began = time.perf_counter()
    with stubber:
        client.get_database(Name="a")
        time.sleep(0.3)
        with pytest.raises(ClientError):
            client.get_table(DatabaseName="a", Name="b")
    assert api.calls == ["GetDatabase", "GetTable"]
    assert 0 < api.seconds <= time.perf_counter() - began - 0.3
    api.reset()
    assert (api.calls, api.seconds) == ([], 0)


def test_figures_show_the_api_apart_from_the_rest():
    ours = [
        Sync(seconds=s + 0.5, api_seconds=s, calls=("GetTables", "UpdateTable"), changes=2) for s in (0.4, 0.2, 0.9)
    ]
    full = [Sync(seconds=9.0, api_seconds=4.0, calls=("CreateTable",) * 400, changes=400) for _ in range(3)]
    figures = summarize(ours, full, warm_ups=1)
    assert list(figures.values.values()) == [0.4]
    assert (
        figures.notes[0]
        == "2 calls (1 GetTables, 1 UpdateTable), 2 changes; 0.90 s in all, 0.50 s of them outside the API."
    )
    assert figures.notes[1] == "All tables in full: 4.00 s of API time in 400 calls, 10 times as much; 9.00 s in all."
