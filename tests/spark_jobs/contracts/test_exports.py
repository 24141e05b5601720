"""Names and options of exports: what each means, and what is refused before anything is read."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.exports import ExportFormat, check_apart, check_columns, csv_header, parse_target

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@pytest.mark.parametrize(
    ("path", "format_name", "format_", "is_folder", "is_gzip", "ending"),
    [
        ("/out/sales.parquet", "", ExportFormat.PARQUET, True, False, ".parquet"),
        ("/out/sales.parquet/", "", ExportFormat.PARQUET, True, False, ".parquet"),
        ("/out/sales", "parquet", ExportFormat.PARQUET, True, False, ".parquet"),
        ("/out/sales.csv", "", ExportFormat.CSV, False, False, ".csv"),
        ("/out/sales.csv/", "", ExportFormat.CSV, True, False, ".csv"),
        ("/out/sales.csv.gz", "", ExportFormat.CSV, False, True, ".csv.gz"),
        ("/out/SALES.CSV.GZ/", "csv", ExportFormat.CSV, True, True, ".csv.gz"),
        ("/out/sales.txt", "csv", ExportFormat.CSV, False, False, ".csv"),
        ("/out/sales.txt.gz", "csv", ExportFormat.CSV, False, True, ".csv.gz"),
        ("s3a://bucket/out/sales.csv", "", ExportFormat.CSV, False, False, ".csv"),
    ],
)
def test_a_name_says_format_and_form(
    path: str, format_name: str, format_: ExportFormat, is_folder: bool, is_gzip: bool, ending: str
) -> None:
    target = parse_target(path, format_name=format_name)
    assert (target.format, target.is_folder, target.is_gzip, target.ending) == (format_, is_folder, is_gzip, ending)
    assert target.path == path.rstrip("/")
    assert f"{target.parent}/{target.name}" == target.path
    assert not target.overwrite
    assert parse_target(path, format_name=format_name, overwrite=True).overwrite


def test_a_path_is_made_absolute_and_a_uri_is_one_for_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_target("out/a.csv").path == str(tmp_path / "out/a.csv")
    assert parse_target("s3://bucket/a.csv").path == "s3a://bucket/a.csv"
    assert (parse_target("/a.csv").parent, parse_target("/a.csv").name) == ("/", "a.csv")


@pytest.mark.parametrize(
    ("path", "format_name", "message"),
    [
        ("sales", "", "does not say its format; let the name end in .parquet, .csv, .csv.gz, or give --format"),
        ("sales.parquet.gz", "", "does not say its format"),
        ("sales.csv", "parquet", "is named like csv, and --format says parquet"),
        ("sales.parquet", "csv", "is named like parquet, and --format says csv"),
        ("sales.csv", "orc", "--format 'orc' is unknown; give parquet or csv"),
        ("/", "csv", "is no name for an export"),
        ("..", "csv", "is no name for an export"),
        ("out/../", "csv", "is no name for an export"),
        ("s3a://bucket", "csv", "is no name for an export"),
        ("s3a://bucket/", "csv", "is no name for an export"),
        ("a\nb.csv", "", "is no name for an export"),
    ],
)
def test_what_makes_no_sense_is_refused(path: str, format_name: str, message: str) -> None:
    with pytest.raises(ContractError, match=re.escape(message)):
        parse_target(path, format_name=format_name)


@pytest.mark.parametrize(
    ("path", "is_refused"),
    [
        ("/data/lake/x.parquet", True),
        ("/data/lake/sales/x.csv", True),
        ("/data/../data/lake/x.csv", True),
        ("/data", True),
        ("/data/lake", True),
        ("/data/lake.parquet", False),
        ("/data/lake2/x.csv", False),
        ("/other/x.csv", False),
        ("s3://bucket/lake/x.csv", True),
        ("s3a://bucket/lakes/x.csv", False),
    ],
)
def test_an_export_never_goes_into_the_lake_or_around_it(path: str, is_refused: bool) -> None:
    target = parse_target(path, format_name="" if "." in path.rpartition("/")[2] else "parquet")
    for folder in ("/data/lake", "/data/lake/", "s3a://bucket/lake", "s3://bucket/lake/"):
        if is_refused and ("://" in folder) is ("://" in path):
            with pytest.raises(ContractError, match="are one in the other; write to another place"):
                check_apart(target.path, ["/elsewhere", folder])
        else:
            check_apart(target.path, ["/elsewhere", folder])


def test_a_link_into_the_lake_leads_into_the_lake(tmp_path: Path) -> None:
    lake, way, other = tmp_path / "lake", tmp_path / "way", tmp_path / "other"
    lake.mkdir()
    other.mkdir()
    way.symlink_to(lake)
    for path, folder in ((way / "x.csv", lake), (lake / "x.csv", way), (tmp_path / "new" / ".." / "way", lake)):
        with pytest.raises(ContractError, match="are one in the other"):
            check_apart(str(path), [str(folder)])
    check_apart(str(other / "x.csv"), [str(lake), str(way), "s3a://bucket/lake"])


@given(st.lists(names, min_size=1, max_size=5))
def test_a_header_is_read_as_the_names(columns: list[str]) -> None:
    assert list(csv.reader(io.StringIO(csv_header(columns), newline=""))) == [columns]


def test_two_columns_of_one_name_are_refused() -> None:
    check_columns(["a", "b", "a b"])
    with pytest.raises(ContractError, match=r"two columns are called 'ID'; give one of them another name with AS"):
        check_columns(["id", "name", "ID"])
