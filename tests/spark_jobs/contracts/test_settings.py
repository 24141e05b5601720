"""Settings come from LAKEHOUSE_* alone, once; a value that does not fit is one clear line."""

from __future__ import annotations

import importlib.util
import sys
import zipfile
from dataclasses import asdict, fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from spark_jobs.contracts import settings as module
from spark_jobs.contracts.errors import SettingsError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings


def test_nothing_set_means_the_defaults():
    assert Settings.from_environment({}) == Settings()
    assert Settings.from_environment({"LAKEHOUSE_MAX_EVENTS": "", "HOME": "/nowhere"}) == Settings()
    assert Settings().base_path == str(PROJECT_ROOT / "data" / "lake")


def test_every_variable_reaches_its_setting():
    settings = Settings.from_environment(
        {"LAKEHOUSE_BASE_PATH": "/lake", "LAKEHOUSE_MAX_EVENTS": "12", "LAKEHOUSE_SPARK_REMOTE": "sc://host:15002"}
    )
    assert (settings.base_path, settings.max_events, settings.spark_remote) == ("/lake", 12, "sc://host:15002")


VALID = {
    "kafka_servers": "one:9092,two:9092",
    "spark_remote": "sc://host:1",
    "driver_memory": "7g",
    "lock_servers": "one:2181",
    "s3_encryption": "SSE-KMS",
    "catalog": "thrift://host:9083",
    "athena_results": "s3://bucket/folder/",
}
"""Of settings that take only certain values; each other one gets a text or number of its own."""


def test_every_setting_is_read_from_its_own_variable_and_no_other():
    wanted: dict[str, Any] = {
        each.name: VALID.get(each.name) or (f"/own/{each.name}" if isinstance(each.default, str) else number)
        for number, each in enumerate(fields(Settings), start=1)
    }
    wanted["catalog_database"], wanted["athena_workgroup"] = "own", "own"
    settings = Settings.from_environment({f"LAKEHOUSE_{name.upper()}": str(value) for name, value in wanted.items()})
    assert asdict(settings) == wanted
    for name, value in wanted.items():
        alone = Settings.from_environment({f"LAKEHOUSE_{name.upper()}": str(value)})
        assert alone == replace(Settings(), **{name: value})


def test_relative_paths_are_taken_from_here_and_addresses_left_alone():
    settings = Settings.from_environment({"LAKEHOUSE_LANDING_PATH": "in", "LAKEHOUSE_BASE_PATH": "s3a://bucket/lake"})
    assert settings.landing_path == str(Path.cwd() / "in")
    assert settings.table_path("units") == "s3a://bucket/lake/units"


def test_a_table_is_below_the_base_however_it_is_written():
    assert Settings(base_path="/lake/").table_path("units") == "/lake/units"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MAX_EVENTS", "many"),
        ("MAX_EVENTS", "-1"),
        ("MAX_EVENTS", "0"),
        ("WRITE_THREADS", "0"),
        ("SHUFFLE_PARTITIONS", "1.5"),
        ("DRIVER_MEMORY", "lots"),
        ("DRIVER_MEMORY", "4 g"),
        ("SPARK_REMOTE", "http://localhost"),
        ("CATALOG", "hive"),
        ("KAFKA_SERVERS", "broker"),
        ("KAFKA_SERVERS", "kafka://broker:9092"),
        ("KAFKA_SERVERS", "broker:9092;other:9092"),
        ("BASE_PATH", "/data/my lake"),
        ("BASE_PATH", "/data/100%"),
    ],
)
def test_a_value_that_does_not_fit_is_named(name, value):
    with pytest.raises(SettingsError) as caught:
        Settings.from_environment({f"LAKEHOUSE_{name}": value})
    assert f"LAKEHOUSE_{name}={value}" in str(caught.value).replace("'", "")
    assert "\n" not in str(caught.value)


PLACES = {"base_path": "s3a://bucket/lake", "landing_path": "s3a://bucket/landing"}


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module as a driver elsewhere has it: in a zip, with the lake's files."""
    archive = tmp_path / "spark_jobs.zip"
    with zipfile.ZipFile(archive, "w") as packing:
        packing.writestr("include/lakes/sales.yaml", "lake: of_the_zip\n")
        packing.writestr("include/rules/v1.yaml", "version: v1\n")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("spark_jobs.contracts.lakes.CHECKOUT", None)
    spec = importlib.util.spec_from_file_location("packed_settings", module.__file__)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    found.__file__ = str(archive / "spark_jobs" / "contracts" / "settings.py")
    monkeypatch.setitem(sys.modules, spec.name, found)
    spec.loader.exec_module(found)
    return found


def environment(**values: str) -> dict[str, str]:
    return {f"LAKEHOUSE_{name.upper()}": value for name, value in values.items()}


@pytest.mark.parametrize("base_path", ["gs://bucket/lake", "hdfs://name/lake", "abfss://box@account/lake"])
def test_a_lake_elsewhere_needs_leases_that_all_machines_see(base_path: str):
    """Refused before the storage is opened: without its credentials a client may wait for minutes."""
    with pytest.raises(SettingsError, match=r"needs leases that all machines see; set LAKEHOUSE_LOCK_SERVERS"):
        Settings(base_path=base_path)
    assert Settings(base_path=base_path, lock_servers="one:2181").base_path == base_path


@pytest.mark.parametrize("base_path", ["/data/lake", "file:///data/lake", "s3://bucket/lake", "s3a://bucket/lake"])
def test_local_files_and_s3_keep_leases_themselves(base_path: str):
    assert Settings(base_path=base_path).lock_servers == ""


def test_in_a_zip_the_lakes_files_are_those_of_the_zip_unless_others_are_set(packed: ModuleType):
    settings = packed.Settings.from_environment(environment(**PLACES))
    assert (settings.base_path, settings.landing_path) == tuple(PLACES.values())
    assert Path(settings.lake_spec).read_text(encoding="utf-8") == "lake: of_the_zip\n"
    assert [file.name for file in Path(settings.rules_path).iterdir()] == ["v1.yaml"]
    own = packed.Settings.from_environment(environment(**PLACES, rules_path="/own/rules"))
    assert (own.rules_path, own.lake_spec) == ("/own/rules", settings.lake_spec)


@pytest.mark.parametrize("name", PLACES)
def test_in_a_zip_there_is_no_default_for_where_the_lake_is(packed: ModuleType, name: str):
    given = environment(**{each: place for each, place in PLACES.items() if each != name})
    with pytest.raises(SettingsError) as caught:
        packed.Settings.from_environment(given)
    message = f"LAKEHOUSE_{name.upper()} is not set, and outside the project's folder it has no default; set it"
    assert str(caught.value) == message
