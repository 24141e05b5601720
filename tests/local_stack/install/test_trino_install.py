"""Of Trino's archive only a part is kept; equal files are links in it, also to parts that are left."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from local_stack.install.trino_install import unpack


def add(archive: tarfile.TarFile, name: str, content: bytes = b"", *, link: str = "") -> None:
    member = tarfile.TarInfo(name)
    if link:
        member.type, member.linkname = tarfile.LNKTYPE, link
    member.size = 0 if link else len(content)
    archive.addfile(member, io.BytesIO(content))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "server.tar.gz"
    with tarfile.open(path, "w:gz") as made:
        add(made, "server-1/NOTICE", b"whose it is")
        add(made, "server-1/plugin/druid/shared.jar", b"shared")
        add(made, "server-1/plugin/druid/own.jar", b"druid")
        add(made, "server-1/plugin/hudi/shared.jar", link="server-1/plugin/druid/shared.jar")
        add(made, "server-1/plugin/hudi/own.jar", b"hudi")
    return path


def test_links_to_what_is_left_are_files(archive: Path, tmp_path: Path):
    unpack(archive, tmp_path / "out", ("plugin/hudi/", "NOTICE"))
    found = {str(file.relative_to(tmp_path / "out")): file.read_bytes() for file in (tmp_path / "out").rglob("*.*")}
    assert found == {"server-1/plugin/hudi/shared.jar": b"shared", "server-1/plugin/hudi/own.jar": b"hudi"}
    assert (tmp_path / "out" / "server-1" / "NOTICE").read_bytes() == b"whose it is"
