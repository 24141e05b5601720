"""The operator with the real command line: what each way of ending means to Airflow. No Spark is needed for these.

`generate` needs no Spark; `split` against a port where nothing listens is a transient failure.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from lakehouse_provider.launch.engines import build_job_command
from lakehouse_provider.launch.job_command import JobCommand
from lakehouse_provider.operators.job import LakehouseJobOperator
from local_stack.servers.ports import free_port
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.lake_names import make_lake

CLOCK = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class Run:
    run_type: str = "manual"
    start_date: datetime = CLOCK
    logical_date: datetime | None = None


@dataclass
class Events:
    extra: dict[str, Any] = field(default_factory=dict)


def context(run_type: str = "manual") -> Any:
    return {"dag_run": Run(run_type), "params": {}, "run_id": "r", "outlet_events": {}, "triggering_asset_events": {}}


@pytest.fixture(autouse=True)
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    connection = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": free_port()}
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_SPARK", json.dumps(connection))
    for name in ("base", "landing"):
        monkeypatch.setenv(f"LAKEHOUSE_{name.upper()}_PATH", str(tmp_path / name))
    make_lake("sales", Settings.from_environment(), may_adopt=False)
    return tmp_path


def operator(job: str = "generate", **arguments: Any) -> LakehouseJobOperator:
    return LakehouseJobOperator(task_id="job", job=job, arguments=arguments)


def test_gives_the_result_and_runs_with_the_runs_clock(settings: Path) -> None:
    result = operator(events=20, seed=3, topic="").execute(context())
    assert (result["job"], result["status"], result["clock"]) == ("generate", "done", "2026-03-01T12:00:00Z")
    assert result["counters"]["events"] == 20
    assert list((settings / "landing").rglob("*.jsonl"))


def test_a_reason_to_skip_starts_no_job(settings: Path) -> None:
    task = LakehouseJobOperator(task_id="job", job="generate", skip_reason="not wanted")
    with pytest.raises(AirflowSkipException, match="not wanted"):
        task.execute(context())
    assert not (settings / "landing").exists()


def test_exit_2_is_not_retried() -> None:
    with pytest.raises(AirflowFailException, match=r"generate cannot work until someone changes something: .*--events"):
        operator(events=0).execute(context())


def test_a_value_that_looks_like_an_option_is_a_value() -> None:
    with pytest.raises(AirflowFailException, match="no savepoint made by savepoint is called '--yes'; known are none"):
        operator("restore", to="--yes").execute(context())


def test_exit_1_may_be_retried() -> None:
    with pytest.raises(AirflowException, match="no Spark Connect server answers") as raised:
        operator("split").execute(context())
    assert not isinstance(raised.value, AirflowFailException)


def test_a_token_is_in_no_message_of_a_server_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    host = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": free_port(), "login": "me"}
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_SPARK", json.dumps({**host, "password": "can/ary"}))
    with pytest.raises(AirflowException, match="no Spark Connect server answers at sc:") as raised:
        operator("split").execute(context())
    shown = f"{raised.value}{''.join(capsys.readouterr())}"
    assert "running " in shown
    assert not [form for form in ("can/ary", "can%2Fary", "token=") if form in shown]


def test_a_wrong_connection_is_not_retried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_SPARK", json.dumps({"conn_type": "http", "host": "x"}))
    with pytest.raises(AirflowFailException, match="type 'http'"):
        operator().execute(context())


def test_a_clock_tick_is_skipped_where_data_is_awaited() -> None:
    waiting = LakehouseJobOperator(task_id="job", job="generate", runs_by_clock=False)
    with pytest.raises(AirflowSkipException, match="waits for its data"):
        waiting.execute(context("scheduled"))


def test_a_stopped_task_ends_its_job() -> None:
    task = operator(events=50_000_000)
    threading.Timer(3.0, task.on_kill).start()
    begun = time.monotonic()
    with pytest.raises(AirflowException, match="was stopped with its task"):
        task.execute(context())
    assert time.monotonic() - begun < 30


@dataclass
class Echo:
    """What a `spark-submit` was called with that only writes it down and ends with exit code 2."""

    call_file: Path

    def run(self, task: LakehouseJobOperator, about: Any) -> tuple[list[str], dict[str, str]]:
        """Options after the entrypoint, and the environment."""
        with pytest.raises(AirflowFailException):
            task.execute(about)
        words, _, variables = self.call_file.read_text(encoding="utf-8").partition("\n\n")
        _, _, options = words.partition("entrypoint.py\n")
        return options.splitlines(), dict(line.partition("=")[::2] for line in variables.splitlines())


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Echo:
    call_file, script, jars = tmp_path / "call", tmp_path / "submit", tmp_path / "jars"
    script.write_text(f'#!/bin/sh\n{{ printf "%s\\n" "$@"; echo; env; }} > {call_file}\nexit 2\n', encoding="utf-8")
    script.chmod(0o755)
    jars.mkdir()
    (jars / "hudi.jar").touch()
    connection = {"conn_type": "spark", "host": "local[1]", "extra": {"spark-binary": str(script)}}
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_SPARK", json.dumps(connection))
    monkeypatch.setenv("LAKEHOUSE_JARS_PATH", str(jars))
    return Echo(call_file)


def test_a_job_that_ends_well_without_a_result_may_be_tried_again(echo: Echo) -> None:
    """For example with a `spark-submit` of the connection's that is a script and swallows what the driver says."""
    (echo.call_file.parent / "submit").write_text("#!/bin/sh\necho all is well\n", encoding="utf-8")
    with pytest.raises(AirflowException, match=r"mart ended well but gave no result: .*all is well") as raised:
        operator("mart").execute(context())
    assert not isinstance(raised.value, AirflowFailException)


