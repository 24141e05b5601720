"""What is sent to a driver elsewhere is all that it needs: the zip is read in folders that have nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from dataclasses import fields
from pathlib import Path

import pytest

from lakehouse_provider.launch.library import build_library_zip, remote_environment
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.lakes import lake_environment
from spark_jobs.contracts.secrets import find_secrets
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.job_options.registry import JOBS, LOCAL_JOBS

AT_RUN_TIME = ("lakes", "marts", "expectations", "rules", "reports", "sql")
READ_ALL = """
import json, sys
opened = []
sys.addaudithook(lambda event, given: opened.append(str(given[0])) if event == "open" else None)
from spark_jobs.spec_files.rules_file import load_rules
from spark_jobs.contracts.secrets import find_secrets
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.job_options.registry import JOBS, LOCAL_JOBS
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.spec_files.views import load_views
from pathlib import Path
settings = Settings.from_environment()
spec = load_lake_spec(settings.lake_spec)
facts = [len(spec.tables), len(spec.marts), len(load_rules(settings.rules_path).versions)]
facts.append(len(load_views(Path(settings.views_path))))
import spark_jobs.entrypoint
spark_jobs.entrypoint.build_parser()
print(json.dumps({"library": str(PROJECT_ROOT), "facts": facts, "opened": opened}))
"""
LOAD_ALL = """
from spark_jobs.entrypoint import load_job
from spark_jobs.job_options.registry import installed_jobs
for job in installed_jobs():
    load_job(job)
    print(job)
