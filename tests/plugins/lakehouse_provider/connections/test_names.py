"""The connection of a lake: its own one, else the shared one, and never another lake's."""

from __future__ import annotations

import json

import pytest
from airflow.sdk.exceptions import AirflowNotFoundException
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakehouse_provider.connections.names import find_connection

LAKES = ("sales", "shop", "north")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=st.sets(st.sampled_from(["", *LAKES])), lake=st.sampled_from(["", *LAKES]))
def test_a_lake_has_its_own_connection_else_the_shared_one(
    monkeypatch: pytest.MonkeyPatch, made: set[str], lake: str
) -> None:
    with monkeypatch.context() as patch:
        for name in made:
            variable = f"AIRFLOW_CONN_LAKEHOUSE_KAFKA{f'_{name.upper()}' if name else ''}"
            patch.setenv(variable, json.dumps({"conn_type": "kafka", "host": f"of-{name or 'all'}"}))
        expected = lake if lake in made else "" if "" in made else None
        if expected is None:
            with pytest.raises(AirflowNotFoundException):
                find_connection("lakehouse_kafka", lake)
        else:
            assert find_connection("lakehouse_kafka", lake).host == f"of-{expected or 'all'}"
