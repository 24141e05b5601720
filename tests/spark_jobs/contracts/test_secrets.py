"""A secret is found in every variable that can hold one, and hidden in every form in which a message may have it."""

from __future__ import annotations

import json
import logging
import sys
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.secrets import DiscreetFormatter, find_secrets, hide, without_secrets

CANARY = "ca/na ry@1"
WRITTEN = quote(CANARY, safe="")
PLACES = [
    {"AWS_SECRET_ACCESS_KEY": CANARY},
    {"AWS_SESSION_TOKEN": CANARY},
    {"LAKEHOUSE_SERVING_URL": f"mysql://me:{WRITTEN}@host:3306/db"},
    {"LAKEHOUSE_SERVING_URL": f"postgresql://host/db?user=me&password={WRITTEN}"},
    {"LAKEHOUSE_SERVING_URL": f"postgresql://host/db?sslpassword={WRITTEN}&sslmode=require"},
    {"LAKEHOUSE_KAFKA_PROPERTIES": json.dumps({"sasl.username": "me", "sasl.password": CANARY})},
    {"LAKEHOUSE_SPARK_REMOTE": f"sc://host:15002/;user_id=me;token={WRITTEN};use_ssl=true"},
    {"LAKEHOUSE_SERVING_URL__NORTH_SHOP": f"mysql://me:{WRITTEN}@host:3306/db"},
]


@pytest.mark.parametrize("environment", PLACES, ids=" ".join)
def test_a_secret_is_hidden_as_it_is_and_as_it_is_written(environment):
    secrets = find_secrets(environment)
    for form in (CANARY, WRITTEN, CANARY.replace(" ", "+").replace("/", "%2F").replace("@", "%40")):
        assert hide(f"before {form} after", secrets) == "before *** after"


def test_what_is_no_secret_stays():
    secrets = find_secrets({"LAKEHOUSE_SERVING_URL": f"mysql://me:{WRITTEN}@host/db", "LAKEHOUSE_BASE_PATH": "/lake"})
    assert hide("me at host, db, /lake", secrets) == "me at host, db, /lake"
    assert find_secrets({}) == ()


@pytest.mark.parametrize("password", ["a/word", "a;word", "a?word", "a@word", "a#word", "a:word", "a&word=b"])
def test_a_password_that_should_have_been_written_otherwise_is_found_too(password):
    assert password in find_secrets({"LAKEHOUSE_SERVING_URL": f"mysql://me:{password}@[host/db"})


def test_of_kafkas_properties_the_secret_ones_are_hidden():
    secret = {name: f"canary {name}" for name in ("sasl.password", "ssl.key.pem", "ssl.key.password")}
    text = json.dumps({**secret, "sasl.username": "reader", "security.protocol": "SASL_SSL"})
    secrets = find_secrets({"LAKEHOUSE_KAFKA_PROPERTIES": text})
    assert set(secret.values()) <= set(secrets)
    assert hide("reader by SASL_SSL", secrets) == "reader by SASL_SSL"
    for other in ("not json", '["sasl.password", "canary"]', '"sasl.password=canary"'):
        assert other in find_secrets({"LAKEHOUSE_KAFKA_PROPERTIES": other})
    key = "-----BEGIN\nabcd"
    assert json.dumps(key)[1:-1] in find_secrets({"LAKEHOUSE_KAFKA_PROPERTIES": json.dumps({"ssl.key.pem": key})})


def test_a_log_line_has_no_secret_nor_has_its_traceback():
    formatter = DiscreetFormatter(find_secrets(PLACES[2]))
    try:
        raise ValueError(f"cannot reach mysql://me:{WRITTEN}@host")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, __file__, 1, "tried %s", (CANARY,), sys.exc_info())
    logged = formatter.format(record)
    assert "tried ***" in logged
    assert "mysql://me:***@host" in logged


def test_an_address_is_shown_without_its_secrets():
    assert without_secrets("sc://host:15002/;token=x;user_id=y") == "sc://host:15002/"
    assert without_secrets("mysql://me:x@y@host/db?password=z") == "mysql://host/db"


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=4))
def test_any_password_is_found_in_its_url(password):
    secrets = find_secrets({"LAKEHOUSE_SERVING_URL": f"mysql://me:{quote(password, safe='')}@host/db"})
    assert password in secrets
    assert quote(password, safe="") in secrets


SESAME = "sesame-of-reports"


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("OTEL_EXPORTER_OTLP_HEADERS", f"x-team=lake, authorization=Bearer%20{SESAME}"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", f"https://writer:{SESAME}@collector:4318"),
        ("OPENLINEAGE_API_KEY", SESAME),
        ("OPENLINEAGE__TRANSPORT__AUTH__APIKEY", SESAME),
        ("OPENLINEAGE__TRANSPORT", json.dumps({"type": "http", "auth": {"type": "api_key", "apiKey": SESAME}})),
    ],
)
def test_secrets_of_who_gets_reports_are_hidden(variable: str, text: str):
    line = hide(f"401 for {SESAME} of type http", find_secrets({variable: text}))
    assert line == "401 for *** of type http"