"""


def test_the_zip_is_the_same_every_time(tmp_path: Path) -> None:
    first, second = (build_library_zip(tmp_path / name, Settings()) for name in ("1.zip", "2.zip"))
    assert first.read_bytes() == second.read_bytes()


def test_the_zip_holds_every_module_and_every_file_of_the_lake(tmp_path: Path) -> None:
    names = set(zipfile.ZipFile(build_library_zip(tmp_path / "z.zip", Settings())).namelist())
    local = [PROJECT_ROOT / "spark_jobs" / package for package in (*LOCAL_JOBS.values(), "command")]
    modules = {
        str(file.relative_to(PROJECT_ROOT))
        for file in (PROJECT_ROOT / "spark_jobs").rglob("*.py")
        if file.stem not in LOCAL_JOBS and not any(file.is_relative_to(folder) for folder in local)
    }
    files = {
        str(file.relative_to(PROJECT_ROOT))
        for folder in AT_RUN_TIME
        for file in (PROJECT_ROOT / "include" / folder).rglob("*")
        if file.is_file()
    } - {"include/lakes/shop.yaml", "include/lakes/company.yaml"}  # other lakes than the one that the settings name
    assert len(modules) > 100
    assert len(files) > 25
    assert names == modules | files
    assert not [file for file in (PROJECT_ROOT / "spark_jobs").rglob("*") if file.suffix not in (".py", ".pyc", "")]


def test_every_job_of_the_zip_needs_nothing_that_is_left_out(tmp_path: Path) -> None:
    archive = build_library_zip(tmp_path / "spark_jobs.zip", Settings())
    line = [sys.executable, "-c", LOAD_ALL]
    done = subprocess.run(line, cwd=tmp_path, env={"PYTHONPATH": str(archive)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [job for job in JOBS if job not in LOCAL_JOBS]


def test_a_process_with_the_zip_alone_reads_nothing_of_the_project(tmp_path: Path) -> None:
    archive = build_library_zip(tmp_path / "spark_jobs.zip", Settings())
    (tmp_path / "empty").mkdir()
    line = [sys.executable, "-c", READ_ALL]
    variables = {"PYTHONPATH": str(archive), "LAKEHOUSE_BASE_PATH": "/l", "LAKEHOUSE_LANDING_PATH": "/x"}
    done = subprocess.run(line, cwd=tmp_path / "empty", env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report, spec = json.loads(done.stdout), json.loads(done.stdout)["facts"]
    assert report["library"] == str(archive)
    assert min(spec) > 0
    environment = Path(sys.prefix).resolve()
    project = [Path(path).resolve() for path in report["opened"] if Path(path).is_absolute()]
    assert [
        path for path in project if path.is_relative_to(PROJECT_ROOT) and not path.is_relative_to(environment)
    ] == []


def test_the_zip_has_no_default_for_where_the_lake_is(tmp_path: Path) -> None:
    archive = build_library_zip(tmp_path / "spark_jobs.zip", Settings())
    line = [sys.executable, "-m", "spark_jobs.entrypoint", "ingest"]
    done = subprocess.run(line, cwd=tmp_path, env={"PYTHONPATH": str(archive)}, capture_output=True, text=True)
    assert (done.returncode, done.stderr.strip()) == (
        2,
        "error: LAKEHOUSE_BASE_PATH is not set, and outside the project's folder it has no default; set it",
    )


def test_another_lake_is_put_where_the_defaults_look(tmp_path: Path) -> None:
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
        "AIRFLOW_CTX_DAG_ID": "split_sales",
        "AIRFLOW_CTX_DAG_RUN_ID": "manual__1",
        "AIRFLOW_CTX_TASK_ID": "split",
        "AIRFLOW_CTX_DAG_OWNER": "canary",
    }
    assert remote_environment(given) == {
        "AIRFLOW_CTX_DAG_ID": "split_sales",
        "AIRFLOW_CTX_DAG_RUN_ID": "manual__1",
        "AIRFLOW_CTX_TASK_ID": "split",
        "LAKEHOUSE_BASE_PATH": "s3a://b/lake",
        "LAKEHOUSE_LANDING_PATH": "s3a://b/landing",
        "LAKEHOUSE_CATALOG": "glue",
        "AWS_ENDPOINT_URL": "http://s3",
        "TZ": "UTC",
        "PYTHONUNBUFFERED": "1",
    }


@pytest.mark.parametrize("lake", ["sales", "shop"])
def test_a_driver_elsewhere_is_sent_the_settings_and_the_files_of_its_lake(tmp_path: Path, lake: str) -> None:
    """And nothing of another one; in the zip the lake is where every lake is looked for."""
    folder = PROJECT_ROOT / "include" / "lakes"
    given = {
        "LAKEHOUSE_LAKES": str(folder),
        "LAKEHOUSE_BASE_PATH": "s3a://b",
        "LAKEHOUSE_LANDING_PATH": "s3a://l",
        "LAKEHOUSE_MAX_EVENTS__SHOP": "7",
        "LAKEHOUSE_CATALOG_DATABASE": "erp",
    }
    environment = lake_environment(given, lake)
    own = {"sales": {"LAKEHOUSE_CATALOG_DATABASE": "erp"}, "shop": {"LAKEHOUSE_MAX_EVENTS": "7"}}[lake]
    places = {"LAKEHOUSE_BASE_PATH": f"s3a://b/{lake}", "LAKEHOUSE_LANDING_PATH": f"s3a://l/{lake}"}
    assert remote_environment(environment) == {**own, **places, "TZ": "UTC", "PYTHONUNBUFFERED": "1"}
    built = build_library_zip(tmp_path / "library.zip", Settings.from_environment(environment))
    with zipfile.ZipFile(built) as archive:
        specs = [name for name in archive.namelist() if name.startswith("include/lakes/")]
        assert {name: archive.read(name) for name in specs} == {
            "include/lakes/sales.yaml": (folder / f"{lake}.yaml").read_bytes()
        }


HERE = {"spark_remote", "spark_master", "jars_path", "driver_memory"}
"""Of this machine alone."""
SHIPPED = {"lake_spec", "views_path", "checks_path", "reports_path", "rules_path"}
"""Files in the zip, where the defaults look."""
SECRET = {"serving_url", "jdbc_url", "jdbc_password", "kafka_properties", "spark_remote"}
VALUES = {
    "spark_remote": "sc://canary:1",
    "driver_memory": "8g",
    "lock_servers": "canary:2181",
    "kafka_servers": "canary:9092",
    "s3_encryption": "AES256",
    "catalog": "thrift://canary:9083",
    "catalog_database": "canary_db",
    "athena_results": "s3://canary/",
}
"""Where not every text will do."""


def test_every_setting_reaches_a_driver_elsewhere_but_secrets_and_what_is_of_this_machine() -> None:
    given = {
        field.name: VALUES.get(field.name) or ("77" if isinstance(field.default, int) else f"s3a://canary/{field.name}")
        for field in fields(Settings)
    }
    given["athena_workgroup"] = "canary"
    variables = {f"LAKEHOUSE_{name.upper()}": value for name, value in given.items()}
    sent = remote_environment({**variables, "AWS_SECRET_ACCESS_KEY": "canary", "AWS_SESSION_TOKEN": "canary"})
    expected = {name: value for name, value in given.items() if name not in HERE | SHIPPED | SECRET}
    assert sent == {f"LAKEHOUSE_{name.upper()}": value for name, value in expected.items()} | {
        "TZ": "UTC", "PYTHONUNBUFFERED": "1"
    }  # fmt: skip


def test_no_setting_that_can_hold_a_secret_is_ever_shown() -> None:
    """By their names, and by what is looked for in messages."""
    word = re.compile("url|remote|password|secret|token|properties|credential|key$")
    named = {field.name for field in fields(Settings) if word.search(field.name)} - {"s3_kms_key"}
    assert named == SECRET
    assert {field.name for field in fields(Settings) if not field.repr} == SECRET
    for name in SECRET:
        secret = {
            "serving_url": f"mysql://u:{'canary-word'}@h/d",
            "jdbc_url": "jdbc:mysql://h/d?password=canary-word",
            "kafka_properties": '{"sasl.password": "canary-word"}',
            "spark_remote": "sc://h:1/;token=canary-word",
        }.get(name, "canary-word")
        assert "canary-word" in find_secrets({f"LAKEHOUSE_{name.upper()}": secret}), name
        assert "canary-word" not in repr(Settings.from_environment({f"LAKEHOUSE_{name.upper()}": secret})), name


def test_a_driver_elsewhere_gets_the_place_of_the_lake_also_by_default() -> None:
    """Its own defaults would be folders of another machine."""
    sent = remote_environment({})
    settings = Settings()
    assert sent == {
        "LAKEHOUSE_BASE_PATH": settings.base_path,
        "LAKEHOUSE_LANDING_PATH": settings.landing_path,
        "TZ": "UTC",
        "PYTHONUNBUFFERED": "1",
    }
