"""Small jars of Scala, compiled once with the compiler that is among PySpark's own jars."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from local_stack.errors import SetupError

LOOPBACK_ONLY = Path(__file__).with_name("LoopbackOnly.scala")
"""Keeps other machines out of the Spark Connect server: in 3.5 it listens on every interface and trusts everybody."""
LOOPBACK_ONLY_CLASS = "lakehouse.connect.LoopbackOnly"
_COMPILE_SECONDS = 180


def build_scala_jar(source: Path, folder: Path, *, java_home: Path, spark_home: Path, libraries: Sequence[str]) -> Path:
    """Give the jar of one source file, compiled into ``folder`` when it is not there yet.

    Args:
        source: the file.
        folder: where jars are kept, by what they were made of.
        java_home: the Java to compile with.
        spark_home: the installed pyspark.
        libraries: jars that the source needs.

    Raises:
        SetupError: it does not compile.
    """
    made_of = source.read_bytes() + "".join(sorted(Path(jar).name for jar in libraries)).encode()
    jar = folder / f"{source.stem}-{hashlib.sha256(made_of).hexdigest()[:16]}.jar"
    if jar.exists():
        return jar
    folder.mkdir(parents=True, exist_ok=True)
    scala = [str(file) for file in sorted((spark_home / "jars").glob("scala-*.jar"))]
    with tempfile.TemporaryDirectory(dir=folder) as work:
        made = Path(work) / jar.name
        command = [
            *(str(java_home / "bin" / "java"), "-Xmx512m", "-cp", ":".join(scala), "scala.tools.nsc.Main"),
            *("-classpath", ":".join([*libraries, *scala]), "-d", str(made), str(source)),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILE_SECONDS)
        if done.returncode or not made.exists():
            lines = (done.stderr + done.stdout).strip().splitlines() or ["no message"]
            raise SetupError(f"{source.name} does not compile ({lines[0]}); run 'make setup' again")
        os.replace(made, jar)
    return jar
