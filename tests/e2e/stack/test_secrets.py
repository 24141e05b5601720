"""Secrets that the stack was given and made: nowhere to be seen after everything that the tests before let it do.

Passwords of connections, credentials in the environment, Airflow's own keys. Each search is also shown to find things.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from local_stack.servers.airflow_home import DATABASE_VARIABLE
from local_stack.servers.ports import free_port
from tests.support.canaries import canaries_in, new_canary, search_database, search_files
from tests.support.commands import run

if TYPE_CHECKING:
    from tests.e2e.stack.conftest import Running

pytestmark = [pytest.mark.e2e, pytest.mark.services, pytest.mark.timeout(1500)]
FOR_THE_OWNER = ("secrets.json", "passwords.json")


def test_in_no_log_and_no_file_of_the_stack(running: Running) -> None:
    folder = running.stack.folder.path
    assert search_files(folder, running.canaries, but=FOR_THE_OWNER) == {}
    kept = [path for path in folder.rglob("*") if path.name in FOR_THE_OWNER]
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    assert set(search_files(folder, running.canaries)) == {str(path.relative_to(folder)) for path in kept}
    logs = search_files(folder, {"a task's log": "running ", "the store": "serve"})
    assert any("dag_id=fast_layer" in path for path in logs)


def test_in_no_table_and_no_file_of_the_lake(running: Running) -> None:
    lake = Path(running.settings.base_path)
    assert search_files(lake, running.canaries) == {}
    found = search_files(lake, {"properties": "hoodie.table.name", "commits": "partitionToWriteStats"})
    assert {name for names in found.values() for name in names} == {"properties", "commits"}


def test_in_no_table_of_airflow(running: Running) -> None:
    """XCom, rendered fields, the log of what people did: and connections, which hold their passwords encrypted."""
    url = running.environ[DATABASE_VARIABLE]
    assert search_database(url, running.canaries) == {}
    known = search_database(url, {"user": "dashboards", "result": "rows_written", "made": "lakehouse_athena"})
    assert "user" in known["connection"]
    assert "result" in known["xcom"]
    assert "made" in known["log"]


def test_in_no_command_line(running: Running) -> None:
    seen = "\n".join(running.command_lines).encode()
    assert canaries_in(seen, running.canaries) == []
    assert b"spark_jobs.entrypoint serve" in seen
    assert b"SparkConnectServer" in seen


def test_in_no_line_about_what_went_wrong(running: Running) -> None:
    """A wrong password, a store that is not there, a Spark Connect server that is not there."""
    canary = {"wrong": new_canary()}
    word = quote(canary["wrong"], safe="")
    socket = running.serving_url.partition("?")[2]
    server = {"LAKEHOUSE_SPARK_REMOTE": running.stack.spark_remote}
    cases = {
        2: {**server, "LAKEHOUSE_SERVING_URL": f"postgresql://dashboards:{word}@/postgres?{socket}"},
        1: {**server, "LAKEHOUSE_SERVING_URL": f"postgresql://dashboards:{word}@127.0.0.1:{free_port()}/postgres"},
        -1: {"LAKEHOUSE_SPARK_REMOTE": f"sc://127.0.0.1:{free_port()}/;user_id=me;token={word}"},
    }
    for code, environment in cases.items():
        ended, output, errors = run("serve", "--layer", "fast", environment={**running.environ, **environment})
        shown = "\n".join([output, *errors])
        assert ended == abs(code), shown
        assert errors[-1].startswith(("error: ", "try again: ")), shown
        assert canaries_in(shown.encode(), canary) == []
