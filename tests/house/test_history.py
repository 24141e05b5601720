"""No commit holds a key: what was once committed stays readable, whatever a later commit takes out.

Works on a shallow clone too, which has the history that it has.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support.git import IDENTITY

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 120
FORMATS = {
    "an access key of AWS": "(AKIA|ASIA)[0-9A-Z]{16}",
    "a private key": "-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "a token of GitHub": "(gh[opsur]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})",
    "a token of GitLab": "glpat-[A-Za-z0-9_-]{20,}",
    "a token of Slack": "xox[abposr]-[A-Za-z0-9-]{10,}",
    "a key of Google": "AIza[A-Za-z0-9_-]{35}",
    "a signed token": r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    "a key of Fernet": r"[^A-Za-z0-9_=-][A-Za-z0-9_-]{43}=([^A-Za-z0-9_=]|$)",
}
"""As POSIX's extended expressions and Python's read them alike."""
SAMPLES = {
    "an access key of AWS": "ASIA" + "ABCDEFGHIJKLMNOP",
    "a private key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "a token of GitHub": "ghp_" + "a1" * 18,
    "a token of GitLab": "glpat-" + "a1" * 10,
    "a token of Slack": "xoxb-" + "12345-67890",
    "a key of Google": "AIza" + "a1b2c" * 7,
    "a signed token": "eyJ" + "a1" * 6 + ".eyJ" + "b2" * 6 + "." + "c3" * 8,
    "a key of Fernet": " " + "aB3_-" * 8 + "xyz" + "=",
}


def commits_with(pattern: str) -> list[str]:
    """Commits that add or take out a line with the pattern, in files of text."""
    command = ["git", "log", "--all", "--format=%h %s", "--extended-regexp", f"-G{pattern}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=LIMIT_SECONDS)
    return done.stdout.splitlines()


def test_no_commit_holds_a_key():
    assert commits_with("|".join(f"({pattern})" for pattern in FORMATS.values())) == []


def test_the_search_finds_what_is_there():
    assert commits_with("class LakehouseErro[r]") != []


@pytest.mark.parametrize("kind", FORMATS)
def test_each_format_is_known(kind, tmp_path):
    """By git itself, in a repository of its own."""
    assert re.search(FORMATS[kind], SAMPLES[kind])
    git = ["git", "-C", str(tmp_path), *IDENTITY]
    (tmp_path / "file").write_text(f"{SAMPLES[kind]}\n", encoding="utf-8")
    for words in (["init", "-q"], ["add", "file"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    found = subprocess.run([*git, "log", "--format=%s", "-E", f"-G{FORMATS[kind]}"], capture_output=True, text=True)
    assert found.stdout == "one\n"
