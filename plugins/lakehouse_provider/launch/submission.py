"""spark-submit to a master: with the driver here (client), or with one that the cluster starts (cluster).

A driver elsewhere leaves its outcome in a file that both sides reach; :mod:`lakehouse_provider.launch.remote_driver`
waits for it. What the project needs there is in the line itself: only Python with its packages and Spark have to be
there.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from lakehouse_provider.launch.engine_conf import LaunchEngine, build_conf, engine_of
from lakehouse_provider.launch.job_command import ConnectionFacts, JobCommand, python_path
from lakehouse_provider.launch.library import (
    ENTRYPOINT,
    aws_places,
    build_library_zip,
    explicit_paths,
    remote_environment,
)
from lakehouse_provider.launch.secret_conf import split_secrets, write_properties
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.jars import find_jars
from spark_jobs.contracts.settings import PREFIX, Settings

CLIENT = "client"
CLUSTER = "cluster"
RESULTS = ".results"
"""Folder of the lake that holds outcomes for a moment, where the connection names no other place."""
PROVIDED = "provided"
_DRIVER_VARIABLES = {
    LaunchEngine.YARN: "spark.yarn.appMasterEnv.",
    LaunchEngine.KUBERNETES: "spark.kubernetes.driverEnv.",
}
_WAITS = {
    LaunchEngine.YARN: "spark.yarn.submit.waitAppCompletion",
    LaunchEngine.KUBERNETES: "spark.kubernetes.submission.waitAppCompletion",
}
_POD = "spark.kubernetes.driver.pod.name"
_NAMESPACE = "spark.kubernetes.namespace"
_TAGS = "spark.yarn.tags"
_PYTHON = "spark.pyspark.python"


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One job on its way to a master; ``attempt`` is a name that no other try of any task has."""

    connection: ConnectionFacts
    job_line: Sequence[str]
    environment: Mapping[str, str]
    work_path: Path
    attempt: str

    def command(self) -> JobCommand:
        """The line of spark-submit; SettingsError when the connection says something that cannot work."""
        return self._on_cluster() if deploy_mode(self.connection) == CLUSTER else self._here()

    def _here(self) -> JobCommand:
        environment = {**self.environment, **explicit_paths(self.environment)}
        environment["LAKEHOUSE_SPARK_MASTER"] = master_url(self.connection)
        environment.setdefault("PYSPARK_PYTHON", sys.executable)
        conf = build_conf(self.connection, self.environment)
        environment |= in_step(conf)
        if archive := self._python_archive():
            conf = {**archive, "spark.pyspark.driver.python": sys.executable, **conf}
        return JobCommand(arguments=(*self._line(CLIENT, conf), *self.job_line), environment=environment)

    def _on_cluster(self) -> JobCommand:
        engine = engine_of(self.connection)
        if engine not in _DRIVER_VARIABLES:
            raise SettingsError(
                f"connection {self.connection.conn_id}: deploy-mode cluster is for yarn and kubernetes; Spark starts "
                f"no Python driver on a standalone master, nor on {self.connection.host}: use client"
            )
        results = results_place(self.connection, self.environment, self.attempt)
        conf = {**self._python_archive(), **build_conf(self.connection, self.environment), _WAITS[engine]: "true"}
        variables = {**remote_environment(self.environment), **in_step(conf)}
        conf |= {f"{_DRIVER_VARIABLES[engine]}{name}": value for name, value in variables.items()}
        conf |= {f"spark.executorEnv.{name}": value for name, value in aws_places(self.environment).items()}
        if engine is LaunchEngine.YARN:
            tag = f"lakehouse-{self.attempt}"
            conf[_TAGS] = ",".join(filter(None, (conf.get(_TAGS), tag)))
            ending: tuple[str, ...] = ("--yarn", self._binary("spark-class"), "--tag", tag)
        else:
            conf[_POD] = f"lakehouse-{self.attempt}"
            pod = f"{conf.get(_NAMESPACE, 'default')}:{conf[_POD]}"
            ending = ("--pod", pod, "--master", master_url(self.connection), "--submit", self._binary("spark-submit"))
        waiter = (sys.executable, "-m", "lakehouse_provider.launch.remote_driver")
        line = (*self._line(CLUSTER, conf), "--result-path", results, *self.job_line)
        return JobCommand(
            arguments=(*waiter, "run", "--results", results, *ending, "--", *line),
            environment={**self.environment, "PYTHONPATH": python_path()},
            afterwards=(*waiter, "kill", *ending),
        )

    def _line(self, mode: str, conf: Mapping[str, str]) -> tuple[str, ...]:
        settings = Settings.from_environment(self.environment)
        sized = {"spark.driver.memory": settings.driver_memory, **conf}
        jars = jars_of(self.connection, settings)
        submit = self._binary("spark-submit")
        memory = sized.pop("spark.driver.memory")
        shown, secret = split_secrets(sized)
        hidden: tuple[str, ...] = ()
        if secret:
            path = self.work_path / "spark.conf"
            write_properties(secret, submit=Path(submit), environment=self.environment, path=path)
            hidden = ("--properties-file", str(path))
        return (
            submit,
            *("--master", master_url(self.connection)),
            *("--deploy-mode", mode),
            *("--name", "lakehouse"),
            *("--driver-memory", memory),
            *(("--jars", ",".join(jars)) if jars else ()),
            *("--py-files", str(build_library_zip(self.work_path / "spark_jobs.zip", settings))),
            *(part for name, value in sorted(shown.items()) for part in ("--conf", f"{name}={value}")),
            *hidden,
            str(ENTRYPOINT),
        )

    def _python_archive(self) -> dict[str, str]:
        """The Python that ``python_archive`` brings along, unpacked in each container; else none is named."""
        archive = self.connection.extra_dejson.get("python_archive")
        return {"spark.archives": f"{archive}#environment", _PYTHON: "./environment/bin/python"} if archive else {}

    def _binary(self, name: str) -> str:
        """A program of the Spark that submits: the one that the connection names, else of the installed pyspark."""
        given = self.connection.extra_dejson.get("spark-binary")
        submit = Path(str(given)) if given else _spark_submit()
        return str(submit) if name == "spark-submit" else str(submit.with_name(name))


