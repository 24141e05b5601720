"""A report is written whole, over nothing but a report, and never into the lake."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_report.files import check_output, write_file
from spark_jobs.lake_report.page import MARK

PAGE = f"<!doctype html>\n<html><head>{MARK}</head></html>\n"


def written(path: Path, text: str = PAGE, *, overwrite: bool = False) -> str:
    found = check_output(str(path), overwrite=overwrite, folders=())
    write_file(text, found, overwrite=overwrite)
    return path.read_text(encoding="utf-8")


def test_it_is_written_with_its_folder_and_replaced_when_that_is_wanted(tmp_path: Path):
    path = tmp_path / "new" / "report.html"
    assert written(path) == PAGE
    with pytest.raises(ContractError, match="exists; give another file, or --overwrite"):
        written(path)
    assert written(path, f"{PAGE}more", overwrite=True) == f"{PAGE}more"
    assert [each.name for each in path.parent.iterdir()] == ["report.html"]


def test_nothing_else_is_replaced(tmp_path: Path):
    other, link, folder = tmp_path / "a.html", tmp_path / "b.html", tmp_path / "c.html"
    other.write_text("<!doctype html><p>mine", encoding="utf-8")
    link.symlink_to(tmp_path / "nowhere.html")
    folder.mkdir()
    for path in (other, link, folder):
        with pytest.raises(ContractError, match="is no report, so it is not replaced"):
            written(path, overwrite=True)
    assert other.read_text(encoding="utf-8") == "<!doctype html><p>mine"


def test_what_came_meanwhile_stays(tmp_path: Path):
    path = tmp_path / "r.html"
    found = check_output(str(path), overwrite=False, folders=())
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(ContractError, match="exists"):
        write_file(PAGE, found, overwrite=False)
    with pytest.raises(ContractError, match="is no report"):
        write_file(PAGE, found, overwrite=True)
    assert path.read_text(encoding="utf-8") == "mine"
    assert len([*tmp_path.iterdir()]) == 1


@pytest.mark.parametrize(
    "name", ["", "report", "report.htm", "s3a://bucket/r.html", "a\nb.html", "x.html/", "\x00.html"]
)
def test_a_name_that_is_no_page_is_refused(name: str):
    with pytest.raises(ContractError, match=r"is no file on this machine that ends in \.html"):
        check_output(name, overwrite=True, folders=())


def test_the_lakes_own_folders_are_refused_by_every_way_to_them(tmp_path: Path):
    lake = tmp_path / "lake"
    lake.mkdir()
    (tmp_path / "way").symlink_to(lake)
    for path in (lake / "r.html", tmp_path / "way" / "r.html", tmp_path / "x" / ".." / "lake" / "sub" / "r.html"):
        with pytest.raises(ContractError, match="are one in the other"):
            check_output(str(path), overwrite=False, folders=(str(lake), "s3a://bucket/lake"))
    assert check_output(str(tmp_path / "lakes.html"), overwrite=False, folders=(str(lake),)).name == "lakes.html"


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ContractError, match="give another file with --output"):
        written(tmp_path / "file" / "r.html")
    with pytest.raises(ContractError, match="give another file with --output"):
        written(tmp_path / f"{'x' * 300}.html")
