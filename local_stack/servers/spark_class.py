"""Servers whose programs come with PySpark's jars: started by their main class, without Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from local_stack.install.java import find_java
from local_stack.servers.connect_server import spark_home
from local_stack.servers.services import Program


def build_spark_class(
    name: str,
    command: Sequence[str],
    *,
    cwd: Path,
    port: int,
    options: Sequence[str] = (),
    jars: Sequence[str] = (),
    goes_first: Sequence[str] = (),
    environ: Mapping[str, str] = os.environ,
) -> Program:
    """The program ``command``, a main class and its arguments, with Java ``options`` and ``jars`` beside PySpark's.

    What is in ``goes_first`` is looked up before them.
    """
    path = ":".join([*goes_first, *(str(jar) for jar in sorted((spark_home() / "jars").glob("*.jar"))), *jars])
    java = str(find_java(environ).home / "bin" / "java")
    return Program(name=name, command=[java, *options, "-cp", path, *command], environment=environ, port=port, cwd=cwd)
