"""How the JVMs of tests are started: cheaply, since each works for minutes and on small tables."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from local_stack.errors import SetupError, find_reason
from local_stack.install.jars import RUN_JARS
from local_stack.install.java import find_java
from local_stack.install.scala_jar import build_scala_jar
from local_stack.servers.connect_server import spark_home
from tests.run.levels import ROOT

JARS = ROOT / ".run" / "jars"
_JVM_OPTIONS = "-XX:TieredStopAtLevel=1"
"""For every JVM that Spark's launcher starts: a test is over before the second compiler pays off; a third less work."""
_BOTH_COMPILERS = "-XX:TieredStopAtLevel=4"
"""Java's default; the last one of an option counts."""
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Settings of sessions whose queries Spark interprets: for a handful of rows generating and compiling code costs more.

The shared Spark and all processes of the campaign of faults have them. Tests that start drivers, servers or an
Airflow of their own run generated code, as in production.
"""
_UNUSED = r"(dfs|fs\.(adl|azure|ftp|swift|viewfs)|ha|hadoop\.(http|kerberos|registry|rpc|security|ssl|zk)|ipc|net|rpc)"
"""Beginnings of the names of Hadoop's defaults for its servers, for security and for stores that are not used here."""
_LOCAL_DISK = Path(__file__).with_name("LocalDisk.scala")
_LOCAL_DISK_CLASS = "lakehouse.tests.LocalDisk"
"""Hadoop's local file system without a `chmod` process for each file: a warm test takes about a tenth less."""
_ARCHIVED = Path(__file__).with_name("archived.py")
_SILENT = "-Xlog:cds=off -Xlog:cds+dynamic=off"
"""A JVM whose class path is another one works without the archive, and would say so in its output."""


def jvm_environment(environ: Mapping[str, str], *, on_cluster: bool = False) -> dict[str, str]:
    """``environ`` with the variables that Spark's launcher reads.

    ``on_cluster``: the tests start a cluster, whose processes need YARN's defaults and do not have the class of the
    local disk. SetupError when that class cannot be compiled, or the archive of classes not be made.
    """
    if on_cluster:
        return {**environ, "SPARK_SUBMIT_OPTS": _options(environ, _JVM_OPTIONS)}
    variables = _local_environment(environ)
    archive = build_class_archive(variables)
    return {**variables, "SPARK_SUBMIT_OPTS": _options(variables, f"-XX:SharedArchiveFile={archive}", _SILENT)}


def shared_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """``environ`` for the JVM that all tests of a run share.

    It works for longer than a test: the second compiler pays off after five minutes. Queries are interpreted.
    """
    switches = [f"-D{name}={value}" for name, value in INTERPRETED.items()]
    return {**environ, "SPARK_SUBMIT_OPTS": _options(environ, _BOTH_COMPILERS, *switches)}


def _local_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The same class path for all JVMs, since an archive of classes is good for one class path and what begins with it.

    Java refuses one with folders in it, so Hadoop's files are in a jar, and before Hadoop's own.
    """
    options = [
        _JVM_OPTIONS,
        f"-Dspark.hadoop.fs.file.impl={_LOCAL_DISK_CLASS}",
        f"-Xbootclasspath/a:{_build_hadoop_defaults()}",
    ]
    libraries = [*sorted(RUN_JARS.folder.glob("*.jar")), build_local_disk()]
    return {
        **environ,
        "SPARK_HOME": str(spark_home().resolve()),
        "SPARK_DIST_CLASSPATH": ":".join(str(jar.resolve()) for jar in libraries),
        "SPARK_SUBMIT_OPTS": _options(environ, *options),
    }


def _options(environ: Mapping[str, str], *more: str) -> str:
    return " ".join([environ.get("SPARK_SUBMIT_OPTS", ""), *more]).strip()


def _build_hadoop_defaults() -> Path:
    """The jar that takes the place of Hadoop's thousand defaults, made in ``JARS`` when it is not there.

    Hudi puts the whole configuration into every Spark task, so a warm test takes 5 to 8 % less without those of HDFS,
    MapReduce and YARN, and 2 to 3 % less without those of ``_UNUSED``; the code that reads one knows its default too.
    """
    (client,) = (spark_home() / "jars").glob("hadoop-client-api-*.jar")
    with zipfile.ZipFile(client) as archive:
        core = archive.read("core-default.xml").decode()
    core = re.sub(rf"<property>\s*<name>\s*{_UNUSED}\..*?</property>", "", core, flags=re.DOTALL)
    files = dict.fromkeys(("hdfs-default.xml", "mapred-default.xml", "yarn-default.xml"), "<configuration/>\n")
    files["core-default.xml"] = core
    jar = JARS / f"hadoop-{hashlib.sha256(repr(files).encode()).hexdigest()[:16]}.jar"
    if not jar.exists():
        JARS.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=JARS) as work:
            with zipfile.ZipFile(Path(work) / jar.name, "w") as made:
                for name, content in files.items():
                    made.writestr(name, content)
            os.replace(Path(work) / jar.name, jar)
    return jar


def build_class_archive(environ: Mapping[str, str]) -> str:
    """The archives of the classes that jobs load, as a JVM's option names them; made when not there; SetupError.

    The first has what every JVM loads: some Javas come without one. The second is on top of it, made by `archived.py`.
    A JVM that starts with them has a session and a first batch after 17 processor seconds instead of 25.
    """
    java = find_java()
    jars = sorted(Path(environ["SPARK_HOME"], "jars").glob("*.jar"))
    jars += map(Path, environ["SPARK_DIST_CLASSPATH"].split(":"))
    # Java refuses an archive when a jar was written since; one that was installed again has the same name.
    written = [(str(jar), jar.stat().st_size, jar.stat().st_mtime_ns) for jar in jars]
    made_of = (java.version, java.home, environ["SPARK_SUBMIT_OPTS"], _ARCHIVED.read_text(encoding="utf-8"), written)
    folder = JARS / f"classes-{hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]}"
    if not folder.exists():
        print("making the archive of Java classes that the tests with Spark start with: about a minute", flush=True)
        with tempfile.TemporaryDirectory(dir=JARS) as work:
            made = _dump_classes(Path(work), environ, java.home)
            try:
                made.rename(folder)
            except OSError:
                if not folder.exists():  # another run was not faster either
                    raise
    return f"{folder / 'java.jsa'}:{folder / 'jobs.jsa'}"


def _dump_classes(work: Path, environ: Mapping[str, str], java_home: Path) -> Path:
    """A folder with both archives."""
    made = work / "archives"
    made.mkdir()
    java, jobs = made / "java.jsa", made / "jobs.jsa"
    _dump([str(java_home / "bin" / "java"), "-Xshare:dump", f"-XX:SharedArchiveFile={java}"], environ, java)
    options = _options(environ, f"-XX:SharedArchiveFile={java}", f"-XX:ArchiveClassesAtExit={jobs}", _SILENT)
    variables = {**environ, "SPARK_SUBMIT_OPTS": options, "JAVA_HOME": str(java_home)}
    _dump([sys.executable, "-m", "tests.run.archived", str(work)], variables, jobs)
    return made


def _dump(command: Sequence[str], environ: Mapping[str, str], made: Path) -> None:
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
    if done.returncode or not made.exists():
        reason = find_reason(done.stderr + done.stdout)
        raise SetupError(f"the archive of Java classes cannot be made ({reason}); is this Java complete?")


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
