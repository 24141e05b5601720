"""What is sent to a driver elsewhere is all that it needs: the zip is read in folders that have nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from lakehouse_provider.library import build_library_zip, remote_environment
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings

AT_RUN_TIME = ("lakes", "marts", "expectations", "rules", "sql")
READ_ALL = """
import json, sys
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
from spark_jobs.contracts.rules_file import load_rules
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.contracts.views import load_views
from pathlib import Path
settings = Settings.from_environment()
spec = load_lake_spec(settings.lake_spec)
facts = [len(spec.tables), len(spec.marts), len(load_rules(settings.rules_path).versions)]
facts.append(len(load_views(Path(settings.views_path))))
import spark_jobs.entrypoint
spark_jobs.entrypoint.build_parser()
print(json.dumps({"library": str(PROJECT_ROOT), "facts": facts, "opened": opened}))
"""


def test_the_zip_is_the_same_every_time(tmp_path: Path) -> None:
    first, second = (build_library_zip(tmp_path / name, Settings()) for name in ("1.zip", "2.zip"))
    assert first.read_bytes() == second.read_bytes()


def test_the_zip_holds_every_module_and_every_file_of_the_lake(tmp_path: Path) -> None:
    names = set(zipfile.ZipFile(build_library_zip(tmp_path / "z.zip", Settings())).namelist())
    modules = {str(file.relative_to(PROJECT_ROOT)) for file in (PROJECT_ROOT / "spark_jobs").rglob("*.py")}
    files = {
        str(file.relative_to(PROJECT_ROOT))
        for folder in AT_RUN_TIME
        for file in (PROJECT_ROOT / "include" / folder).rglob("*")
        if file.is_file()
    } - {"include/lakes/shop.yaml"}  # another lake than the one that the settings name
    assert len(modules) > 100
    assert len(files) > 25
    assert names == modules | files
    assert not [file for file in (PROJECT_ROOT / "spark_jobs").rglob("*") if file.suffix not in (".py", ".pyc", "")]


def test_a_process_with_the_zip_alone_reads_nothing_of_the_project(tmp_path: Path) -> None:
    archive = build_library_zip(tmp_path / "spark_jobs.zip", Settings())
    (tmp_path / "empty").mkdir()
    line = [sys.executable, "-c", READ_ALL]
    variables = {"PYTHONPATH": str(archive), "LAKEHOUSE_BASE_PATH": "/l", "LAKEHOUSE_LANDING_PATH": "/x"}
    told = subprocess.run(line, cwd=tmp_path / "empty", env=variables, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    said, spec = json.loads(told.stdout), json.loads(told.stdout)["facts"]
    assert said["library"] == str(archive)
    assert min(spec) > 0
    environment = Path(sys.prefix).resolve()
    project = [Path(path).resolve() for path in said["opened"] if Path(path).is_absolute()]
    assert [
        path for path in project if path.is_relative_to(PROJECT_ROOT) and not path.is_relative_to(environment)
    ] == []


def test_the_zip_has_no_default_for_where_the_lake_is(tmp_path: Path) -> None:
    archive = build_library_zip(tmp_path / "spark_jobs.zip", Settings())
    line = [sys.executable, "-m", "spark_jobs.entrypoint", "ingest"]
    told = subprocess.run(line, cwd=tmp_path, env={"PYTHONPATH": str(archive)}, capture_output=True, text=True)
    assert (told.returncode, told.stderr.strip()) == (
        2,
        "error: LAKEHOUSE_BASE_PATH is not set, and the zip has no default for it; set it",
    )


def test_another_lake_lies_where_the_defaults_look(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "one.sql").write_text("SELECT 1")
    (tmp_path / "other.yaml").write_text("lake: other\nmarts: mine\n")
    settings = Settings(lake_spec=str(tmp_path / "other.yaml"))
    with zipfile.ZipFile(build_library_zip(tmp_path / "z.zip", settings)) as packed:
        assert packed.read("include/lakes/sales.yaml").startswith(b"lake: other")
        assert packed.read("include/lakes/mine/one.sql") == b"SELECT 1"
        assert "include/rules/v1.yaml" in packed.namelist()
    (tmp_path / "other.yaml").write_text("lake: other\nmarts: ../../mine\n")
    with pytest.raises(SettingsError, match=r"marts '../../mine' is too far away to be sent along"):
        build_library_zip(tmp_path / "z.zip", settings)


def test_variables_of_a_driver_elsewhere_are_those_that_were_set_and_no_secret() -> None:
    given = {
        "LAKEHOUSE_BASE_PATH": "s3a://b/lake",
        "LAKEHOUSE_LANDING_PATH": "s3a://b/landing",
        "LAKEHOUSE_SERVING_URL": "mysql://canary",
        "LAKEHOUSE_RULES_PATH": "/rules",
        "LAKEHOUSE_DRIVER_MEMORY": "8g",
        "LAKEHOUSE_CATALOG": "glue",
        "AWS_ENDPOINT_URL": "http://s3",
        "AWS_ACCESS_KEY_ID": "canary",
        "HOME": "/h",
    }
    assert remote_environment(given) == {
        "LAKEHOUSE_BASE_PATH": "s3a://b/lake",
        "LAKEHOUSE_LANDING_PATH": "s3a://b/landing",
        "LAKEHOUSE_CATALOG": "glue",
        "AWS_ENDPOINT_URL": "http://s3",
        "TZ": "UTC",
        "PYTHONUNBUFFERED": "1",
    }
