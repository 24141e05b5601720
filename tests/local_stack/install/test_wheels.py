"""The two wheels: what is in them, what they ask for, and that they work where nothing of the checkout is.

A wheel of pure Python is installed by unpacking it, so here both are unpacked into an empty folder; the slice
`documents` installs them into an empty environment (tests/e2e/test_existing_airflow.py).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest

from local_stack.install.wheels import build_wheels, write_constraints
from local_stack.layout import PROJECT_ROOT

LIBRARY, PROVIDER = "sales_lakehouse", "airflow_provider_sales_lakehouse"
OF_AIRFLOW = {
    "apache-airflow",
    "apache-airflow-providers-apache-spark",
    "apache-airflow-providers-apprise",
    "markdown-it-py",
    "pendulum",
}
"""Of requirements.in what the provider asks for; the library all others."""
OF_CONTAINERS = {"asyncpg"}
"""The driver of the database of docker-compose.yaml's own Airflow."""
RUN = """
import sys
sys.path.insert(0, {site!r})
sys.argv[0] = "lakehouse"
from spark_jobs.command.app import main
main()
"""
PLUGIN = """
import json, sys
sys.path.insert(0, {site!r})
from importlib.metadata import entry_points
from pathlib import Path
from jsonschema import validate
import airflow
found = {{each.group: each.load() for group in ("apache_airflow_provider", "airflow.plugins")
         for each in entry_points(group=group) if "lakehouse" in each.value}}
from lakehouse_page.runbooks import find_runbook
assert "<h1>" in find_runbook("doctor", "")
info = found["apache_airflow_provider"]()
validate(info, json.loads(Path(airflow.__file__).with_name("provider_info.schema.json").read_text()))
print(json.dumps([info, found["airflow.plugins"].name, sys.modules["lakehouse_plugin"].__file__]))
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    built = build_wheels(tmp_path_factory.mktemp("dist"))
    return {wheel.name.split("-")[0]: wheel for wheel in built}


@pytest.fixture(scope="module")
def site(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    for wheel in wheels.values():
        zipfile.ZipFile(wheel).extractall(folder)
    return folder


def facts(wheel: Path) -> dict[str, list[str]]:
    with zipfile.ZipFile(wheel) as packed:
        name = next(name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        message = HeaderParser().parsestr(packed.read(name).decode())
    return {key: message.get_all(key, []) for key in message}


def installed_name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9-]+", requirement)
    assert found
    return found.group().lower()


def required() -> set[str]:
    """The requirements of requirements.in, each as metadata has it."""
    lines = (PROJECT_ROOT / "requirements.in").read_text(encoding="utf-8").splitlines()
    return {line.partition("#")[0].strip().lower() for line in lines} - {""}


def test_each_wheel_has_all_of_its_packages_and_nothing_else(wheels: dict[str, Path]) -> None:
    def files(folder: str, prefix: str) -> set[str]:
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", folder]
        done = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=True)
        kept = [Path(name) for name in done.stdout.split() if "docker/" not in name and Path(name).name != "ruff.toml"]
        return {f"{prefix}{file.relative_to(folder)}" for file in kept if not (PROJECT_ROOT / file).is_dir()}

    def packed(name: str) -> set[str]:
        names = zipfile.ZipFile(wheels[name]).namelist()
        return {each for each in names if ".dist-info/" not in each and not each.endswith("/")}

    assert packed(LIBRARY) == {
        *files("spark_jobs", "spark_jobs/"),
        *files("include", "spark_jobs/include/"),
        "spark_jobs/include/sizing/sizes.json",
    }
    assert packed(PROVIDER) == {
        *files("plugins/lakehouse_provider", "lakehouse_provider/"),
        *files("plugins/lakehouse_page", "lakehouse_page/"),
        *files("docs/runbooks", "lakehouse_page/runbook_pages/"),
        *files("dags", "lakehouse_provider/dags/"),
        "lakehouse_plugin/__init__.py",
    }


def test_what_they_ask_for_is_what_requirements_in_has(wheels: dict[str, Path]) -> None:
    asked = {name: {each.lower() for each in facts(wheel)["Requires-Dist"]} for name, wheel in wheels.items()}
    version = facts(wheels[LIBRARY])["Version"][0]
    assert f"sales-lakehouse=={version}" in asked[PROVIDER]
    provider = asked[PROVIDER] - {f"sales-lakehouse=={version}"}
    assert {installed_name(each) for each in provider} == OF_AIRFLOW
    assert asked[LIBRARY] | provider == {each for each in required() if installed_name(each) not in OF_CONTAINERS}
    assert not [each for each in asked[LIBRARY] if "airflow" in each], "the library is installed without Airflow too"


def test_they_have_one_version_licence_and_python(wheels: dict[str, Path]) -> None:
    project = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for wheel in wheels.values():
        found = facts(wheel)
        assert found["Version"] == [project["version"]]
        assert found["License-Expression"] == ["Apache-2.0"]
        assert found["License-File"] == ["LICENSE"]
        assert found["Requires-Python"] == [">=3.11, <3.12"]


def test_constraints_are_the_locked_versions_without_hashes(tmp_path: Path) -> None:
    first = "first==1.0 \\\n    --hash=sha256:ab\n    # via second\n"
    second = "second[x,y]==2.0+local ; python_version < '4' \\\n    --hash=sha256:cd\n"
    (tmp_path / "lock.txt").write_text(f"# made\n{first}{second}")
    assert write_constraints(tmp_path, tmp_path / "lock.txt").read_text() == "first==1.0\nsecond==2.0+local\n"
    found = write_constraints(tmp_path).read_text().splitlines()
    assert "pyspark==3.5.7" in found
    assert len(found) > 100


def run(site: Path, folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The installed command in a folder of nothing else; -I leaves PYTHONPATH and the folder itself out."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "NO_COLOR": "1", **variables}
    command = [sys.executable, "-I", "-c", RUN.format(site=str(site)), *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def test_the_lakes_files_are_found_where_the_library_is_installed(site: Path, tmp_path: Path) -> None:
    places = {"LAKEHOUSE_BASE_PATH": str(tmp_path / "lake"), "LAKEHOUSE_LANDING_PATH": str(tmp_path / "landing")}
    done = run(site, tmp_path, "spec", "check", **places)
    assert done.returncode == 0, done.stderr
    assert "slow_agent_performance" in done.stdout
    assert "error" not in done.stderr


def test_an_installation_has_no_lake_beside_its_packages(site: Path, tmp_path: Path) -> None:
    done = run(site, tmp_path, "lake", "init")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: LAKEHOUSE_BASE_PATH is not set, and outside the project's folder it has no default; set it\n"
    )
    assert [*tmp_path.iterdir()] == []


def test_without_jars_one_line_says_what_to_set(site: Path, tmp_path: Path) -> None:
    places = {"LAKEHOUSE_BASE_PATH": str(tmp_path / "lake"), "LAKEHOUSE_LANDING_PATH": str(tmp_path / "landing")}
    assert run(site, tmp_path, "lake", "init", **places).returncode == 0
    lines = [
        "error: LAKEHOUSE_JARS_PATH is not set; set it to the folder of Hudi's and Spark's other jars "
        "(docs/existing-airflow.md)",
        f"error: no Hudi jar in {tmp_path}; copy the jars there, or set LAKEHOUSE_JARS_PATH (docs/existing-airflow.md)",
    ]
    for jars, line in zip(({}, {"LAKEHOUSE_JARS_PATH": str(tmp_path)}), lines, strict=True):
        done = run(site, tmp_path, "run", "ingest", **places, **jars)
        assert (done.returncode, done.stderr.strip().splitlines()[-1]) == (2, line)


def test_airflow_finds_provider_and_plugin_by_their_entry_points(site: Path, tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "AIRFLOW_HOME": str(tmp_path)}
    command = [sys.executable, "-I", "-c", PLUGIN.format(site=str(site))]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    info, plugin, file = json.loads(done.stdout.splitlines()[-1])
    assert (info["package-name"], plugin) == ("airflow-provider-sales-lakehouse", "lakehouse")
    assert Path(file).is_relative_to(site)
