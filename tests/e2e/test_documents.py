"""README and docs followed as they are written: each page's commands in their order, in one shell, from a fresh clone.

The first page is README, whose first command is `make demo`, with sessions of its own. All others are followed on the
lake that it leaves, over one Spark Connect server. What is not followed, and why, is in tests/support/followed.py. What
docs/first-hour.md shows of its commands' output is compared with what they print (tests/support/shown.py).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_stack.install.environment import STAMP, environment_digest
from local_stack.install.jars import RUN_JARS
from local_stack.layout import PROJECT_ROOT
from local_stack.servers.connect_server import start_connect_server, wait_for_connect_server
from local_stack.servers.ports import free_port
from local_stack.servers.services import RunFolder
from tests.support.documents import groups, outputs, tracked
from tests.support.followed import CODES, FOLLOWED, FUNCTIONS, why_left_out, with_own_values
from tests.support.git import IDENTITY
from tests.support.processes import belong_to
from tests.support.shown import missing

pytestmark = [pytest.mark.e2e, pytest.mark.services, pytest.mark.timeout(2400), pytest.mark.slice(name="documents")]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tree as `git clone` gives it, with the packages and jars that are here already."""
    folder = tmp_path_factory.mktemp("clone")
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(PROJECT_ROOT / name, folder / name)
    for words in (["init", "--quiet"], ["add", "--all"], [*IDENTITY, "commit", "--quiet", "--message", "the tree"]):
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


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Spark Connect server, whose warm engine the commands share, as Airflow's tasks do."""
    folder = RunFolder(tmp_path_factory.mktemp("connect"))
    with folder.stopping():
        server = start_connect_server(folder, environ={**without_settings(), "LAKEHOUSE_DRIVER_MEMORY": "2g"})
        yield wait_for_connect_server(server)


def without_settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("LAKEHOUSE_")}


def script_of(page: str) -> str:
    """The page's commands for one shell: each says what it is, and its exit code is what the page says."""
    lines = ["set -u", FUNCTIONS]
    for group in groups(page):
        for command in group.commands if group.chapter in FOLLOWED[page] else ():
            if not why_left_out(page, group.chapter, command):
                codes = "|".join(map(str, sorted(CODES.get(command, {0}))))
                lines += [
                    f"echo '@@ {group.place}'",
                    with_own_values(command),
                    f'case $? in {codes}) ;; *) echo "@@ failed: {group.place}"; exit 1;; esac',
                ]
    return "\n".join(lines)


def printed_by(stdout: str) -> dict[str, str]:
    """By the place of a group what its commands printed."""
    _, *parts = re.split(r"^@@ (.+)\n", stdout, flags=re.MULTILINE)
    found = dict.fromkeys(parts[::2], "")
    for place, text in zip(parts[::2], parts[1::2], strict=True):
        found[place] += text
    return found


def follow(page: str, clone: Path, settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the page's commands; their results and their messages are in ``stdout``, as a terminal shows them."""
    environ = {
        **without_settings(),
        "PATH": f"{clone}/.venv/bin:{os.environ['PATH']}",
        "LAKEHOUSE_DRIVER_MEMORY": "2g",
        "LAKEHOUSE_UI_PORT": str(free_port()),
        **settings,
    }
    return subprocess.run(
        ["bash", "-c", script_of(page)],
        cwd=clone,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=2300,
    )


@pytest.mark.parametrize("page", FOLLOWED)
def test_a_page_works_as_it_is_written(page: str, clone: Path, request: pytest.FixtureRequest) -> None:
    settings = {}
    if page != "README.md":
        # The tour exports the lake for the pages after it.
        settings = {
            "LAKEHOUSE_BASE_PATH": f"{clone}/data/demo/lake",
            "LAKEHOUSE_LANDING_PATH": f"{clone}/data/demo/landing",
            "LAKEHOUSE_SPARK_REMOTE": request.getfixturevalue("remote"),
        }
    before = belong_to(clone / ".run" / "demo")
    done = follow(page, clone, settings)
    assert done.returncode == 0, done.stdout[-6000:]
    printed = printed_by(done.stdout)
    assert printed
    wrong = [
        (each.group.place, missing(each.text, printed[each.group.place], is_yours=each.is_yours))
        for each in outputs(page)
    ]
    assert [(place, lines, printed[place]) for place, lines in wrong if lines] == []
    assert belong_to(clone / ".run" / "demo") == before == [], "what a target started is gone"
