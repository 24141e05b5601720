"""One Spark for all pytest processes of a run: its JVM warms up once, and each process has a session of its own in it.

The run starts it when the first test wants a session, and stops it when all tests have ended. Sessions share the
context and compiled code; settings, temporary views and Python objects are each process's own. A pytest that was
started by hand, without `python -m tests.run`, opens a session in a JVM of its own.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_jobs.contracts.settings import Settings
from tests.run.engines import shared_environment
from tests.run.levels import ROOT
from tests.support.processes import wait_until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = "LAKEHOUSE_TEST_SPARK"
"""The variable with the folder in which a test process requests the session and finds its address."""
LOG = "LAKEHOUSE_TEST_SPARK_LOG"
START_SECONDS = 180.0
_POLL_SECONDS = 0.1
_WANTED, _ADDRESS = "wanted", "address.json"


@contextmanager
def offering_spark(environ: Mapping[str, str], log: Path) -> Iterator[dict[str, str]]:
    """``environ`` for test processes, in which they find the shared Spark; it is started when one needs it.

    ``log``: the file that its output goes to.
    """
    ended = threading.Event()
    with tempfile.TemporaryDirectory(prefix="lakehouse-spark-") as folder:
        waiter = threading.Thread(target=_serve, args=(Path(folder), environ, log, ended))
        waiter.start()
        try:
            yield {**environ, FOLDER: folder, LOG: str(log)}
        finally:
            ended.set()
            waiter.join()


def open_test_session(driver_memory: str) -> SparkSession:
    """A session in a JVM of this process, with the settings every job has; SettingsError."""
    from spark_jobs.session import open_session

    jars = {name: value for name, value in os.environ.items() if name == "LAKEHOUSE_JARS_PATH"}
    chosen = {"LAKEHOUSE_SPARK_MASTER": "local[2]", "LAKEHOUSE_DRIVER_MEMORY": driver_memory}
    return open_session(Settings.from_environment({**jars, **chosen}), app_name="lakehouse-tests")


def is_offered() -> bool:
    """Whether this test process was started by a run with a shared Spark."""
    return FOLDER in os.environ


def attach() -> SparkSession:
    """A new session in the shared Spark; AssertionError when it does not start."""
    folder = Path(os.environ[FOLDER])
    (folder / _WANTED).touch()
    address = folder / _ADDRESS
    wait_until(address.exists, f"the tests' Spark starts (log: {os.environ[LOG]})", limit_seconds=START_SECONDS)
    return _open_session(json.loads(address.read_text(encoding="utf-8")))


def find_jvm() -> int:
    """The process id of the shared Spark's JVM; 0 when there is none."""
    try:
        return int(json.loads(Path(os.environ[FOLDER], _ADDRESS).read_text(encoding="utf-8"))["pid"])
    except (KeyError, FileNotFoundError):
        return 0


def _open_session(address: Mapping[str, Any]) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    from spark_jobs.session import prepare_session

    # It says that it closes connections when Python ends, to a stream that pytest has closed by then.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    given = {"PYSPARK_GATEWAY_PORT": str(address["port"]), "PYSPARK_GATEWAY_SECRET": address["token"]}
    os.environ.update(given)
    try:
        gateway = launch_gateway()
    finally:
        for name in given:  # a session that a test opens must not take itself for one of spark-submit
            del os.environ[name]
    first = gateway.jvm.SparkSession.getDefaultSession().get()
    java_context = gateway.jvm.JavaSparkContext.fromSparkContext(first.sparkContext())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    context = SparkContext(gateway=gateway, jsc=java_context, conf=SparkConf(_jconf=java_context.getConf()))
    if address["code"] != str(ROOT):  # UDFs of another tree's code run in processes of their own
        context.environment |= {"PYTHONPATH": str(ROOT), "LAKEHOUSE_TEST_PROCESS": f"{os.getpid()}"}
    return prepare_session(SparkSession(context, first.newSession()))


def _serve(folder: Path, environ: Mapping[str, str], log: Path, ended: threading.Event) -> None:
    while not (folder / _WANTED).exists():
        if ended.wait(_POLL_SECONDS):
            return
    command = [sys.executable, "-m", "tests.run.shared_spark", str(folder / _ADDRESS)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stderr": subprocess.STDOUT}
    # Not in the project's folder: processes of UDFs take their code from there before any other place.
    variables = {**shared_environment(environ), "PYTHONPATH": str(ROOT)}
    with log.open("ab") as output, subprocess.Popen(command, cwd=folder, env=variables, stdout=output, **pipes):
        ended.wait()  # then its standard input is closed, which ends it


def main() -> None:
    """Open a session, write to the file of the command line how to get to it, and keep it until the input ends."""
    from tests.support.own_session import close_engine

    spark = open_test_session("4g")
    gateway: Any = spark.sparkContext._gateway
    facts = {
        "port": gateway.gateway_parameters.port,
        "token": gateway.gateway_parameters.auth_token,
        "pid": gateway.proc.pid,
        "code": str(ROOT),
    }
    written = Path(sys.argv[1] + ".new")
    written.write_text(json.dumps(facts), encoding="utf-8")
    written.rename(sys.argv[1])
    with suppress(KeyboardInterrupt):  # Ctrl-C ends the tests; then the run closes the input
        sys.stdin.read()
    sys.stdin.read()
    close_engine(spark)


if __name__ == "__main__":
    main()
