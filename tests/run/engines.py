"""How the JVMs of tests are started: cheaply, since each works for minutes and on small tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from local_stack.connect_server import spark_home
from local_stack.java import find_java
from local_stack.scala_jar import build_scala_jar
from tests.run.levels import ROOT

JARS = ROOT / ".run" / "jars"
_JVM_OPTIONS = "-XX:TieredStopAtLevel=1"
"""For every JVM that Spark's launcher starts: tests are over before the second compiler pays off; a third less work."""
_HADOOP_DEFAULTS = ROOT / "tests" / "run" / "hadoop"
"""Takes the place of Hadoop's 600 defaults for HDFS, MapReduce and YARN. Hudi puts the whole configuration into every
Spark task, so without them a warm test takes 5 to 8 % less."""
_LOCAL_DISK = Path(__file__).with_name("LocalDisk.scala")
_LOCAL_DISK_CLASS = "lakehouse.tests.LocalDisk"
"""Hadoop's local file system without a `chmod` process for each file: a warm test takes about a tenth less."""


def jvm_environment(environ: Mapping[str, str], *, on_cluster: bool = False) -> dict[str, str]:
    """``environ`` with the variables that Spark's launcher reads.

    ``on_cluster``: the tests start a cluster, whose processes need YARN's defaults and do not have the class of the
    local disk. SetupError when that class cannot be compiled.
    """
    options = [environ.get("SPARK_SUBMIT_OPTS", ""), _JVM_OPTIONS]
    variables: dict[str, str] = {}
    if not on_cluster:
        options.append(f"-Dspark.hadoop.fs.file.impl={_LOCAL_DISK_CLASS}")
        variables["SPARK_CONF_DIR"] = str(_HADOOP_DEFAULTS)
        variables["SPARK_DIST_CLASSPATH"] = str(build_local_disk())
    return {**environ, **variables, "SPARK_SUBMIT_OPTS": " ".join(options).strip()}


def build_local_disk() -> Path:
    """The jar with the class of the local disk; SetupError."""
    return build_file_system(_LOCAL_DISK)


@cache
def build_file_system(source: Path, *libraries: Path) -> Path:
    """The jar of a file system of Hadoop, compiled into ``JARS`` when it is not there; SetupError.

    ``libraries``: jars that the source needs besides Hadoop's client.
    """
    home = spark_home()
    needed = map(str, (*libraries, *sorted((home / "jars").glob("hadoop-client-*.jar"))))
    return build_scala_jar(source, JARS, java_home=find_java().home, spark_home=home, libraries=list(needed))
