"""What a job is given of all its connections at once, and how its tries are told apart.

The job is `spark-submit` as a script that writes down how it was called.
"""

from __future__ import annotations

import inspect
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from lakehouse_provider.operators import job as operators
from lakehouse_provider.operators.job import LakehouseJobOperator

CLOCK = datetime(2026, 3, 1, 12, tzinfo=UTC)
CONNECTIONS: dict[str, dict[str, Any]] = {
    "serving": {"conn_type": "postgres", "host": "db", "login": "u", "password": "served?w/or", "schema": "s"},
    "kafka": {
        "conn_type": "kafka",
        "host": "broker",
        "login": "r",
        "password": 'kafka"w/ord',
        "extra": {"ssl.key.password": "kafka-key", "ssl.key.pem": "-----\nkafka-pem-word\n-----"},
    },
    "source": {"conn_type": "mysql", "host": "erp", "login": "r", "password": "source?w/o", "schema": "erp"},
}
SECRETS = ("served?w/or", 'kafka"w/ord', "kafka-key", "-----\nkafka-pem-word\n-----", "source?w/o")


def context(**task: Any) -> Any:
    run = SimpleNamespace(run_type="manual", start_date=CLOCK, logical_date=None)
    found: dict[str, Any] = {"dag_run": run, "params": {}, "run_id": "r", "outlet_events": {}}
    return {**found, **({"ti": SimpleNamespace(**task)} if task else {})}


@dataclass
class Submitted:
    """The words and the environment of the last call; ``code`` is how it ends."""

    folder: Path

    def run(self, error: type[Exception], options: dict[str, Any], *, code: int = 2) -> tuple[str, str]:
        (self.folder / "code").write_text(str(code), encoding="utf-8")
        with pytest.raises(error) as raised:
            LakehouseJobOperator(task_id="job", job="ingest", **options).execute(context())
        assert type(raised.value) is error
        words, _, variables = (self.folder / "call").read_text(encoding="utf-8").partition("\n\n")
        return words, variables


@pytest.fixture
def submitted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Submitted:
    script = tmp_path / "submit"
    record = f'{{ printf "%s\\n" "$@"; echo; env; }} > {tmp_path}/call'
    end = f"code=$(cat {tmp_path}/code); [ $code -lt 100 ] || kill -9 $$; exit $code"
    script.write_text(f"#!/bin/sh\n{record}\n{end}\n", encoding="utf-8")
    script.chmod(0o755)
    extra = {"spark-binary": str(script), "jars": "provided"}
    connection = {"conn_type": "spark", "host": "local[1]", "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_SPARK", json.dumps(connection))
    for name, facts in CONNECTIONS.items():
        monkeypatch.setenv(f"AIRFLOW_CONN_LAKEHOUSE_{name.upper()}", json.dumps(facts))
    return Submitted(tmp_path)


def test_every_connection_that_the_operator_takes_is_tried_here() -> None:
    names = inspect.signature(LakehouseJobOperator.__init__).parameters
    assert {name for name in names if name.endswith("_conn_id")} == {f"{name}_conn_id" for name in CONNECTIONS}


def test_all_connections_at_once_are_known_by_the_environment_and_all_their_secrets_are_hidden(
    submitted: Submitted, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hidden: list[str] = []
    monkeypatch.setattr(operators, "mask_secret", hidden.append)
    options = {f"{name}_conn_id": f"lakehouse_{name}" for name in CONNECTIONS}
    words, variables = submitted.run(AirflowFailException, options)
    assert set(SECRETS) <= set(hidden)
    found = set(re.findall(r"^LAKEHOUSE_(SERVING|KAFKA|JDBC)_(\w+)=", variables, re.MULTILINE))
    assert found == {("SERVING", "URL"), ("JDBC", "URL"), ("JDBC", "USER"), ("JDBC", "PASSWORD")} | {
        ("KAFKA", "SERVERS"), ("KAFKA", "PROPERTIES")
    }  # fmt: skip
    shown = words + "".join(capsys.readouterr())
    assert "running " in shown
    assert not re.search("w/ord|w%2Ford|key-word|pem-word", shown)


@pytest.mark.parametrize("name", CONNECTIONS)
def test_a_job_is_given_the_connections_that_it_names_and_no_other(submitted: Submitted, name: str) -> None:
    _, variables = submitted.run(AirflowFailException, {f"{name}_conn_id": f"lakehouse_{name}"})
    for other, facts in CONNECTIONS.items():
        own = {"serving": "LAKEHOUSE_SERVING", "kafka": "LAKEHOUSE_KAFKA", "source": "LAKEHOUSE_JDBC"}[other]
        assert (f"\n{own}" in f"\n{variables}") == (other == name), facts["conn_type"]


@pytest.mark.parametrize(
    ("code", "error"),
    [(1, AirflowException), (2, AirflowFailException), (3, AirflowException), (137, AirflowException)],
)
def test_only_exit_2_is_never_tried_again(submitted: Submitted, code: int, error: type[Exception]) -> None:
    submitted.run(error, {}, code=code)


def test_every_try_of_every_task_has_a_name_of_its_own_and_keeps_it() -> None:
    tasks = [UUID(int=number) for number in (1, 2)]
    names = [operators._attempt(context(id=task, try_number=n)) for task in tasks for n in (1, 2, 11)]
    assert len(set(names)) == 6
    assert names == [operators._attempt(context(id=task, try_number=n)) for task in tasks for n in (1, 2, 11)]
    assert operators._attempt(context()) != operators._attempt(context())
