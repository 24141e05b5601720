"""The lake's files are unpacked from the zip, once; a damaged zip, one without them, or no place is one clear line."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.shipped import unpack_shipped

FILES = {"include/lakes/sales.yaml": "lake: sales\n", "include/sql/views/fast/deals.sql": "SELECT 1\n"}
CODE = {"spark_jobs/entrypoint.py": "pass\n", "included.txt": "not below the folder\n"}


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where files are unpacked."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def zipped(folder: Path, files: dict[str, str]) -> Path:
    archive = folder / "spark_jobs.zip"
    with zipfile.ZipFile(archive, "w") as packing:
        for name, text in files.items():
            packing.writestr(name, text)
    return archive


def test_the_lakes_files_and_nothing_else_are_unpacked_once(tmp_path: Path, temporary: Path):
    archive = zipped(tmp_path, FILES | CODE)
    folder = unpack_shipped(archive)
    unpacked = {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}
    assert unpacked == FILES
    assert unpack_shipped(archive) == folder
    assert [*temporary.iterdir()] == [folder]


def test_a_zip_without_the_lakes_files_has_to_be_built_again(tmp_path: Path, temporary: Path):
    archive = zipped(tmp_path, CODE)
    with pytest.raises(SettingsError) as caught:
        unpack_shipped(archive)
    assert str(caught.value) == f"{archive} holds no lake spec; build the zip again (docs/cluster.md)"
    assert [*temporary.iterdir()] == []


def test_a_damaged_zip_has_to_be_built_again(tmp_path: Path):
    """Cut short, of a file that is not what was packed, or that cannot be unpacked."""
    archive = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packing:
        packing.writestr("include/lakes/sales.yaml", "lake: sales\n" * 100)
    whole, name = archive.read_bytes(), b"sales.yaml"
    packed = whole.index(name) + len(name)
    stored = zipped(tmp_path, FILES).read_bytes()
    for number, damaged in enumerate(
        [
            b"",
            whole[:-30],
            stored.replace(b"lake: sales", b"lake: sails"),
            whole[:packed] + b"\xff" * 10 + whole[packed + 10 :],
        ]
    ):
        archive = tmp_path / f"damaged_{number}.zip"
        archive.write_bytes(damaged)
        with pytest.raises(SettingsError) as caught:
            unpack_shipped(archive)
        assert str(caught.value).startswith(f"{archive} is damaged (")
        assert str(caught.value).endswith("); build the zip again (docs/cluster.md)")


def test_no_place_to_unpack_says_which_variable_to_set(tmp_path: Path, temporary: Path):
    archive = zipped(tmp_path, FILES)
    temporary.rmdir()
    with pytest.raises(
        SettingsError, match=r"^the lake's files cannot be unpacked \(.*No such file.*\); set TMPDIR to"
    ):
        unpack_shipped(archive)
