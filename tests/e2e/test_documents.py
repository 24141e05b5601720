"""README and docs followed as they are written: each page's commands in their order, in one shell, from a fresh clone.

The first page is README, whose first command is `make demo`; all others are followed on the lake that it leaves. What
is not followed, and why, is in tests/support/followed.py.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from local_stack.environment import STAMP, environment_digest
from local_stack.jars import RUN_JARS
from local_stack.layout import PROJECT_ROOT
from local_stack.ports import free_port
from tests.support.documents import groups, tracked
from tests.support.followed import CODES, FOLLOWED, FUNCTIONS, why_left_out, with_own_values
from tests.support.processes import belong_to

pytestmark = [pytest.mark.e2e, pytest.mark.services, pytest.mark.timeout(2400), pytest.mark.slice(name="documents")]

AUTHOR = ("-c", "user.name=test", "-c", "user.email=test@localhost")


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree as `git clone` gives it, with the packages and jars that are here already."""
    folder = tmp_path_factory.mktemp("clone")
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(PROJECT_ROOT / name, folder / name)
    for words in (["init", "--quiet"], ["add", "--all"], [*AUTHOR, "commit", "--quiet", "--message", "the tree"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    link_environment(folder / ".venv")
    (folder / ".jars").symlink_to(RUN_JARS.folder)
    return folder


def link_environment(place: Path) -> None:
    """An environment that `make setup` finds made, whose files are those of this one."""
    place.mkdir()
    for entry in Path(sys.prefix).iterdir():
        if entry.name != STAMP.name:
            (place / entry.name).symlink_to(entry)
    (place / STAMP.name).write_text(f"{environment_digest(place)}\n", encoding="utf-8")


def script_of(page: str) -> str:
    """The page's commands for one shell: each says what it is, and its exit code is what the page says."""
    lines = ["set -u", FUNCTIONS]
    for group in groups(page):
        for command in group.commands if group.chapter in FOLLOWED[page] else ():
            if not why_left_out(page, group.chapter, command):
                codes = "|".join(map(str, sorted(CODES.get(command, {0}))))
                lines += [
                    f"echo '@@ {group.place}' >&2",
                    with_own_values(command),
                    f'case $? in {codes}) ;; *) echo "@@ failed: {group.place}" >&2; exit 1;; esac',
                ]
    return "\n".join(lines)


def follow(page: str, clone: Path) -> subprocess.CompletedProcess[str]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("LAKEHOUSE_")}
    environ |= {
        "PATH": f"{clone}/.venv/bin:{os.environ['PATH']}",
        "LAKEHOUSE_DRIVER_MEMORY": "2g",
        "LAKEHOUSE_UI_PORT": str(free_port()),
        # The tour exports it for the pages after it.
        "LAKEHOUSE_BASE_PATH": "data/demo/lake",
        "LAKEHOUSE_LANDING_PATH": "data/demo/landing",
    }
    if page == "README.md":
        del environ["LAKEHOUSE_BASE_PATH"], environ["LAKEHOUSE_LANDING_PATH"]
    return subprocess.run(
        ["bash", "-c", script_of(page)], cwd=clone, env=environ, capture_output=True, text=True, timeout=2300
    )


@pytest.mark.parametrize("page", FOLLOWED)
def test_a_page_works_as_it_is_written(page: str, clone: Path) -> None:
    before = belong_to(clone / ".run" / "demo")
    done = follow(page, clone)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert re.findall(r"^@@ (?!failed)", done.stderr, re.MULTILINE)
    assert belong_to(clone / ".run" / "demo") == before == [], "what a target started is gone"
