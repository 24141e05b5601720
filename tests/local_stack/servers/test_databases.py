"""Database servers beside each other."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from local_stack.servers.databases import MariaDB, running

pytestmark = pytest.mark.services


def test_a_server_that_starts_leaves_the_temporary_files_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A MariaDB that starts removes what looks like its own from the folder for temporary files."""
    with tempfile.TemporaryDirectory() as name:  # the server's account may not enter pytest's folders
        shared = Path(name)
        shared.chmod(0o777)
        of_another = shared / "#sql-temptable-60ed-1-27.MAI"
        of_another.touch()
        monkeypatch.setenv("TMPDIR", name)
        server = MariaDB()
        with running(server):
            assert server.admin("SELECT 1") == [(1,)]
        assert list(shared.iterdir()) == [of_another]