def test_a_task_that_is_stopped_before_its_job_began_says_so(echo: Echo) -> None:
    """Not as the job would have ended: its exit code 2 would keep Airflow from trying again."""
    task = operator("mart")
    task.on_kill()
    with pytest.raises(AirflowException, match="mart was stopped with its task") as raised:
        task.execute(context())
    assert not isinstance(raised.value, AirflowFailException)


def test_a_task_that_is_stopped_while_it_prepares_its_job_does_not_start_it(
    echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = operator("mart")

    def build_when_stopped(*arguments: Any, **options: Any) -> JobCommand:
        task.on_kill()
        return build_job_command(*arguments, **options)

    monkeypatch.setattr("lakehouse_provider.operators.job.build_job_command", build_when_stopped)
    with pytest.raises(AirflowException, match="mart was stopped with its task"):
        task.execute(context())
    assert not echo.call_file.exists()


def test_true_is_an_option_without_a_value_and_false_is_none(echo: Echo) -> None:
    arguments = {"layer": "fast", "full": True, "move_cut": False, "mart": None}
    options, _ = echo.run(LakehouseJobOperator(task_id="job", job="mart", arguments=arguments), context())
    assert options == ["mart", "--clock=2026-03-01T12:00:00Z", "--layer=fast", "--full"]
    arguments = {"plan": "plan.json", "samples": 0}
    options, _ = echo.run(LakehouseJobOperator(task_id="job", job="preview", arguments=arguments), context())
    assert options == ["preview", "--clock=2026-03-01T12:00:00Z", "--plan=plan.json", "--samples=0"]


def test_an_option_that_the_job_does_not_have_is_refused_with_the_dag_file_and_not_in_its_runs() -> None:
    with pytest.raises(ContractError, match=r"job savepoint create has no option days; it has action, keep, label"):
        LakehouseJobOperator(task_id="job", job="savepoint create", arguments={"days": 3})
    for role in ("agent", "customer"):  # what kinds of people there are is in the lake spec
        assert LakehouseJobOperator(task_id="job", job="erase", arguments={role: "7"}).arguments == {role: "7"}


def test_a_backfill_run_gives_its_date(echo: Echo) -> None:
    task = LakehouseJobOperator(task_id="job", job="mart", arguments={"layer": "slow"}, reads_interval=True)
    about = context("backfill")
    about["dag_run"].logical_date = datetime(2026, 2, 27, tzinfo=UTC)
    options, _ = echo.run(task, about)
    assert options[-2:] == ["--interval-start=2026-02-27T00:00:00Z", "--interval-end=2026-02-28T00:00:00Z"]


STORE = {
    "conn_type": "mysql",
    "host": "db",
    "login": "u",
    "password": "p?w",
    "schema": "s",
}


def test_the_serving_store_is_known_by_the_environment_alone(
    echo: Echo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_SERVING", json.dumps(STORE))
    task = LakehouseJobOperator(task_id="job", job="serve", serving_conn_id="lakehouse_serving")
    options, environment = echo.run(task, context())
    assert environment["LAKEHOUSE_SERVING_URL"] == "mysql://u:p%3Fw@db/s"
    assert options == ["serve", "--clock=2026-03-01T12:00:00Z"]
    shown = "".join(capsys.readouterr())
    assert "running " in shown
    assert "p%3Fw" not in shown
    assert "p?w" not in shown


def test_without_the_connection_the_store_is_the_one_of_the_settings(
    echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAKEHOUSE_SERVING_URL", "sqlite:////of/the/settings")
    task = LakehouseJobOperator(task_id="job", job="serve", serving_conn_id="lakehouse_serving")
    _, environment = echo.run(task, context())
    assert environment["LAKEHOUSE_SERVING_URL"] == "sqlite:////of/the/settings"


def test_another_job_does_not_get_the_store(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_SERVING", json.dumps(STORE))
    _, environment = echo.run(LakehouseJobOperator(task_id="job", job="mart"), context())
    assert "LAKEHOUSE_SERVING_URL" not in environment


BROKER = {
    "conn_type": "kafka",
    "host": "broker",
    "login": "reader",
    "password": "k?afka-w",
}


def test_kafka_is_known_by_the_environment_alone(
    echo: Echo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_KAFKA", json.dumps(BROKER))
    task = LakehouseJobOperator(task_id="job", job="ingest", kafka_conn_id="lakehouse_kafka")
    options, environment = echo.run(task, context())
    assert environment["LAKEHOUSE_KAFKA_SERVERS"] == "broker:9092"
    assert json.loads(environment["LAKEHOUSE_KAFKA_PROPERTIES"])["sasl.password"] == "k?afka-w"
    assert options == ["ingest", "--clock=2026-03-01T12:00:00Z"]
    assert "k?afka-w" not in "".join(capsys.readouterr())


def test_without_the_connection_kafka_is_what_the_settings_say(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    task = LakehouseJobOperator(task_id="job", job="ingest", kafka_conn_id="lakehouse_kafka")
    _, environment = echo.run(task, context())
    assert "LAKEHOUSE_KAFKA_SERVERS" not in environment
    monkeypatch.setenv("LAKEHOUSE_KAFKA_SERVERS", "of-settings:9092")
    _, environment = echo.run(task, context())
    assert environment["LAKEHOUSE_KAFKA_SERVERS"] == "of-settings:9092"


def test_a_database_that_is_read_is_known_by_the_environment_alone(
    echo: Echo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = {"conn_type": "postgres", "host": "db", "schema": "erp", "login": "reader", "password": "s?ource-w"}
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_SOURCE", json.dumps(facts))
    task = LakehouseJobOperator(task_id="job", job="snapshot", source_conn_id="lakehouse_source")
    options, environment = echo.run(task, context())
    assert (environment["LAKEHOUSE_JDBC_URL"], environment["LAKEHOUSE_JDBC_USER"]) == (
        "jdbc:postgresql://db/erp", "reader"
    )  # fmt: skip
    assert environment["LAKEHOUSE_JDBC_PASSWORD"] == "s?ource-w"
    assert options == ["snapshot", "--clock=2026-03-01T12:00:00Z"]
    assert "s?ource-w" not in "".join(capsys.readouterr())


def test_a_serving_connection_that_cannot_work_is_not_retried(echo: Echo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_LAKEHOUSE_SERVING", json.dumps({"conn_type": "mysql", "host": "db"}))
    task = LakehouseJobOperator(task_id="job", job="serve", serving_conn_id="lakehouse_serving")
    with pytest.raises(AirflowFailException, match="names no database"):
        task.execute(context())
    assert not echo.call_file.exists()
