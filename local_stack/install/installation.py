"""Set up this machine: the Python environment, Java and the jars; a second run only checks them."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import time
from collections.abc import Sequence

from local_stack.console import say
from local_stack.install.command_script import write_command
from local_stack.install.environment import is_environment_ready, prepare_environment
from local_stack.install.folder_lock import one_at_a_time
from local_stack.install.jars import (
    BENCH_JARS,
    RUN_JARS,
    YARN_JARS,
    JarSet,
    check_jars,
    jar_name,
    move_jars,
    write_lock,
    wrong_jars,
)
from local_stack.install.java import find_java
from local_stack.install.kafka_jars import KAFKA_JARS
from local_stack.install.resolver import fetch_archive, resolve
from local_stack.layout import IVY, PROJECT_ROOT, VENV, VENV_PYTHON


def run(argv: list[str]) -> int:
    """Make what is missing and say so; 0 when all is there."""
    options = _parser().parse_args(argv)
    jar_sets = (RUN_JARS, BENCH_JARS) if options.bench or options.lock_jars else (RUN_JARS,)
    if options.lock_jars:
        every = (*jar_sets, YARN_JARS, KAFKA_JARS)
        _fetch(every, is_locked=False)
        write_lock(every)
        return 0
    if options.jars_only:
        _fetch([jar_set for jar_set in jar_sets if wrong_jars(jar_set)])
        return 0
    with one_at_a_time(PROJECT_ROOT):
        return _prepare(jar_sets)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m local_stack setup", description=__doc__)
    parser.add_argument("--bench", action="store_true", help="fetch the jars of the benchmark's other engines as well")
    parser.add_argument("--jars-only", action="store_true", help="fetch jars with this Python, which has the packages")
    parser.add_argument("--lock-jars", action="store_true", help="fetch all jars again and rewrite jars.lock")
    return parser


def _prepare(jar_sets: Sequence[JarSet]) -> int:
    """The whole of set-up. The new environment's Python fetches the jars: it has Spark, and Java if need be."""
    started, has_worked = time.monotonic(), False
    if not is_environment_ready():
        prepare_environment()
        has_worked = True
    has_worked |= write_command()
    if any(wrong_jars(jar_set) for jar_set in jar_sets):
        flags = ["--jars-only", *(["--bench"] if BENCH_JARS in jar_sets else [])]
        code = subprocess.run([str(VENV_PYTHON), "-m", "local_stack", "setup", *flags], cwd=PROJECT_ROOT).returncode
        if code:
            return code
        has_worked = True
    java = find_java()
    count = sum(len(jar_set.file_names) for jar_set in jar_sets)
    took = f"done in {time.monotonic() - started:.0f} s" if has_worked else "nothing to do"
    say(f"setup: {took}; {VENV.name}/, {count} jars, Java {java.version} from {java.origin} ({java.home})")
    return 0


def fetch_when_wrong(jar_set: JarSet) -> None:
    """Have these jars, as they are locked; DownloadError when they cannot be had."""
    with one_at_a_time(PROJECT_ROOT):
        if wrong_jars(jar_set):
            _fetch([jar_set])


def _fetch(jar_sets: Sequence[JarSet], *, is_locked: bool = True) -> None:
    """Resolve, check and move one set after the other; the resolver's folder goes when all went well."""
    java = find_java()
    for jar_set in jar_sets:
        say(f"setup: fetching {len(jar_set.file_names)} jars to {jar_set.folder.name}/ with Java from {java.origin}")
        resolved = resolve(jar_set, java=java, ivy=IVY)
        for coordinate in jar_set.apart:
            fetched = fetch_archive(f"{coordinate}:jar", into=IVY / "apart", java=java)
            fetched.rename(resolved / jar_name(coordinate))
        if is_locked:
            check_jars(jar_set, folder=resolved)
        move_jars(resolved, jar_set)
    shutil.rmtree(IVY, ignore_errors=True)
