"""A standalone cluster that shares a secret: a driver that knows it gets executors, another one none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_stack.install.java import find_java
from local_stack.install.secrets_folder import make_secrets
from local_stack.servers.cluster import start_cluster
from local_stack.servers.connect_server import PROPERTIES_VARIABLE, spark_home
from local_stack.servers.services import RunFolder

pytestmark = [pytest.mark.services, pytest.mark.timeout(600), pytest.mark.slice(name="clusters")]

DRIVER = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print("sum", spark.sparkContext.parallelize(range(10), 2).sum())
"""


def submit(master: str, driver: Path, *options: str) -> subprocess.CompletedProcess[str]:
    home = spark_home()
    environ = {**os.environ, "JAVA_HOME": str(find_java(os.environ).home), "SPARK_HOME": str(home)}
    environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    line = [str(home / "bin" / "spark-submit"), "--master", master, *options, str(driver)]
    return subprocess.run(line, env=environ, capture_output=True, text=True, timeout=300)


def test_only_a_driver_with_the_secret_gets_executors(tmp_path: Path) -> None:
    make_secrets(tmp_path / "secrets")
    file = str(tmp_path / "secrets" / "spark.properties")
    driver, folder = tmp_path / "driver.py", RunFolder(tmp_path / "run")
    driver.write_text(DRIVER, encoding="utf-8")
    with folder.stopping():
        master = start_cluster(folder, workers=1, environ={**os.environ, PROPERTIES_VARIABLE: file})
        known = submit(master, driver, "--properties-file", file)
        assert (known.returncode, known.stdout) == (0, "sum 45\n"), known.stderr[-2000:]
        stranger = submit(master, driver)
        assert stranger.returncode != 0
        assert "sum 45" not in stranger.stdout  # Python's traceback is there, with the line
