"""What an erasure tries before it changes anything; on tables and folders made by hand."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.errors import RestoreUnfinishedError, SettingsError
from spark_jobs.contracts.lake_errors import UndeclaredTablesError
from spark_jobs.contracts.settings import Settings
from spark_jobs.pipelines.erasure import trials
from spark_jobs.pipelines.erasure.trials import check_beforehand, check_writable
from spark_jobs.sources.erasure import FileFinding
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.layouts import all_layouts
from tests.support.contexts import context_of
from tests.support.made_tables import MadeTable

SPEC = load_lake_spec(Settings().lake_spec)
LAYOUTS = {layout.name: layout for layout in all_layouts(SPEC)}
NAMED = FileFinding(path="t/named", records=2, taken_in=2, digest="", problem="")
OTHER = FileFinding(path="t/other", records=0, taken_in=0, digest="", problem="is torn")


class Looking:
    """As much of a search as a trial needs."""

    def __init__(self, folder: Path) -> None:
        no_spark: Any = "no session"
        settings = Settings(base_path=str(folder), landing_path=str(folder / "landing"))
        self.context = context_of("erase", settings, spark=no_spark, spec=SPEC)
        self.touched = ("sales_log", "sales", "units")


class Store:
    def __init__(self) -> None:
        self.queried: list[str] = []

    def served(self, mart: str) -> None:
        self.queried.append(mart)


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("sales_log", "sales"):
        MadeTable(LAYOUTS[name], tmp_path / name).commits(1)
    monkeypatch.setattr(trials, "find_unwritable", lambda _spark, _root, paths: [f"{p}: no" for p in paths if "!" in p])
    return Looking(tmp_path)


def test_a_lake_in_which_it_can_end_is_left_as_it_is(search: Any, tmp_path: Path) -> None:
    before = sorted(path for path in tmp_path.rglob("*"))
    check_beforehand(SPEC, search.context.settings)
    store: Any = Store()
    check_writable(search, [NAMED, OTHER], store)
    assert sorted(path for path in tmp_path.rglob("*")) == before
    assert store.queried == [SPEC.marts[0].name], "a store that does not answer says so before anything is changed"


def test_files_that_name_no_one_need_not_be_written(search: Any) -> None:
    check_writable(search, [FileFinding(path="t/other!", records=0, taken_in=0, digest="", problem="")], None)
    with pytest.raises(
        SettingsError, match=r"nothing was changed, because these cannot be written: t/named!: no; give"
    ):
        check_writable(search, [FileFinding(path="t/named!", records=1, taken_in=0, digest="", problem="")], None)


@pytest.mark.parametrize("error", [PermissionError(errno.EACCES, "denied"), OSError(errno.EROFS, "Read-only")])
def test_tables_that_cannot_be_written_are_named(search: Any, monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    real = Filesystem.write

    def write(files: Filesystem, path: str, content: bytes) -> None:
        if files.root.endswith("/sales"):
            raise error
        real(files, path, content)

    monkeypatch.setattr(Filesystem, "write", write)
    with pytest.raises(SettingsError, match=r"cannot be written: \S*/sales: "):
        check_writable(search, [], None)


def test_several_are_named_and_the_rest_is_counted(search: Any) -> None:
    many = [FileFinding(path=f"t/{n}!", records=1, taken_in=1, digest="", problem="") for n in range(5)]
    with pytest.raises(SettingsError, match=r"t/0!: no; t/1!: no; t/2!: no \(and 2 more\)"):
        check_writable(search, many, None)


def test_a_restore_that_was_cut_off_within_any_table_and_undeclared_tables_stop_it(search: Any, tmp_path: Path) -> None:
    MadeTable(LAYOUTS["units"], tmp_path / "units").commits(1)
    MadeTable(LAYOUTS["sales"], tmp_path / "old_sales").commits(1)
    with pytest.raises(UndeclaredTablesError, match=r"declares old_sales below .*; declare them again, or move or del"):
        check_beforehand(SPEC, search.context.settings)
    (tmp_path / "units/.hoodie/00000000000000007.restore.inflight").touch()
    with pytest.raises(RestoreUnfinishedError, match="units: a restore"):
        check_beforehand(SPEC, search.context.settings)
