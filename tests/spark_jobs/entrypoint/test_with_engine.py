"""What only shows once the engine runs: places that cannot be used, tables of another version, the last line.

Every case is a real process with a small landing folder of two sales.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from spark_jobs.contracts.task_runs import TASK_VARIABLES, TaskRun, parse_task
from spark_jobs.storage.timeline import Timeline
from spark_jobs.storage.writer import TASK_KEY
from tests.support.commands import make_lake_at, run, run_well
from tests.support.envelopes import SQLSERVER_TOPIC, line, sqlserver, write_lines
from tests.support.openlineage_schemas import problems_of

pytestmark = pytest.mark.hudi
LATER = pytest.mark.slice(name="jobs")
"""Of errors that storage/test_filesystem.py and jobs/test_ingest.py see without another process."""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    write_lines(
        tmp_path / "landing" / SQLSERVER_TOPIC / "a.jsonl", [line(sqlserver("c", {"SaleId": n}, n)) for n in (1, 2)]
    )
    return make_lake_at(tmp_path)


def refused(environment: dict[str, str]) -> str:
    """The one line of this project among what Spark says on standard error; exit code 2 and no traceback."""
    code, output, errors = run("ingest", environment=environment)
    assert (code, output) == (2, ""), "\n".join(errors)
    assert "Traceback" not in "\n".join(errors)
    ours = [line for line in errors if line.startswith(("error: ", "try again: "))]
    assert ours == errors[-1:]
    return ours[0]


def test_a_lake_that_cannot_be_written(tmp_path, environment):
    (tmp_path / "lake" / ".leases").write_text("")
    error = refused(environment)
    assert error.startswith(f"error: no permission to write {tmp_path}/lake/.leases")
    assert error.endswith("give the user write access or set LAKEHOUSE_BASE_PATH")


@LATER
def test_a_table_of_another_version(tmp_path, environment):
    folder = tmp_path / "lake" / "sales_log" / ".hoodie"
    folder.mkdir(parents=True)
    (folder / "hoodie.properties").write_text("hoodie.table.version=9\n")
    assert "sales_log: the table on disk has Hudi table version 9, this project writes version 6" in refused(
        environment
    )


@LATER
def test_a_landing_path_that_is_a_file(tmp_path, environment):
    (tmp_path / "file").write_text("")
    error = refused({**environment, "LAKEHOUSE_LANDING_PATH": str(tmp_path / "file")})
    assert error.startswith(f"error: cannot read {tmp_path}/file (Not a directory)")


def test_the_last_line_of_standard_output_is_the_result(tmp_path, environment):
    sent, task = tmp_path / "lineage.jsonl", TaskRun(dag_id="ingest_sales", run_id="manual__1", task_id="ingest")
    environment |= {TASK_VARIABLES[name]: value for name, value in asdict(task).items()}
    environment["OPENLINEAGE__TRANSPORT"] = json.dumps({"type": "file", "log_file_path": str(sent), "append": True})
    result = run_well("ingest", "--clock", "2026-01-02T12:00:00Z", environment=environment)
    assert (result.job, result.status, result.clock) == ("ingest", "done", "2026-01-02T12:00:00Z")
    assert result.counters["events_new"] == 2
    assert [(outcome.table, outcome.rows) for outcome in result.tables] == [("sales_log", 2), ("quarantine", 0)]
    log = Timeline(table="sales_log", path=str(tmp_path / "lake" / "sales_log"))
    assert parse_task(log.metadata(log.writes[-1]).get(TASK_KEY)) == task
    # What a remote session that was open in the process before leaves in its environment changes nothing.
    marked = {**environment, "SPARK_CONNECT_MODE_ENABLED": "1"}
    assert run_well("ingest", environment=marked).status == "nothing_to_do"
    events = [json.loads(line) for line in sent.read_text().splitlines()]
    assert [each["eventType"] for each in events] == ["START", "COMPLETE"] * 2
    assert [problem for each in events for problem in problems_of(each)] == []
    (output,) = events[1]["outputs"]
    assert {"version", "schema"} <= output["facets"].keys()
