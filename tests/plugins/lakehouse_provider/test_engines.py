"""Connections become commands: pure, so no engine is needed."""

from __future__ import annotations

import sys
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lakehouse_provider.engines import JobCommand, build_job_command, build_library_zip
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings


@dataclass
class Facts:
    conn_type: str
    host: str | None = "127.0.0.1"
    port: int | None = None
    login: str | None = None
    password: str | None = None
    conn_id: str = "lakehouse_spark"
    extra_dejson: dict[str, Any] = field(default_factory=dict)


@pytest.fixture
def jars(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "jars"
    folder.mkdir()
    for name in ("b.jar", "a.jar", "note.txt"):
        (folder / name).touch()
    return {"LAKEHOUSE_JARS_PATH": str(folder), "LAKEHOUSE_DRIVER_MEMORY": "1g"}


def build(facts: Facts, tmp_path: Path, environment: dict[str, str] | None = None) -> JobCommand:
    return build_job_command(facts, ["ingest", "--clock", "T"], environment=environment or {}, work_path=tmp_path)


def test_spark_connect_runs_a_client_with_the_servers_address(tmp_path: Path) -> None:
    command = build(Facts("spark_connect", port=15002), tmp_path, {"HOME": "/h", "PYTHONPATH": "/x"})
    assert command.arguments == (sys.executable, "-m", "spark_jobs.entrypoint", "ingest", "--clock", "T")
    remote = command.environment["LAKEHOUSE_SPARK_REMOTE"]
    assert remote.startswith("sc://127.0.0.1:15002/;session_id=")
    assert Settings.from_environment(command.environment).spark_remote == remote
    assert command.afterwards[:2] == (sys.executable, "-c")
    assert command.environment["PYTHONPATH"] == f"{PROJECT_ROOT}:/x"
    assert command.environment["HOME"] == "/h"


def test_every_try_has_a_session_of_its_own(tmp_path: Path) -> None:
    remotes = {build(Facts("spark_connect", port=1), tmp_path).environment["LAKEHOUSE_SPARK_REMOTE"] for _ in range(3)}
    assert len(remotes) == 3


def test_spark_connect_takes_login_token_and_ssl(tmp_path: Path) -> None:
    facts = Facts(
        "spark_connect", host="sc://spark.example/", login="me", password="a/b", extra_dejson={"use_ssl": True}
    )
    remote = build(facts, tmp_path).environment["LAKEHOUSE_SPARK_REMOTE"]
    address, _, parameters = remote.partition("/;")
    assert address == "sc://spark.example"
    assert parameters.split(";")[1:] == ["user_id=me", "token=a%2Fb", "use_ssl=true"]


def test_spark_submit_gets_master_zip_and_jars(tmp_path: Path, jars: dict[str, str]) -> None:
    facts = Facts("spark", host="spark://m", port=7077, extra_dejson={"conf": {"spark.x": "1"}})
    command = build(facts, tmp_path, {**jars, "LAKEHOUSE_SPARK_REMOTE": "sc://old:1"})
    line = list(command.arguments)
    options = dict(zip(line[1:-4:2], line[2:-4:2], strict=True))
    assert Path(line[0]).name == "spark-submit"
    assert options["--master"] == "spark://m:7077"
    assert options["--driver-memory"] == "1g"
    assert [Path(jar).name for jar in options["--jars"].split(",")] == ["a.jar", "b.jar"]
    assert zipfile.is_zipfile(options["--py-files"])
    assert "spark.x=1" in line
    assert line[-4:] == [str(PROJECT_ROOT / "spark_jobs" / "entrypoint.py"), "ingest", "--clock", "T"]
    assert "LAKEHOUSE_SPARK_REMOTE" not in command.environment
    assert command.environment["LAKEHOUSE_SPARK_MASTER"] == "spark://m:7077"
    assert command.afterwards == ()


def test_the_zip_holds_the_library_and_is_the_same_every_time(tmp_path: Path) -> None:
    first, second = (build_library_zip(tmp_path / name) for name in ("1.zip", "2.zip"))
    assert first.read_bytes() == second.read_bytes()
    names = zipfile.ZipFile(first).namelist()
    assert {"spark_jobs/__init__.py", "spark_jobs/entrypoint.py", "spark_jobs/contracts/results.py"} <= set(names)
    assert all(name.endswith(".py") for name in names)


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        (Facts("http"), "type 'http'; make it 'spark_connect' or 'spark'"),
        (Facts("spark_connect", host=None), "names no host"),
        (Facts("spark", host=""), "names no host"),
        (Facts("spark", extra_dejson={"deploy-mode": "cluster"}), "deploy-mode must be client"),
    ],
)
def test_a_connection_that_cannot_work_is_refused(
    tmp_path: Path, jars: dict[str, str], facts: Facts, sentence: str
) -> None:
    with pytest.raises(SettingsError, match=sentence):
        build(facts, tmp_path, jars)


def test_spark_submit_without_jars_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no jars in .*; run make setup"):
        build(Facts("spark", host="local[1]"), tmp_path, {"LAKEHOUSE_JARS_PATH": str(tmp_path)})
