"""Files of a load: which are taken, what makes two loads the same, and what cannot be loaded at all."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import ContractError, TransientError
from spark_jobs.lake_spec.loads import FileFormat, LoadOperation
from spark_jobs.sources.load_files import LoadFiles, check_delimiter, find_files
from spark_jobs.spec_files.spec_file import parse_lake_spec
from tests.support.loading_lakes import lake_document, write_csv, write_json, write_parquet

RATES = parse_lake_spec(lake_document()).load("merged_rates")
NAMES = ("currency", "day", "rate")
ROW = {"currency": "EUR", "day": "2026-01-01", "rate": "1.5"}


def find(
    path: Path, operation: LoadOperation = LoadOperation.UPSERT, format_: FileFormat | None = None, delimiter: str = ","
) -> LoadFiles:
    return find_files(str(path), RATES, operation, format_=format_, delimiter=delimiter)


def test_a_file_or_all_of_a_folder_by_their_names(tmp_path: Path):
    for name in ("b.csv", "a.csv", "_begun.csv", ".hidden.csv", "c.csv.tmp", "deep/d.csv"):
        write_csv(tmp_path / "in" / name, [ROW])
    assert [Path(entry.path).name for entry in find(tmp_path / "in").entries] == ["a.csv", "b.csv"]
    assert [Path(entry.path).name for entry in find(tmp_path / "in" / "b.csv").entries] == ["b.csv"]
    assert find(Path(os.path.relpath(tmp_path / "in" / "b.csv"))).format is FileFormat.CSV


def test_the_same_load_is_known_by_names_contents_and_operation(tmp_path: Path):
    path = write_csv(tmp_path / "one" / "a.csv", [ROW])
    first = find(path)
    assert find(path).fingerprint == find(path.parent).fingerprint == first.fingerprint
    copied = write_csv(tmp_path / "two" / "a.csv", [ROW])
    assert find(copied).fingerprint == first.fingerprint, "wherever it is"
    others = [
        find(write_csv(tmp_path / "three" / "b.csv", [ROW])),
        find(write_csv(tmp_path / "four" / "a.csv", [{**ROW, "rate": "1.6"}])),
        find(path, LoadOperation.INSERT),
    ]
    write_csv(tmp_path / "one" / "b.csv", [ROW])
    others.append(find(path.parent))
    assert len({first.fingerprint, *(each.fingerprint for each in others)}) == 5


def test_the_format_is_given_by_names_or_by_the_caller(tmp_path: Path):
    assert find(write_json(tmp_path / "1" / "a.jsonl", [ROW])).format is FileFormat.JSON
    assert find(write_parquet(tmp_path / "2" / "a.parquet", [ROW], NAMES)).format is FileFormat.PARQUET
    zipped = tmp_path / "3" / "a.csv.gz"
    zipped.parent.mkdir()
    zipped.write_bytes(gzip.compress(b"currency,day,rate\nEUR,2026-01-01,1\n"))
    assert find(zipped).format is FileFormat.CSV
    write_csv(tmp_path / "1" / "b.csv", [ROW])
    with pytest.raises(ContractError, match="do not give one format; give --format"):
        find(tmp_path / "1")
    odd = write_csv(tmp_path / "4" / "rates.txt", [ROW])
    with pytest.raises(ContractError, match="give --format"):
        find(odd)
    assert find(odd, format_=FileFormat.CSV).format is FileFormat.CSV


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"currency,rate\nEUR,1\n", r"has no columns \['day'\]; it has \['currency', 'rate'\]"),
        ("a.csv", b"currency,day,rate,day\n", r"has columns \['day'\] twice"),
        ("a.csv", b"", r"has no columns \['currency', 'day', 'rate'\]; it has \[\]"),
        ("a.csv", b'cur"rency,"day"s,rate\n', "cannot be read as csv"),
        ("a.csv.gz", gzip.compress(b"currency,day,rate\n" * 999, mtime=0)[:-20], "it ends in the middle"),
        ("a.json", b"\x1f\x8b", "it ends in the middle"),
        ("a.csv.gz", b"\x1f\x8b" + b"nothing that could be gzip", "cannot be read as csv"),
        ("a.parquet", b"PAR1 and nothing", "cannot be read as parquet"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_stops_the_load(tmp_path: Path, name: str, content: bytes, message: str):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ContractError, match=message):
        find(tmp_path / name)


def test_nothing_to_load(tmp_path: Path):
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(ContractError, match="there is no file to load at"):
            find(path)


def test_columns_that_are_not_declared_are_reported_and_keys_to_delete_need_no_others(tmp_path: Path):
    path = write_csv(tmp_path / "a.csv", [{**ROW, "bank": "ECB"}], (*NAMES, "bank"))
    assert find(path).messages == (f"{path}: columns ['bank'] are not declared and were left out",)
    keys = write_csv(tmp_path / "keys.csv", [{"currency": "EUR", "day": "2026-01-01"}], NAMES[:2])
    assert find(keys, LoadOperation.DELETE).messages == ()
    with pytest.raises(ContractError, match=r"has no columns \['rate'\]"):
        find(keys)


def test_another_delimiter(tmp_path: Path):
    path = tmp_path / "a.csv"
    path.write_text("currency;day;rate\n", encoding="utf-8")
    find(path, delimiter=";")
    with pytest.raises(ContractError, match="has no columns"):
        find(path)
    for wrong in ("", ";;", '"', "\n", "a", "é"):
        with pytest.raises(ContractError, match="give one character"):
            check_delimiter(wrong)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path):
    path = write_csv(tmp_path / "a.csv", [ROW])
    found = find(path)
    found.check_still()
    write_csv(path, [ROW, ROW])
    with pytest.raises(TransientError, match=r"a.csv changed while it was read; run the load again"):
        found.check_still()
    path.unlink()
    with pytest.raises(TransientError, match="changed while it was read"):
        found.check_still()


@pytest.mark.parametrize("name", ["a.csv", "b.csv", "c.csv"])
def test_of_several_files_each_is_looked_at_again(tmp_path: Path, name: str):
    for each in ("a.csv", "b.csv", "c.csv"):
        write_csv(tmp_path / each, [{**ROW, "currency": each}])
    found = find(tmp_path)
    found.check_still()
    write_csv(tmp_path / name, [ROW, ROW])
    with pytest.raises(TransientError, match=f"{name} changed while it was read"):
        found.check_still()


@pytest.mark.parametrize("changed", ["operation", "format_", "delimiter"])
def test_every_argument_is_part_of_what_a_load_is_known_by(tmp_path: Path, changed: str):
    """The file can be read in all these ways, and says the same columns in each."""
    path = tmp_path / "keys"
    load = replace(RATES, key=("currency",), columns=RATES.columns[:1], partition="", keep_days=0)
    path.write_text("currency\n", encoding="utf-8")
    usual = {"operation": LoadOperation.UPSERT, "format_": FileFormat.CSV, "delimiter": ","}
    others = {"operation": LoadOperation.DELETE, "format_": FileFormat.JSON, "delimiter": ";"}

    def fingerprint(**given: Any) -> str:
        return find_files(str(path), load, **given).fingerprint

    assert fingerprint(**usual) == fingerprint(**usual)
    assert fingerprint(**{**usual, changed: others[changed]}) != fingerprint(**usual)
