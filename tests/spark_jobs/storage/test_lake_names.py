"""The base path and the name in it: made, opened, refused, adopted. Tables are folders with the two files of one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.lake_names import (
    NAME_FILE,
    NoLakeError,
    NoLandingError,
    NotEmptyError,
    OtherLakeError,
    UnnamedLakeError,
)
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.lake_names import check_landing, make_lake, make_landing, open_lake

LAKE = "sales"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(base_path=str(tmp_path / "lake"), landing_path=str(tmp_path / "landing"))


def add_table(settings: Settings, folder: str, *, name: str = "") -> None:
    """What a table of an earlier release leaves of itself for who looks at its folder."""
    hoodie = Path(settings.table_path(folder)) / ".hoodie"
    hoodie.mkdir(parents=True)
    (hoodie / "hoodie.properties").write_text(f"hoodie.table.name={name or folder}\nhoodie.table.version=6\n")


def name_of(settings: Settings) -> str | None:
    file = Path(settings.base_path) / NAME_FILE
    return file.read_text() if file.exists() else None


def test_a_new_lake_is_made_once_and_opened_from_then_on(settings):
    with pytest.raises(NoLakeError, match=r"no lake at .*/lake; correct LAKEHOUSE_BASE_PATH, or .* init$"):
        open_lake(LAKE, settings, may_name=True)
    assert not Path(settings.base_path).exists()
    assert make_lake(LAKE, settings, may_adopt=False)
    assert name_of(settings) == '{"lake": "sales", "layout": 1}\n'
    assert not make_lake(LAKE, settings, may_adopt=False)
    open_lake(LAKE, settings, may_name=False)


def test_an_empty_folder_is_no_lake_yet(settings):
    Path(settings.base_path).mkdir()
    with pytest.raises(NoLakeError):
        open_lake(LAKE, settings, may_name=True)
    assert name_of(settings) is None


def test_another_lakes_path_is_refused_with_both_names(settings):
    make_lake("shop", settings, may_adopt=False)
    message = (
        r"is 'shop', and the lake spec .*/sales\.yaml is of 'sales'; correct LAKEHOUSE_BASE_PATH or LAKEHOUSE_LAKE_SPEC"
    )
    with pytest.raises(OtherLakeError, match=message):
        open_lake(LAKE, settings, may_name=True)
    for may_adopt in (False, True):
        with pytest.raises(OtherLakeError):
            make_lake(LAKE, settings, may_adopt=may_adopt)


def test_a_lake_of_an_earlier_release_is_given_its_name_by_who_writes_it(settings):
    add_table(settings, "sales_log")
    add_table(settings, "units")
    open_lake(LAKE, settings, may_name=False)
    assert name_of(settings) is None
    open_lake(LAKE, settings, may_name=True)
    assert name_of(settings) == '{"lake": "sales", "layout": 1}\n'


@pytest.mark.parametrize(
    ("folder", "name", "why"),
    [
        ("orders", "orders", r"no entry of .*/sales\.yaml declares orders"),
        ("sales_log", "orders_log", r"the table in the folder of its log sales_log is called 'orders_log'"),
    ],
)
def test_tables_that_may_be_another_lakes_are_left_to_a_person(settings, folder, name, why):
    add_table(settings, folder, name=name)
    with pytest.raises(UnnamedLakeError, match=rf"it may be another one than 'sales', because {why}.*--adopt$"):
        open_lake(LAKE, settings, may_name=True)
    with pytest.raises(UnnamedLakeError):
        make_lake(LAKE, settings, may_adopt=False)
    assert name_of(settings) is None
    assert make_lake(LAKE, settings, may_adopt=True)
    open_lake(LAKE, settings, may_name=False)


def test_a_new_lake_is_not_made_among_other_things(settings):
    (Path(settings.base_path) / "photos").mkdir(parents=True)
    (Path(settings.base_path) / ".trash").mkdir()
    with pytest.raises(NotEmptyError, match=r"has 1 other files and folders \('photos'\)"):
        make_lake(LAKE, settings, may_adopt=False)
    assert make_lake(LAKE, settings, may_adopt=True)


def test_its_own_landing_folder_may_be_inside(settings):
    inside = replace(settings, landing_path=f"{settings.base_path}/in/landing")
    Path(inside.landing_path).mkdir(parents=True)
    assert make_lake(LAKE, inside, may_adopt=False)


def test_a_path_below_a_file_has_no_lake_and_gets_none(settings):
    Path(settings.base_path).write_text("")
    below = replace(settings, base_path=f"{settings.base_path}/lake")
    with pytest.raises(NoLakeError):
        open_lake(LAKE, below, may_name=True)
    with pytest.raises(SettingsError, match="cannot write"):
        make_lake(LAKE, below, may_adopt=False)


def test_a_landing_folder_that_is_empty_is_one_and_one_that_is_missing_is_none(settings):
    with pytest.raises(NoLandingError, match=r"no landing folder .*/landing; correct LAKEHOUSE_LANDING_PATH, or"):
        check_landing(settings)
    check_landing(replace(settings, kafka_servers="k:9092"))
    assert make_landing(settings)
    check_landing(settings)
    assert not make_landing(settings)
