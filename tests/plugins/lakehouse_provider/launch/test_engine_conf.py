"""Engines by name or by host, their profiles, and what goes before what. Pure, so no engine is needed."""

from __future__ import annotations

from typing import Any

import pytest

from lakehouse_provider.launch.engine_conf import PROFILES, LaunchEngine, build_conf, engine_of, load_profile
from spark_jobs.contracts.errors import SettingsError
from tests.support.connections import Facts


def facts(host: str = "spark://m:7077", **extra: Any) -> Facts:
    return Facts("spark", host=host, extra_dejson=extra)


def test_every_engine_has_a_profile_and_every_profile_an_engine() -> None:
    assert {file.stem for file in PROFILES.glob("*.yaml")} == set(LaunchEngine)


@pytest.mark.parametrize("engine", LaunchEngine)
def test_a_profile_sets_what_each_engine_needs(engine: LaunchEngine) -> None:
    conf = load_profile(PROFILES / f"{engine}.yaml")
    assert conf["spark.dynamicAllocation.enabled"] == "true"
    assert conf["spark.sql.adaptive.enabled"] == "true"
    assert conf["spark.speculation"] == "false"
    assert {"spark.executor.cores", "spark.executor.memory", "spark.executor.memoryOverhead"} <= set(conf)
    text = (PROFILES / f"{engine}.yaml").read_text(encoding="utf-8")
    values = [line for line in text.splitlines() if line.startswith("spark.")]
    assert len(values) == len(conf), "a name is in it twice"


@pytest.mark.parametrize(
    ("connection", "engine"),
    [
        (facts("spark://m:7077"), LaunchEngine.STANDALONE),
        (facts("yarn"), LaunchEngine.YARN),
        (facts("k8s://https://x"), LaunchEngine.KUBERNETES),
        (facts("local[2]"), None),
        (facts("yarn", engine="yarn"), LaunchEngine.YARN),
        (facts("", engine="emr_serverless"), LaunchEngine.EMR_SERVERLESS),
    ],
)
def test_an_engine_is_named_or_found_by_the_host(connection: Facts, engine: LaunchEngine | None) -> None:
    assert engine_of(connection) is engine


@pytest.mark.parametrize(
    ("connection", "message"),
    [
        (facts(engine="flink"), "no engine 'flink'; known are standalone, yarn, kubernetes, emr_serverless"),
        (facts(engine="yarn"), "host 'spark://m:7077' is no master of engine yarn; it has to begin with yarn"),
        (facts("", engine="standalone"), "host '' is no master of engine standalone"),
    ],
)
def test_an_engine_that_cannot_be_is_one_clear_line(connection: Facts, message: str) -> None:
    with pytest.raises(SettingsError, match="lakehouse_spark") as raised:
        engine_of(connection)
    assert message in str(raised.value)


def test_without_an_engine_nothing_comes_from_a_profile() -> None:
    assert "spark.speculation" not in build_conf(facts(), {})
    assert "spark.speculation" in build_conf(facts(engine="standalone"), {})


def test_the_connection_goes_before_variables_and_these_before_the_profile() -> None:
    name, variables = "spark.sql.shuffle.partitions", {"LAKEHOUSE_SHUFFLE_PARTITIONS": "7"}
    profile = load_profile(PROFILES / "standalone.yaml")[name]
    assert build_conf(facts(engine="standalone"), {})[name] == profile != "7"
    assert build_conf(facts(engine="standalone"), variables)[name] == "7"
    assert build_conf(facts(engine="standalone", conf={name: 9}), variables)[name] == "9"


def test_the_drivers_clock_is_utc_whatever_options_it_is_given() -> None:
    name = "spark.driver.extraJavaOptions"
    assert "-Duser.timezone=UTC" in build_conf(facts(), {})[name]
    assert build_conf(facts(conf={name: "-Xss4m"}), {})[name] == "-Xss4m -Duser.timezone=UTC"


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        (
            {"spark.serializer": "x", "spark.sql.session.timeZone": "CET"},
            "sets spark.serializer, spark.sql.session.tim",
        ),
        ({"hoodie.table.version": 8}, "sets hoodie.table.version: the project sets it itself"),
        ({"spark.hadoop.hoodie.x": 8}, "the project sets it itself"),
        ({"executor.memory": "8g"}, "executor.memory is no setting of Spark"),
        ({"spark.executor.memory": ["8g"]}, r"spark.executor.memory is \['8g'\]"),
        (["spark.executor.memory=8g"], "conf must be a mapping"),
    ],
)
def test_what_the_project_sets_or_makes_no_sense_is_refused(conf: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        build_conf(facts(conf=conf), {})
