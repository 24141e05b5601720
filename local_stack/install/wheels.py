"""Two wheels in ``dist/``, to be installed where an Airflow is already: the library and the provider.

Beside them are the versions of packages that were tested together, as constraints.

uv builds them with its own backend, of folders in which everything is where it is once installed: ``include/`` in the
library, ``dags/`` in the provider. So nothing is fetched, and the tree needs no other form than it has.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from local_stack.console import say
from local_stack.errors import SetupError, find_reason
from local_stack.layout import PROJECT_ROOT

DIST = PROJECT_ROOT / "dist"
_NOT_INSTALLED = shutil.ignore_patterns("__pycache__", "docker", "ruff.toml")
"""What no installation has: caches, the images of docker-compose.yaml, the settings of linters."""
_BACKEND = """
[build-system]
requires = ["uv_build=={version}"]
build-backend = "uv_build"

[tool.uv.build-backend]
module-root = ""
module-name = {modules}
"""


def run(argv: list[str]) -> int:
    """Build both and name what was written; 0 when all is there."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m local_stack dist", description=__doc__)
    parser.add_argument("--into", type=Path, default=DIST, metavar="FOLDER", help="instead of dist/")
    folder = parser.parse_args(argv).into.absolute()
    for file in (*build_wheels(folder), write_constraints(folder)):
        say(f"dist: {file}")
    return 0


def build_wheels(folder: Path, root: Path = PROJECT_ROOT) -> list[Path]:
    """Build the wheels of the tree at ``root`` and put them into ``folder``, both or none.

    Raises:
        SetupError: one cannot be built.
    """
    with tempfile.TemporaryDirectory(prefix="lakehouse-dist-") as work:
        built = Path(work, "built")
        for name, lay_out in (("library", _lay_out_library), ("provider", _lay_out_provider)):
            project = Path(work, name)
            project.mkdir()
            _build(project, modules=lay_out(root, project), into=built)
        folder.mkdir(parents=True, exist_ok=True)
        return [Path(shutil.copy(wheel, folder)) for wheel in sorted(built.glob("*.whl"))]


def write_constraints(folder: Path, lock: Path = PROJECT_ROOT / "requirements.txt") -> Path:
    """The lock's versions without hashes, which would be required of the wheels too; extras may not be in there."""
    pins = re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?(==[^\s;]+)", lock.read_text(encoding="utf-8"), re.MULTILINE)
    file = folder / "constraints.txt"
    file.write_text("".join(f"{name}{version}\n" for name, version in pins), encoding="utf-8")
    return file


def _lay_out_library(root: Path, project: Path) -> Sequence[str]:
    _copy_facts(root / "pyproject.toml", root, project)
    package = project / "spark_jobs"
    shutil.copytree(root / package.name, package, ignore=_NOT_INSTALLED)
    shutil.copytree(root / "include", package / "include", ignore=_NOT_INSTALLED)
    sizing = package / "include" / "sizing"
    sizing.mkdir()
    shutil.copy(root / "bench" / "results" / "sizes.json", sizing)
    return [package.name]


def _lay_out_provider(root: Path, project: Path) -> Sequence[str]:
    plugins, packages = root / "plugins", ["lakehouse_page", "lakehouse_provider"]
    _copy_facts(plugins / "pyproject.toml", root, project)
    for package in packages:
        shutil.copytree(plugins / package, project / package, ignore=_NOT_INSTALLED)
    shutil.copytree(root / "docs" / "runbooks", project / "lakehouse_page" / "runbook_pages")
    shutil.copytree(root / "dags", project / "lakehouse_provider" / "dags", ignore=_NOT_INSTALLED)
    plugin = project / "lakehouse_plugin"  # the backend takes no module that is a single file
    plugin.mkdir()
    shutil.copy(plugins / "lakehouse_plugin.py", plugin / "__init__.py")
    return [*packages, plugin.name]


def _copy_facts(pyproject: Path, root: Path, project: Path) -> None:
    shutil.copy(pyproject, project / "pyproject.toml")
    shutil.copy(root / "LICENSE", project / "LICENSE")


def _build(project: Path, *, modules: Sequence[str], into: Path) -> None:
    """By the backend inside uv: it is used where its version is the one named here, and takes no environment."""
    with (project / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write(_BACKEND.format(version=version("uv"), modules=[*modules]))
    uv = Path(sys.executable).with_name("uv")
    command = [str(uv), "build", "--quiet", "--wheel", "--offline", "--no-build-isolation", "--out-dir", str(into)]
    done = subprocess.run([*command, str(project)], capture_output=True, text=True)
    if done.returncode:
        raise SetupError(f"the wheel of {project.name} cannot be built ({find_reason(done.stderr + done.stdout)})")
