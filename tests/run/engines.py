"""How the JVMs of tests are started: cheaply, since each works for minutes and on small tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from local_stack.connect_server import spark_home
from local_stack.java import find_java
from local_stack.scala_jar import build_scala_jar
from tests.run.levels import ROOT

_JVM_OPTIONS = "-XX:TieredStopAtLevel=1"
"""For every JVM that Spark's launcher starts: tests are over before the second compiler pays off; a third less work."""
_HADOOP_DEFAULTS = ROOT / "tests" / "run" / "hadoop"
"""Takes the place of Hadoop's 600 defaults for HDFS, MapReduce and YARN. Hudi puts the whole configuration into every
Spark task, so without them a warm test takes 5 to 8 % less."""
_LOCAL_DISK = Path(__file__).with_name("LocalDisk.scala")
_LOCAL_DISK_CLASS = "lakehouse.tests.LocalDisk"
"""Hadoop's local file system without a `chmod` process for each file: a warm test takes 12 % less."""


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


def build_local_disk(folder: Path = ROOT / ".run" / "jars") -> Path:
    """The jar with the class of the local disk, compiled into ``folder`` when it is not there; SetupError."""
    home = spark_home()
    return build_scala_jar(
        _LOCAL_DISK, folder, java_home=find_java().home, spark_home=home, libraries=hadoop_jars(home)
    )


def hadoop_jars(home: Path) -> list[str]:
    """Hadoop's client among the jars of the PySpark at ``home``."""
    return [str(jar) for jar in sorted((home / "jars").glob("hadoop-client-*.jar"))]
