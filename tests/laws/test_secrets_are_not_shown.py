"""Whatever can hold a secret does not show it: every setting, every dataclass, every form of an error that refuses one.

The settings that hold secrets are those that their class does not show; nothing here names one of them.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spark_jobs
from spark_jobs.connectors.address import JdbcAddress
from spark_jobs.contracts.errors import LakehouseError
from spark_jobs.contracts.kafka import parse_properties
from spark_jobs.contracts.secrets import find_secrets, hide
from spark_jobs.contracts.settings import PREFIX, Settings
from spark_jobs.sources.kafka import client_properties

CANARY = "canary-5e1f"
SECRET = [each.name for each in dataclasses.fields(Settings) if not each.repr]
_TELLING = re.compile(r"pass|secret|token|pwd|credential|properties|(jdbc|serving)_url|remote")
_HARMLESS = {("Lease", "_token"), ("_Found", "token")}
"""A lease's token is a random number that says who holds it, and gives no access."""
FORMS = (
    "{}",
    "\n{}",
    "jdbc:postgresql://me:{}@host/db",
    "jdbc:mysql://host/db?password={}",
    "jdbc:oracle:thin:me/{}@host",
    "jdbc:sqlserver://host;user=me;password={}",
    "sc://host:15002/;token={}",
    "http://host:1/;token={}",
    "http://me:{}@host",
    "mysql://me:{}@host/db",
    "postgresql://host/db?user=me&sslpassword={}",
    '{{"sasl.password": "{}"}}',
    '{{"sasl.password": ["{}"]}}',
    '{{"sasl.password": {{"a": "{}"}}}}',
    '{{"sasl.password": "{}"',
    '["{}"]',
    '"{}"',
    '{{"group.id": "x", "sasl.password": "{}"}}',
    '{{"sasl.password": "{}", "ssl.engine.id": "x"}}',
    "password={}",
)
"""What a user may give that has a secret in it, well or badly written."""
GIVEN = [(name, form) for name in SECRET for form in FORMS if "://" in form or name != "spark_remote"]
"""All of them; what is no address at all is shown when it is refused as the address of a Spark server."""
KAFKA = (
    *("sasl.password", "ssl.key.password", "ssl.key.pem", "ssl.keystore.password", "sasl.oauthbearer.config"),
    *("sasl.oauthbearer.client.secret", "sasl.oauthbearer.client.credentials.client.secret"),
    *("sasl.oauthbearer.assertion.private.key.pem", "sasl.oauthbearer.assertion.private.key.passphrase"),
)
"""Of librdkafka's properties those that its documentation calls a secret, or whose value has one in it."""


def all_dataclasses() -> list[type]:
    found = []
    for module in pkgutil.walk_packages(spark_jobs.__path__, "spark_jobs."):
        loaded = vars(importlib.import_module(module.name))
        found += [
            each
            for each in loaded.values()
            if isinstance(each, type) and dataclasses.is_dataclass(each) and each.__module__ == module.name
        ]
    return found


def test_no_dataclass_shows_a_field_that_can_hold_a_secret():
    classes = all_dataclasses()
    assert {Settings, JdbcAddress} <= {*classes}
    shown = {
        (each.__name__, field.name)
        for each in classes
        for field in dataclasses.fields(each)
        if field.repr and _TELLING.search(field.name)
    }
    assert shown == _HARMLESS


@pytest.mark.parametrize(("name", "form"), GIVEN)
def test_a_setting_with_a_secret_is_shown_by_nothing_that_takes_it_or_refuses_it(name: str, form: str):
    variable, value = PREFIX + name.upper(), form.format(CANARY)
    steps: list[Any] = [
        lambda: Settings.from_environment({variable: value}),
        lambda: client_properties(Settings(kafka_servers="host:9092", kafka_properties=value)),
        lambda: parse_properties(value),
        lambda: JdbcAddress.parse(value),
    ]
    for step in steps:
        shown = shown_by(step)
        assert CANARY not in f"{shown!s} {shown!r}"


def shown_by(step: Callable[[], Any]) -> Any:
    """What a reader of a log may see: the settings that were made, or the error; what else is made goes to clients."""
    try:
        made = step()
    except LakehouseError as error:
        return error
    return made if isinstance(made, Settings) else None


@pytest.mark.parametrize("name", KAFKA)
@given(value=st.text(min_size=4) | st.integers(1000))
def test_a_secret_of_kafka_is_hidden_wherever_it_is_written(name: str, value: str | int):
    """As it is, and as the JSON has it that it came in; a number too."""
    text = json.dumps({"security.protocol": "SASL_SSL", name: value, "sasl.username": "reader"})
    secrets = find_secrets({PREFIX + "KAFKA_PROPERTIES": text})
    for form in (str(value), json.dumps(value).strip('"')):
        assert form in secrets
        assert hide(f"<{form}>", secrets) == "<***>"


words = st.text(st.sampled_from("ab/+ é"), min_size=4, max_size=9)


@settings(max_examples=50)
@given(words, words, st.sampled_from(["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"]))
def test_of_two_secrets_that_are_part_of_each_other_nothing_stays(one: str, more: str, name: str):
    """The longer one is hidden whole, whichever variable has it."""
    longer = one + more
    for environment in (
        {name: one, PREFIX + "JDBC_PASSWORD": longer},
        {name: longer, PREFIX + "JDBC_PASSWORD": one},
        {name: more, PREFIX + "KAFKA_PROPERTIES": json.dumps({"sasl.password": longer, "ssl.key.password": one})},
    ):
        assert hide(f"<{longer}>", find_secrets(environment)) == "<***>"


@pytest.mark.parametrize("lake", ["", "__SHOP", "__NORTH__SHOP_2"])
@pytest.mark.parametrize("name", SECRET)
def test_a_secret_of_every_setting_is_found_in_the_environment(name: str, lake: str):
    """In the variable of one lake too."""
    found = [
        CANARY in find_secrets({PREFIX + name.upper() + lake: form.format(CANARY)})
        for form in FORMS
        if "://" in form or form.startswith("{{") or form == "{}"
    ]
    assert any(found)
