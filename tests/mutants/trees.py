"""The tree in which bugs are planted: a commit of what lies in the working tree, and copies in temporary folders.

What is not committed yet is part of it, so that a new test or patch can be tried at once; in a clean clone it is HEAD.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.mutants.bugs import ROOT, Patch, PatchError
from tests.support.git import IDENTITY

LINKED = (".venv", ".jars")
"""What set-up made, shared by all copies."""


def write_working_tree(root: Path = ROOT) -> str:
    """A tree of git that holds the files of the working tree, those that git does not ignore."""
    with _index(root) as environment:
        _git(root, "add", "--all", environment=environment)
        # Folders of that name are ignored by git; a link to one is not.
        _git(root, "rm", "--quiet", "--cached", "--ignore-unmatch", *LINKED, environment=environment)
        return _git(root, "write-tree", environment=environment).strip()


def commit_tree(tree: str, root: Path = ROOT) -> str:
    """A commit on no branch with that tree, after HEAD."""
    return _git(root, *IDENTITY, "commit-tree", tree, "-p", "HEAD", "-m", "The tree in which bugs are planted").strip()


def check_patches(patches: Sequence[Patch], tree: str, root: Path = ROOT) -> None:
    """See that each patch applies to a tree.

    Raises:
        PatchError: Some do not; it names them all.
    """
    mistakes: list[str] = []
    with _index(root) as environment:
        _git(root, "read-tree", tree, environment=environment)
        for patch in patches:
            command = ["git", "apply", "--check", "--cached", str(patch.path)]
            done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                mistakes.append(f"{patch.title}: the patch does not apply: {done.stderr.strip()}")
    if mistakes:
        raise PatchError("\n".join(mistakes))


@contextmanager
def open_copy(commit: str, root: Path = ROOT) -> Iterator[Path]:
    """A worktree of the commit, removed at the end."""
    with tempfile.TemporaryDirectory(prefix="lakehouse-mutant-") as folder:
        copy = Path(folder) / "tree"
        _git(root, "worktree", "add", "--quiet", "--detach", str(copy), commit)
        try:
            for name in LINKED:
                (copy / name).symlink_to((root / name).resolve())
            yield copy
        finally:
            _git(root, "worktree", "remove", "--force", str(copy))


@contextmanager
def planted(patch: Patch, copy: Path) -> Iterator[None]:
    """The copy with the bug in it; afterwards as it was."""
    _git(copy, "apply", str(patch.path))
    try:
        yield
    finally:
        _git(copy, "reset", "--quiet", "--hard")
        _git(copy, "clean", "--quiet", "--force", "-d", *(f"--exclude=/{name}" for name in LINKED))


@contextmanager
def _index(root: Path) -> Iterator[dict[str, str]]:
    """The environment of git commands with an index of their own, which begins with what HEAD has."""
    with tempfile.TemporaryDirectory(prefix="lakehouse-index-") as folder:
        environment = {**os.environ, "GIT_INDEX_FILE": str(Path(folder) / "index")}
        _git(root, "read-tree", "HEAD", environment=environment)
        yield environment


def _git(folder: Path, *words: str, environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(["git", *words], cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise PatchError(f"git {' '.join(words[:3])} failed: {done.stderr.strip()}")
    return done.stdout
