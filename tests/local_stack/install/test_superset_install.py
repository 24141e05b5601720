"""Superset's environment is that of the lock: another lock is another folder, and one that is whole is not fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_stack.errors import DownloadError
from local_stack.install import superset_install
from local_stack.install.superset_install import install_superset


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock of nothing that there is."""
    file = tmp_path / "requirements.txt"
    file.write_text("no-such-package @ file:///nowhere/no_such_package-1-py3-none-any.whl\n")
    monkeypatch.setattr(superset_install, "LOCK", file)
    return file


def test_what_was_not_fetched_as_a_whole_is_fetched_again(lock: Path, tmp_path: Path) -> None:
    environ = {"LAKEHOUSE_CACHE_PATH": str(tmp_path / "cache")}
    for _ in range(2):
        with pytest.raises(DownloadError, match=r"Superset could not be fetched .*; try again"):
            install_superset(environ)
    (folder,) = (each for each in (tmp_path / "cache").glob("superset-*") if each.is_dir())
    (folder / ".complete").touch()
    assert install_superset(environ) == folder
    lock.write_text(lock.read_text() + "# another\n")
    with pytest.raises(DownloadError):
        install_superset(environ)
