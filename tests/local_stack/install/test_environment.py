"""When the environment counts as made. Fixture: two locks and an environment folder of their own."""

from __future__ import annotations

import pytest

from local_stack.errors import SetupError
from local_stack.install import environment

DEV_LOCK = """\
# made by make lock
tqdm==4.70.1 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via something
uv==0.13.8 \\
    --hash=sha256:cc \\
    --hash=sha256:dd
    # via -r requirements-dev.in
wcwidth==0.9.4 \\
    --hash=sha256:ee
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project whose environment was made from its locks as they are."""
    venv = tmp_path / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").write_text("")
    locks = (tmp_path / "requirements.txt", tmp_path / "requirements-dev.txt")
    for lock in locks:
        lock.write_text(DEV_LOCK)
    monkeypatch.setattr(environment, "VENV", venv)
    monkeypatch.setattr(environment, "VENV_PYTHON", venv / "bin" / "python")
    monkeypatch.setattr(environment, "STAMP", venv / ".installed")
    monkeypatch.setattr(environment, "LOCKS", locks)
    environment.STAMP.write_text(environment.environment_digest() + "\n")
    return tmp_path


@pytest.mark.usefixtures("project")
def test_an_environment_made_from_the_locks_is_ready():
    assert environment.is_environment_ready()


@pytest.mark.parametrize("lock", ["requirements.txt", "requirements-dev.txt"])
def test_a_changed_lock_needs_an_update(project, lock):
    (project / lock).write_text(DEV_LOCK.replace("4.70.1", "4.70.2"))
    assert not environment.is_environment_ready()


def test_an_interrupted_installation_is_not_ready(project):
    (project / ".venv" / ".installed").unlink()
    assert not environment.is_environment_ready()


def test_an_environment_whose_python_is_gone_is_not_ready(project):
    python = project / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to(project / "no-such-python")
    assert not environment.is_environment_ready()


def test_an_environment_copied_from_elsewhere_is_not_ready(project, monkeypatch):
    monkeypatch.setattr(environment, "VENV", project / "copy" / ".venv")
    assert not environment.is_environment_ready()


def test_the_tool_that_installs_is_taken_from_the_lock_with_its_hashes():
    wanted = "uv==0.13.8 \\\n    --hash=sha256:cc \\\n    --hash=sha256:dd\n"
    assert environment.locked_requirement("uv", DEV_LOCK) == wanted
    assert environment.locked_requirement("pip", DEV_LOCK) is None


def test_an_environment_behind_a_link_is_left_as_it_is(project):
    elsewhere = (project / ".venv").rename(project / "elsewhere")
    (project / ".venv").symlink_to(elsewhere)
    (project / "requirements.txt").write_text(DEV_LOCK.replace("4.70.1", "4.70.2"))
    before = sorted(elsewhere.rglob("*"))
    with pytest.raises(SetupError, match=r"\.venv is a link to .*elsewhere; run make setup there, or remove the link"):
        environment.prepare_environment()
    assert sorted(elsewhere.rglob("*")) == before
