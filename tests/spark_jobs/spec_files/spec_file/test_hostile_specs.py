"""Hostile names in every place of a lake spec, a mart, the rules, views and their files: refused on one clear line.

Each document is the shipped one with one name exchanged; the names are those of tests/support/hostile_names.py.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError, LakehouseError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.spec_files.mart_file import load_marts, parse_mart
from spark_jobs.spec_files.rules_file import load_rules, parse_rules
from spark_jobs.spec_files.spec_file import load_lake_spec, parse_lake_spec
from spark_jobs.spec_files.views import load_views
from tests.support.hostile_names import HOSTILE, fits_file_name, is_clear

pytestmark = pytest.mark.slice(name="tables")

INCLUDE = PROJECT_ROOT / "include"
LAKE: dict[str, Any] = yaml.safe_load((INCLUDE / "lakes" / "sales.yaml").read_text(encoding="utf-8"))
MART: dict[str, Any] = yaml.safe_load((INCLUDE / "marts" / "slow_agent_success.yaml").read_text(encoding="utf-8"))
RULES: dict[str, Any] = yaml.safe_load((INCLUDE / "rules" / "v1.yaml").read_text(encoding="utf-8"))
OTHERS = tuple(each for each in load_lake_spec(Settings().lake_spec).marts if each.name != MART["name"])
MOST = 400
KEY = object()
"""In a path: the name of an entry itself."""

LAKE_PLACES: dict[str, tuple[Any, ...]] = {
    "lake": ("lake",),
    "log": ("log",),
    "quarantine": ("quarantine",),
    "time zone": ("time_zone",),
    "an entry": (KEY,),
    "topic": ("source", "topics", 0),
    "source key": ("source", "key"),
    "an entry of the source": ("source", KEY),
    "column": ("source", "columns", 1, "name"),
    "type": ("source", "columns", 1, "type"),
    "an entry of a column": ("source", "columns", 1, KEY),
    "table": ("tables", 0, "name"),
    "key of a table": ("tables", 0, "key"),
    "column of a table": ("tables", 0, "columns", 0),
    "type of a table": ("tables", 0, "type"),
    "an entry of a table": ("tables", 0, KEY),
    "kind of people": ("people", KEY),
    "key of people": ("people", "agent", "key"),
    "column of people": ("people", "agent", "columns", 0),
    "an entry of the services": ("services", KEY),
    "a table with services": ("services", "tables", KEY),
    "order of clustering": ("services", "sort_by", 0),
}
MART_PLACES: dict[str, tuple[Any, ...]] = {
    "mart": ("name",),
    "layer": ("layer",),
    "mode": ("mode",),
    "grain": ("grain", 0),
    "partition": ("partition",),
    "scope": ("scope",),
    "time": ("time", "column"),
    "unit": ("time", "unit"),
    "an entry": (KEY,),
    "an entry of a read": ("reads", 0, KEY),
    "what it reads": ("reads", 0, "table"),
}
TOPIC = re.compile(r"[A-Za-z0-9._-]+")
"""Topics have names of their own, which are compared with those of folders and never made a path."""
NAMES = [*HOSTILE.values(), "", None, 7, ["sales"], {"a": "b"}]


def exchanged(document: dict[str, Any], path: tuple[Any, ...], name: Any) -> dict[str, Any]:
    """A copy with ``name`` at the end of ``path``."""
    changed: Any = copy.deepcopy(document)
    inner = changed
    for step in path[:-1]:
        if step not in inner if isinstance(inner, dict) else False:
            inner[step] = [] if step == "sort_by" else {}
        inner = inner[step]
    if path[-1] is KEY:
        inner[name if isinstance(name, str | int | None) else str(name)] = {"key": "agent_id"}
    elif isinstance(inner, list) and not inner:
        inner.append(name)
    else:
        inner[path[-1]] = name
    return dict(changed)


def refusal(read: Callable[[Any], object], what: Any) -> str:
    with pytest.raises(LakehouseError) as caught:
        read(what)
    assert caught.value.exit_code == 2
    return str(caught.value)


def read_mart(document: dict[str, Any]) -> object:
    """As a lake with this mart among the shipped ones is read."""
    return parse_lake_spec(LAKE, (*OTHERS, parse_mart(document, "SELECT 1")))


@pytest.mark.parametrize("place", LAKE_PLACES)
def test_in_a_lake_spec(place):
    for name in NAMES:
        if place == "topic" and isinstance(name, str) and TOPIC.fullmatch(name):
            continue
        changed = exchanged(LAKE, LAKE_PLACES[place], name)
        assert is_clear(refusal(parse_lake_spec, changed), most=MOST), name


@pytest.mark.parametrize("place", MART_PLACES)
def test_in_a_mart(place):
    for name in NAMES:
        if (place, name) == ("partition", ""):
            continue  # none
        changed = exchanged(MART, MART_PLACES[place], name)
        assert is_clear(refusal(read_mart, changed), most=700), name


RULES_PLACES: dict[str, tuple[Any, ...]] = {
    "version": ("version",),
    "an entry": (KEY,),
    "a value": ("values", KEY),
    "type": ("values", "share", "type"),
    "an entry of a value": ("values", "share", KEY),
    "a fingerprint": ("formerly", 0),
}


@pytest.mark.parametrize("path", RULES_PLACES.values(), ids=RULES_PLACES)
def test_in_rules(path):
    for name in NAMES:
        changed = exchanged(RULES, path, name)
        assert is_clear(refusal(parse_rules, changed), most=MOST), name


COLUMN = ("source", "columns", 1, "source")


@pytest.mark.parametrize("name", [n for n in NAMES if not isinstance(n, str) or not n.isprintable() or len(n) > 128])
def test_a_source_column_has_a_name_that_can_be_printed(name):
    assert is_clear(refusal(parse_lake_spec, exchanged(LAKE, COLUMN, name)), most=MOST)


@pytest.mark.parametrize("name", [n for n in HOSTILE.values() if n.isprintable() and len(n) <= 128])
def test_a_source_column_may_be_called_as_its_database_allows(name):
    """It is the name of a field in a JSON object, and is compared as such."""
    assert parse_lake_spec(exchanged(LAKE, COLUMN, name)).source.columns[1].source == name


@pytest.mark.parametrize("name", ["op", "event_id", "read_from", "is_deleted", "cell_id", "a__b", "unit_id_order"])
def test_a_column_is_not_called_as_a_technical_one(name):
    changed = exchanged(LAKE, ("source", "columns", 1, "name"), name)
    assert f"source column '{name}' is a name kept for technical columns" in refusal(parse_lake_spec, changed)


@pytest.mark.parametrize("name", [*HOSTILE.values(), ""])
def test_the_folder_of_the_marts(tmp_path, name):
    """It is a path, so what is refused is what no folder has."""
    spec = tmp_path / "lake.yaml"
    spec.write_text(yaml.safe_dump({**LAKE, "marts": f"no/{name}"}), encoding="utf-8")
    assert "\n" not in refusal(load_lake_spec, str(spec))


FILE_NAMES = [n for n in HOSTILE.values() if fits_file_name(f"{n}.yaml") and "\ud800" not in n]


@pytest.mark.parametrize("name", FILE_NAMES)
def test_in_the_names_of_files(tmp_path, name):
    """A file that is called what it declares: the name in it is no identifier."""
    for folder, document in (("marts", {**MART, "name": name}), ("rules", {**RULES, "version": name})):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
        (tmp_path / folder / f"{name}.sql").write_text("SELECT 1", encoding="utf-8")
    for place in (f"views/fast/{name}.sql", f"layers/{name}/good.sql"):
        (tmp_path / place).parent.mkdir(parents=True)
        (tmp_path / place).write_text("SELECT sale_id FROM sales", encoding="utf-8")
    assert refusal(load_marts, tmp_path / "marts").isprintable()
    assert refusal(load_rules, str(tmp_path / "rules")).isprintable()
    assert refusal(load_views, tmp_path / "views").isprintable()
    assert refusal(load_views, tmp_path / "layers").isprintable()


@pytest.mark.parametrize(
    "text", ["a: 2026-13-45", "a: !!int x", "a: \0", "[" * 20_000, "\ud83d", "? [a]\n: b", "a: *b", "!!python/none x"]
)
def test_a_file_that_no_yaml_reader_takes(tmp_path, text):
    spec = tmp_path / "lake.yaml"
    spec.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert is_clear(refusal(load_lake_spec, str(spec)).replace(str(tmp_path), ""), most=500)


names = st.text(max_size=80) | st.sampled_from(NAMES)


@given(st.sampled_from(sorted(LAKE_PLACES)), names)
def test_no_name_makes_another_error_than_ours(place, name):
    with suppress(ContractError):
        parse_lake_spec(exchanged(LAKE, LAKE_PLACES[place], name))


@given(st.sampled_from(sorted(MART_PLACES)), names)
def test_no_name_in_a_mart_makes_another_error_than_ours(place, name):
    with suppress(ContractError):
        parse_mart(exchanged(MART, MART_PLACES[place], name), "SELECT 1")
