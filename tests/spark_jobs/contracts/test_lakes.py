"""The settings of one of several lakes: its own, those of all, and nothing of another's; and no two in one place."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.lakes import lake_environment, lake_files, variables_by_lake
from spark_jobs.contracts.settings import Settings

NAMES = ("sales", "shop", "north_shop", "a__b")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lakes")
    for name in NAMES:
        (folder / f"{name}.yaml").write_text(f"lake: {name}\n", encoding="utf-8")
    for other in (".hidden.yaml", "notes.txt", "sales.yaml~"):
        (folder / other).touch()
    return folder


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {"LAKEHOUSE_LAKES": str(folder), "LAKEHOUSE_BASE_PATH": "/b", "LAKEHOUSE_LANDING_PATH": "/l/", **more}


def test_a_lake_is_a_file_of_the_folder(folder: Path) -> None:
    assert lake_files(environment(folder)) == {name: folder / f"{name}.yaml" for name in sorted(NAMES)}
    assert lake_files({}) == lake_files({"LAKEHOUSE_LAKES": ""}) == {}


def test_without_a_folder_the_environment_is_as_it_is() -> None:
    alone = {"LAKEHOUSE_BASE_PATH": "/b", "LAKEHOUSE_LAKE": "shop", "LAKEHOUSE_BASE_PATH__SHOP": "/other"}
    assert lake_environment(alone) is alone
    assert Settings.from_environment(alone).base_path == "/b"


@pytest.mark.parametrize("name", NAMES)
def test_a_lake_lives_in_a_folder_of_its_name_and_has_its_own_spec(folder: Path, name: str) -> None:
    settings = Settings.from_environment(lake_environment(environment(folder), name))
    assert (settings.base_path, settings.landing_path) == (f"/b/{name}", f"/l/{name}")
    assert settings.lake_spec == str(folder / f"{name}.yaml")


@pytest.mark.parametrize(("given", "name"), [({}, "sales"), ({"LAKEHOUSE_LAKE": "shop"}, "shop")])
def test_a_job_is_of_the_lake_that_it_names_else_of_sales(folder: Path, given: dict[str, str], name: str) -> None:
    assert Settings.from_environment(environment(folder, **given)).base_path == f"/b/{name}"


def test_a_job_is_of_the_only_lake_that_there_is(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").touch()
    assert Settings.from_environment(environment(tmp_path)).base_path == "/b/shop"


def test_a_lake_has_its_own_settings_before_those_of_all(folder: Path) -> None:
    given = environment(
        folder,
        LAKEHOUSE_BASE_PATH__SHOP="s3a://shop/tables",
        LAKEHOUSE_MAX_EVENTS="7",
        LAKEHOUSE_MAX_EVENTS__A__B="8",
        LAKEHOUSE_MAX_EVENTS__SHOP="",
    )
    settings = {name: Settings.from_environment(lake_environment(given, name)) for name in NAMES}
    assert settings["shop"].base_path == "s3a://shop/tables"
    assert {name: of.max_events for name, of in settings.items()} == {"sales": 7, "shop": 7, "north_shop": 7, "a__b": 8}


@pytest.mark.parametrize("name", ["CATALOG_DATABASE", "SERVING_URL", "JDBC_URL", "JDBC_USER", "JDBC_PASSWORD"])
def test_what_names_something_of_one_lake_is_of_sales_unless_it_has_a_lakes_name(folder: Path, name: str) -> None:
    given = environment(folder, **{f"LAKEHOUSE_{name}": "one", f"LAKEHOUSE_{name}__SHOP": "two"})
    found = {lake: lake_environment(given, lake).get(f"LAKEHOUSE_{name}") for lake in NAMES}
    assert found == {"sales": "one", "shop": "two", "north_shop": None, "a__b": None}


SETTINGS = ("MAX_EVENTS", "CATALOG", "SPARK_REMOTE", "POOL", "SERVING_URL")
VARIABLES = st.dictionaries(
    st.tuples(st.sampled_from(SETTINGS), st.sampled_from(["", *NAMES, "gone"])), st.text("abc", max_size=3)
)


@given(given=VARIABLES, lake=st.sampled_from(NAMES))
def test_a_lakes_variables_are_its_own_and_those_of_all(
    folder: Path, given: dict[tuple[str, str], str], lake: str
) -> None:
    """Against a plain rule by setting: the lake's own value, else the common one unless it is of one lake only."""
    variables = {f"LAKEHOUSE_{setting}{f'__{of.upper()}' if of else ''}": text for (setting, of), text in given.items()}
    found = lake_environment({**environment(folder), **variables, "HOME": "/h"}, lake)
    expected = {}
    for setting in SETTINGS:
        is_of_all = setting != "SERVING_URL" or lake == "sales"
        if given.get((setting, lake)):
            expected[f"LAKEHOUSE_{setting}"] = given[setting, lake]
        elif is_of_all and (setting, "") in given:
            expected[f"LAKEHOUSE_{setting}"] = given[setting, ""]
    places = {"LAKEHOUSE_BASE_PATH": f"/b/{lake}", "LAKEHOUSE_LANDING_PATH": f"/l/{lake}", "HOME": "/h"}
    assert found == {**expected, **places, "LAKEHOUSE_LAKE_SPEC": str(folder / f"{lake}.yaml")}
    assert lake_environment(found) is found, "a job that has them has one lake alone"


