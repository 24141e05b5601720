"""The project's Python environment: ``.venv/``, made from the lock files, remade only when they change."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

from local_stack.console import say
from local_stack.errors import DownloadError, SetupError, find_reason
from local_stack.layout import PROJECT_ROOT, VENV, VENV_PYTHON

LOCKS = (PROJECT_ROOT / "requirements.txt", PROJECT_ROOT / "requirements-dev.txt")
STAMP = VENV / ".installed"


def environment_digest(place: Path | None = None) -> str:
    """What the environment was made from: interpreter, place (scripts hold absolute paths) and both locks.

    Of one at another ``place`` than the project's own.
    """
    digest = hashlib.sha256(f"{sys.version_info[:2]} {place or VENV}".encode())
    for lock in LOCKS:
        digest.update(lock.read_bytes())
    return digest.hexdigest()


def is_environment_ready() -> bool:
    """True when ``.venv/`` was made from the locks as they are now, in this place."""
    return VENV_PYTHON.exists() and STAMP.exists() and STAMP.read_text().strip() == environment_digest()


def locked_requirement(name: str, lock: str) -> str | None:
    """The lines of one package in a lock's text, its version and hashes; None when it is not in there."""
    found = re.search(rf"^{re.escape(name)}==(?:.*\\\n)*.*\n", lock, re.MULTILINE)
    return found.group() if found else None


def prepare_environment() -> None:
    """Make or update ``.venv/``. The stamp is written last, so an interrupted run is taken up by the next.

    Raises:
        SetupError: it is a link: what it leads to is of another place, and would be emptied.
    """
    if VENV.is_symlink():
        raise SetupError(f"{VENV} is a link to {VENV.resolve()}; run make setup there, or remove the link")
    STAMP.unlink(missing_ok=True)
    if not _is_venv_usable():
        say(f"setup: making {VENV.name}/ with Python {sys.version.split()[0]}")
        _make_venv()
    _install_packages()
    STAMP.write_text(environment_digest() + "\n")


def _install_packages() -> None:
    """Install both locks with uv, which is fast; with pip where uv is not to be had or cannot reach the packages.

    The two find a registry by settings of their own, so one may get through where the other does not.
    """
    locks = [argument for lock in LOCKS for argument in ("-r", str(lock))]
    wanted = ["--quiet", "--require-hashes", *locks]
    say(f"setup: installing {_count_packages()} packages, which takes minutes when none is cached")
    if uv := _bootstrap_uv():
        command = [str(uv), "pip", "install", "--system-certs", "--compile-bytecode", "--python", str(VENV_PYTHON)]
        if subprocess.run([*command, *wanted], cwd=PROJECT_ROOT).returncode == 0:
            return
        say("setup: uv could not install them, see above; trying pip")
    if code := subprocess.run([*_pip(), "install", *wanted], cwd=PROJECT_ROOT).returncode:
        raise DownloadError(
            f"pip install ended with code {code}, see above; check the network and run 'make setup' again"
        )


def _is_venv_usable() -> bool:
    """False for no environment, one that was moved or copied here, and one whose Python or pip is gone."""
    config = VENV / "pyvenv.cfg"
    if not config.exists() or not config.read_text().rstrip().endswith(f" {VENV}"):
        return False
    return VENV_PYTHON.exists() and subprocess.run([*_pip(), "--version"], capture_output=True).returncode == 0


def _make_venv() -> None:
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], capture_output=True, text=True)
    if made.returncode:
        raise SetupError(
            f"{VENV} cannot be made ({find_reason(made.stdout + made.stderr)}); "
            f"install Python's venv module (Debian: apt-get install python3.11-venv) and make the folder writable"
        )


def _bootstrap_uv() -> Path | None:
    """Put the locked uv into the environment with pip; None where there is no uv for this machine."""
    stanza = locked_requirement("uv", LOCKS[1].read_text())
    if stanza is None:
        return None
    wanted = VENV / "uv.txt"
    wanted.write_text(stanza)
    command = [*_pip(), "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "-r", str(wanted)]
    uv = VENV / "bin" / "uv"
    return uv if subprocess.run(command, capture_output=True).returncode == 0 and uv.exists() else None


def _count_packages() -> int:
    return len({line.split("==")[0] for lock in LOCKS for line in lock.read_text().splitlines() if "==" in line})


def _pip() -> list[str]:
    return [str(VENV_PYTHON), "-m", "pip", "--disable-pip-version-check"]
