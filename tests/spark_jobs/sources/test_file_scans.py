"""Files looked through by tasks: the same that is found here, in the same order, whatever the number of tasks."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.sources import file_scans
from spark_jobs.sources.file_scan import ScanOrder, scan_here
from spark_jobs.sources.file_scans import from_text, scan_on_executors, scan_with, to_text
from spark_jobs.storage.filesystem import Filesystem
from tests.support.in_process import Session

SESSION: Any = Session()


def orders_of(folder: Path, contents: list[bytes]) -> tuple[Filesystem, list[ScanOrder]]:
    for number, content in enumerate(contents):
        (folder / f"{number}").write_bytes(content)
    files = Filesystem(str(folder))
    return files, [ScanOrder(entry=entry, before=None, records=3) for entry in files.list_files()]


CONTENTS = [
    b"",
    b'{"n":1}\n' * 5,
    b'{"n":1}\n{"n":',
    gzip.compress(b"a\nb\n") + gzip.compress(b"c"),
    gzip.compress(b"a\nb\n")[:-3],
    gzip.compress(b"a\n") + b"no gzip",
]


@pytest.mark.parametrize("tasks", [1, 2, 64])
def test_tasks_find_what_is_found_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tasks: int):
    monkeypatch.setattr(file_scans, "_MOST_TASKS", tasks)
    files, orders = orders_of(tmp_path, CONTENTS)
    found = scan_on_executors(SESSION, str(tmp_path), orders)
    assert found == scan_here(files, orders)
    assert [from_text(to_text(scan)) for scan in found] == found


def test_a_few_small_files_start_no_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    files, orders = orders_of(tmp_path, CONTENTS)
    no_spark: Any = None
    assert scan_with(no_spark, str(tmp_path))(files, orders) == scan_here(files, orders)
    monkeypatch.setattr(file_scans, "HERE_BYTES", 1)
    assert scan_with(SESSION, str(tmp_path))(files, orders) == scan_here(files, orders)


def test_a_file_that_may_not_be_read_is_a_setting_to_correct(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    _, orders = orders_of(tmp_path, CONTENTS)

    def refuse(*_: object) -> None:
        raise SettingsError("cannot read it")

    monkeypatch.setattr(file_scans, "scan_file", refuse)
    with pytest.raises(SettingsError, match="cannot read it"):
        scan_on_executors(SESSION, str(tmp_path), orders)