def in_step(conf: Mapping[str, str]) -> dict[str, str]:
    """The project's own number of partitions, where Spark was given one: writes go by it too."""
    partitions = conf.get("spark.sql.shuffle.partitions")
    return {f"{PREFIX}SHUFFLE_PARTITIONS": partitions} if partitions else {}


def deploy_mode(connection: ConnectionFacts) -> str:
    """Where the driver runs: ``client``, on this machine, or ``cluster``."""
    mode = connection.extra_dejson.get("deploy-mode") or CLIENT
    if mode not in (CLIENT, CLUSTER):
        raise SettingsError(f"connection {connection.conn_id}: deploy-mode {mode!r} is neither client nor cluster")
    return str(mode)


def master_url(connection: ConnectionFacts) -> str:
    """The master for spark-submit, for example ``local[2]``, ``yarn`` or ``spark://host:7077``."""
    if not connection.host:
        raise SettingsError(
            f"connection {connection.conn_id} names no host; give the master, for example local[*] or yarn"
        )
    return f"{connection.host}:{connection.port}" if connection.port else connection.host


def results_place(connection: ConnectionFacts, environment: Mapping[str, str], attempt: str) -> str:
    """The file for the outcome of one try, in a folder that the driver and this machine reach."""
    lake = Settings.from_environment(environment).base_path.rstrip("/")
    folder = str(connection.extra_dejson.get("results") or f"{lake}/{RESULTS}").rstrip("/")
    if "://" not in folder and not folder.startswith("/"):
        raise SettingsError(f"connection {connection.conn_id}: results {folder!r} is no absolute path or URI")
    return f"{folder}/{attempt}.json"


def jars_of(connection: ConnectionFacts, settings: Settings) -> list[str]:
    """What goes along as jars: ``jars`` of the connection, else those here; none where they are provided."""
    given = connection.extra_dejson.get("jars")
    if given == PROVIDED:
        return []
    if given:
        return [str(jar).strip() for jar in (given if isinstance(given, list) else str(given).split(","))]
    return find_jars(settings)


def _spark_submit() -> Path:
    """The spark-submit inside the installed pyspark, found without importing it."""
    found = find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise SettingsError(
            "pyspark is not installed beside Airflow; install it, or name spark-binary in the connection's extra"
        )
    return Path(found.submodule_search_locations[0]) / "bin" / "spark-submit"
