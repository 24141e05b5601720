"""Connections become commands: pure, so no engine is needed."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lakehouse_provider.launch.engines import build_job_command
from lakehouse_provider.launch.job_command import JobCommand
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from tests.support.connections import Facts


@pytest.fixture
def jars(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "jars"
    folder.mkdir()
    for name in ("hudi.jar", "a.jar", "note.txt"):
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
    assert command.environment["PYTHONPATH"] == f"{PROJECT_ROOT}:{PROJECT_ROOT / 'plugins'}:/x"
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
    assert [Path(jar).name for jar in options["--jars"].split(",")] == ["a.jar", "hudi.jar"]
    assert zipfile.is_zipfile(options["--py-files"])
    assert "spark.x=1" in line
    assert line[-4:] == [str(PROJECT_ROOT / "spark_jobs" / "entrypoint.py"), "ingest", "--clock", "T"]
    assert "LAKEHOUSE_SPARK_REMOTE" not in command.environment
    assert command.environment["LAKEHOUSE_SPARK_MASTER"] == "spark://m:7077"
    assert command.afterwards == ()


def test_a_secret_of_sparks_goes_by_a_file_of_its_owner_behind_the_machines_defaults(
    tmp_path: Path, jars: dict[str, str]
) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.eventLog.enabled true", encoding="utf-8")
    conf = {"spark.x": "1", "spark.hadoop.fs.s3a.secret.key": "a\\x41 #=\u20ac", "spark.authenticate.secret": "canary"}
    facts = Facts("spark", host="local[1]", extra_dejson={"conf": conf})
    command = build(facts, tmp_path, {**jars, "SPARK_CONF_DIR": str(tmp_path)})
    line = list(command.arguments)
    file = Path(line[line.index("--properties-file") + 1])
    assert not [word for word in line if "canary" in word or "secret.key" in word]
    assert "spark.x=1" in line
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text(encoding="utf-8").splitlines() == [
        "spark.eventLog.enabled true",
        "spark.authenticate.secret canary",
        r"spark.hadoop.fs.s3a.secret.key a\u005cx41\u0020\u0023\u003d\u20ac",
    ]


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        (Facts("http"), "type 'http'; make it 'spark_connect' or 'spark'"),
        (Facts("spark_connect", host=None), "names no host"),
        (Facts("spark", host=""), "names no host"),
        (Facts("spark_connect", extra_dejson={"engine": "yarn"}), "engine is for type 'spark'"),
        (Facts("spark", extra_dejson={"engine": "flink"}), "there is no engine 'flink'; known are standalone, yarn"),
        (Facts("spark", extra_dejson={"deploy-mode": "remote"}), "'remote' is neither client nor cluster"),
        (Facts("spark", host="local[2]", extra_dejson={"deploy-mode": "cluster"}), "is for yarn and kubernetes"),
        (Facts("spark", host="spark://m:1", extra_dejson={"deploy-mode": "cluster"}), "on a standalone master"),
        (
            Facts("spark", host="yarn", extra_dejson={"deploy-mode": "cluster", "results": "x"}),
            "no absolute path or URI",
        ),
    ],
)
def test_a_connection_that_cannot_work_is_refused(
    tmp_path: Path, jars: dict[str, str], facts: Facts, sentence: str
) -> None:
    with pytest.raises(SettingsError, match=sentence):
        build(facts, tmp_path, jars)


@pytest.mark.parametrize("job", ["generate", "sizing"])
def test_what_is_not_in_the_zip_is_refused_unless_it_runs_here(tmp_path: Path, jars: dict[str, str], job: str) -> None:
    line = (job, "--clock=2026-01-01T00:00:00Z")
    with pytest.raises(SettingsError, match=f"{job} is not sent to a cluster; run it where the project is"):
        build_job_command(Facts("spark", host="yarn"), line, environment=jars, work_path=tmp_path)
    here = build_job_command(Facts("spark_connect", host="h"), line, environment=jars, work_path=tmp_path)
    assert here.arguments[-2:] == line


def test_spark_submit_without_jars_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no Hudi jar in .*; run: make setup"):
        build(Facts("spark", host="local[1]"), tmp_path, {"LAKEHOUSE_JARS_PATH": str(tmp_path)})


def test_without_pyspark_here_the_connection_has_to_name_a_spark_submit(
    tmp_path: Path, jars: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(SettingsError, match="pyspark is not installed beside Airflow; install it, or name spark-b"):
        build(Facts("spark", host="local[1]"), tmp_path, jars)
    named = Facts("spark", host="local[1]", extra_dejson={"spark-binary": "/opt/spark/bin/spark-submit"})
    assert build(named, tmp_path, jars).arguments[0] == "/opt/spark/bin/spark-submit"


CLUSTER = {"deploy-mode": "cluster", "results": "s3a://bucket/results/"}
SECRET_URL = {"LAKEHOUSE_SERVING_URL": "mysql://canary@db/live"}


def on_cluster(facts: Facts, tmp_path: Path, environment: dict[str, str], **more: Any) -> tuple[JobCommand, list[str]]:
    """The command, and the line of spark-submit within it."""
    command = build_job_command(
        facts, ["ingest", "--clock", "T"], environment=environment, work_path=tmp_path, attempt="a1", **more
    )
    line = list(command.arguments)
    return command, line[line.index("--") + 1 :]


def conf_of(line: list[str]) -> dict[str, str]:
    return dict(line[at + 1].split("=", 1) for at, word in enumerate(line) if word == "--conf")


def test_a_driver_on_yarn_gets_everything_by_its_command_line(tmp_path: Path, jars: dict[str, str]) -> None:
    environment = {
        **jars,
        "LAKEHOUSE_BASE_PATH": "s3a://b/lake",
        "AWS_REGION": "eu-west-1",
        "AWS_SESSION_TOKEN": "canary",
    }
    facts = Facts("spark", host="yarn", extra_dejson={**CLUSTER, "conf": {"spark.yarn.tags": "mine"}})
    command, line = on_cluster(facts, tmp_path, {**environment, **SECRET_URL, "LAKEHOUSE_MAX_EVENTS": "9"})
    conf, variable = conf_of(line), "spark.yarn.appMasterEnv."
    assert line[-5:] == ["--result-path", "s3a://bucket/results/a1.json", "ingest", "--clock", "T"]
    assert conf["spark.yarn.tags"] == "mine,lakehouse-a1"
    assert conf["spark.yarn.submit.waitAppCompletion"] == "true"
    assert conf[f"{variable}LAKEHOUSE_BASE_PATH"] == "s3a://b/lake"
    assert conf[f"{variable}LAKEHOUSE_MAX_EVENTS"] == "9"
    assert conf[f"{variable}AWS_REGION"] == conf["spark.executorEnv.AWS_REGION"] == "eu-west-1"
    assert {f"{variable}LAKEHOUSE_{name}" for name in ("LAKE_SPEC", "JARS_PATH", "SPARK_MASTER")}.isdisjoint(conf)
    assert "canary" not in " ".join((*command.arguments, *command.afterwards))
    assert command.afterwards[3:] == ("kill", *command.arguments[6:10])
    assert command.afterwards[-2:] == ("--tag", "lakehouse-a1")


def test_a_pod_has_the_name_by_which_it_is_killed(tmp_path: Path, jars: dict[str, str]) -> None:
    extra = {**CLUSTER, "engine": "kubernetes", "conf": {"spark.kubernetes.namespace": "lake"}, "jars": "provided"}
    command, line = on_cluster(Facts("spark", host="k8s://https://api", port=443, extra_dejson=extra), tmp_path, jars)
    conf = conf_of(line)
    assert conf["spark.kubernetes.driver.pod.name"] == "lakehouse-a1"
    assert conf["spark.kubernetes.driverEnv.TZ"] == "UTC"
    assert conf["spark.dynamicAllocation.shuffleTracking.enabled"] == "true"
    assert conf["spark.kubernetes.driverEnv.LAKEHOUSE_SHUFFLE_PARTITIONS"] == conf["spark.sql.shuffle.partitions"]
    assert "--jars" not in line
    assert command.afterwards[4:8] == ("--pod", "lake:lakehouse-a1", "--master", "k8s://https://api:443")


def test_a_python_that_goes_along_is_used_by_executors_and_by_a_driver_there(
    tmp_path: Path, jars: dict[str, str]
) -> None:
    archive = {"python_archive": "s3a://b/python.tar.gz"}
    _, line = on_cluster(Facts("spark", host="yarn", extra_dejson={**CLUSTER, **archive}), tmp_path, jars)
    assert conf_of(line)["spark.archives"] == "s3a://b/python.tar.gz#environment"
    assert conf_of(line)["spark.pyspark.python"] == "./environment/bin/python"
    here = conf_of(list(build(Facts("spark", host="yarn", extra_dejson=archive), tmp_path, jars).arguments))
    assert here["spark.pyspark.python"] == "./environment/bin/python"
    assert here["spark.pyspark.driver.python"] == sys.executable


def test_a_secret_stays_on_this_machine(tmp_path: Path, jars: dict[str, str]) -> None:
    facts = Facts("spark", host="yarn", extra_dejson=dict(CLUSTER))
    with pytest.raises(SettingsError, match="needs LAKEHOUSE_SERVING_URL, and a driver elsewhere is sent no secrets"):
        on_cluster(facts, tmp_path, jars, secrets=SECRET_URL)
    facts.extra_dejson["conf"] = {"spark.kubernetes.driver.secretKeyRef.LAKEHOUSE_SERVING_URL": "lakehouse:url"}
    command, _ = on_cluster(facts, tmp_path, jars, secrets=SECRET_URL)
    assert "canary" not in " ".join(command.arguments)
    here = build_job_command(
        Facts("spark", host="local[1]"), ["serve"], environment=jars, work_path=tmp_path, secrets=SECRET_URL
    )
    assert here.environment["LAKEHOUSE_SERVING_URL"] == SECRET_URL["LAKEHOUSE_SERVING_URL"]


NEEDED = {f"LAKEHOUSE_JDBC_{name}": "canary" for name in ("URL", "USER", "PASSWORD")} | SECRET_URL


@pytest.mark.parametrize("missing", NEEDED)
def test_every_secret_that_a_driver_elsewhere_needs_has_to_be_there(
    tmp_path: Path, jars: dict[str, str], missing: str
) -> None:
    """Whichever of several variables its cluster does not set."""
    prefix = "spark.kubernetes.driver.secretKeyRef."
    conf = {f"{prefix}{name}": f"lakehouse:{name.lower()}" for name in NEEDED if name != missing}
    facts = Facts("spark", host="yarn", extra_dejson={**CLUSTER, "conf": conf})
    with pytest.raises(SettingsError, match=f"this job needs {missing}, and a driver elsewhere is sent no secrets"):
        on_cluster(facts, tmp_path, jars, secrets=NEEDED)
    facts.extra_dejson["conf"] = {**conf, f"{prefix}{missing}": "lakehouse:it"}
    command, _ = on_cluster(facts, tmp_path, jars, secrets=NEEDED)
    assert "canary" not in " ".join(command.arguments)