PATHS = st.sampled_from(
    ["/b/sales", "/b/sales/", "/b/x/../sales", "/b/sales/in", "/b", "/c", "s3://k/a", "s3a://k//a/"]
)


def clash(one: str, other: str) -> bool:
    """By the parts of two paths: whether one is the other, or holds it."""
    parts = []
    for path in (one, other):
        names: list[str] = []
        for name in path.replace("s3a:", "s3:").split("/"):
            names = names[:-1] if name == ".." else [*names, *([name] if name else [])]
        parts.append(names)
    shorter = min(map(len, parts))
    return parts[0][:shorter] == parts[1][:shorter]


@given(given=st.dictionaries(st.sampled_from(NAMES), PATHS))
def test_no_two_lakes_share_a_base_path_and_sales_goes_on(folder: Path, given: dict[str, str]) -> None:
    variables = environment(folder, **{f"LAKEHOUSE_BASE_PATH__{name.upper()}": path for name, path in given.items()})
    paths = {name: given.get(name, f"/b/{name}") for name in NAMES}
    served = []
    for name in NAMES:
        is_clear = not any(clash(paths[name], paths[other]) for other in NAMES if other != name)
        if name == "sales" or is_clear:
            served.append(lake_environment(variables, name)["LAKEHOUSE_BASE_PATH"])
        else:
            with pytest.raises(SettingsError, match=rf"lake {name}: .*LAKEHOUSE_BASE_PATH__{name.upper()}"):
                lake_environment(variables, name)
    assert not [one for at, one in enumerate(served) for other in served[at + 1 :] if clash(one, other)]


@pytest.mark.parametrize(
    ("path", "is_served"), [("/l/sales", True), ("/l/sales/in", False), ("/l", False), ("/m", True)]
)
def test_a_landing_path_may_be_shared_and_is_inside_no_others(folder: Path, path: str, is_served: bool) -> None:
    given = environment(folder, LAKEHOUSE_LANDING_PATH__SHOP=path)
    if is_served:
        assert lake_environment(given, "shop")["LAKEHOUSE_LANDING_PATH"] == path
    else:
        with pytest.raises(SettingsError, match="LAKEHOUSE_LANDING_PATH__SHOP"):
            lake_environment(given, "shop")


@pytest.mark.parametrize(
    ("given", "lake", "match"),
    [
        ({"LAKEHOUSE_LAKES": "/nowhere"}, "", r"LAKEHOUSE_LAKES=/nowhere cannot be read .*; set it to a folder"),
        ({}, "north", r"has no lake 'north'; write 'north_shop'"),
        ({"LAKEHOUSE_LAKE": "zzz"}, "", r"has no lake 'zzz'; give one of .* as LAKEHOUSE_LAKE"),
        ({"LAKEHOUSE_LAKES": ""}, "shop", r"lake 'shop' is one of several, and LAKEHOUSE_LAKES is not set"),
    ],
)
def test_what_cannot_be_is_refused(folder: Path, given: dict[str, str], lake: str, match: str) -> None:
    with pytest.raises(SettingsError, match=match):
        lake_environment({**environment(folder), **given}, lake)


def test_a_folder_without_lakes_and_a_file_that_no_lake_is_called_like_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"has no lake spec; put a file <lake>\.yaml there"):
        lake_files(environment(tmp_path))
    (tmp_path / "My Lake.yaml").touch()
    with pytest.raises(SettingsError, match=r"My Lake\.yaml:1: a lake spec is called as its lake"):
        lake_environment(environment(tmp_path), "My Lake")


def test_variables_by_lake_are_found_with_setting_and_lake() -> None:
    names = (
        "LAKEHOUSE_BASE_PATH__SHOP",
        "LAKEHOUSE_MAX_EVENTS__A__B",
        "LAKEHOUSE_BASE_PATH",
        "AIRFLOW__CORE__X",
        "A__B",
    )
    assert variables_by_lake(dict.fromkeys(names, "")) == {
        "LAKEHOUSE_BASE_PATH__SHOP": ("base_path", "shop"),
        "LAKEHOUSE_MAX_EVENTS__A__B": ("max_events", "a__b"),
    }
