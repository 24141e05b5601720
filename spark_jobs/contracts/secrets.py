"""Secrets that a process was given by its environment, and text without them."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote, quote_plus, unquote, unquote_plus

_ALONE = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "LAKEHOUSE_JDBC_PASSWORD", "OPENLINEAGE_API_KEY")
"""Variables that are a secret as a whole."""
_REPORTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OPENLINEAGE_URL")
_ADDRESSES = ("LAKEHOUSE_SERVING_URL", "LAKEHOUSE_SPARK_REMOTE", "LAKEHOUSE_JDBC_URL", *_REPORTS)
"""Variables that are a URL with a secret in it, before the host, in the query, or behind ``;`` as Spark Connect's."""
_PROPERTIES = "LAKEHOUSE_KAFKA_PROPERTIES"
_SECRET_PROPERTY = re.compile(r"password|passphrase|secret|\.key\.pem$|oauthbearer\.config")
_NAME = re.compile("pass|secret|token|pwd|credential", re.IGNORECASE)
_TRANSPORT, _KEY = "OPENLINEAGE__TRANSPORT", re.compile("key|header", re.IGNORECASE)
"""How variables of the client of OpenLineage begin, and what names a secret there too."""
_SHORTEST = 4
"""A shorter one occurs in so much text that hiding it would reveal more than it hides."""
_PASSWORD = re.compile(r"[\w+]+://[^:/@]*:(.*)@")
_LOGIN = re.compile("//[^/]*@")
MASK = "***"


def find_secrets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Every form in which a secret of these variables may occur in a message, the longest first.

    A variable of one lake (``LAKEHOUSE_SERVING_URL__SHOP``) holds what the one without a lake's name does.
    """
    plain: set[str] = set()
    for variable, text in environment.items():
        name = variable.partition("__")[0]
        if name in _ALONE:
            plain.add(text)
        elif name in _ADDRESSES:
            plain |= secrets_in(text)
        elif name == _PROPERTIES:
            plain |= secrets_of_properties(text)
        plain |= _of_reports(variable, text)
    forms = {form for secret in plain for form in (secret, quote(secret, safe=""), quote(secret), quote_plus(secret))}
    return tuple(sorted((form for form in forms if len(form) >= _SHORTEST), key=len, reverse=True))


def secrets_in(url: str) -> set[str]:
    """The password and the other secrets of a URL, as they are and as they are written."""
    # Not by urlsplit, which is stricter than those who connect: a password may have a slash in it, for one.
    found = set()
    if match := _PASSWORD.match(url):
        found |= {match.group(1), match.group(1).partition("@")[0]}
    pairs = (pair.partition("=") for pair in re.split("[?&;]", url)[1:])
    found |= {value for name, _, value in pairs if _NAME.search(name)}
    return {form for secret in found if secret for form in (secret, unquote(secret), unquote_plus(secret))}


def secrets_of_properties(text: str) -> set[str]:
    """Values of Kafka's properties, a JSON object, that must not be shown; all of a text that is none."""
    try:
        given = json.loads(text or "{}")
    except ValueError:
        return {text}
    if not isinstance(given, dict):
        return {text}
    values = {str(value) for name, value in given.items() if _SECRET_PROPERTY.search(name)}
    return {form for value in values for form in (value, json.dumps(value)[1:-1])}


def _of_reports(variable: str, text: str) -> set[str]:
    """Secrets of who is sent metrics (``name=value,name=value``) and lineage (one value, or an object of them)."""
    if variable.startswith("OTEL_EXPORTER_OTLP_") and variable.endswith("_HEADERS"):
        values = {unquote(pair.partition("=")[2].strip()) for pair in text.split(",")}
        return values | {value.rpartition(" ")[2] for value in values}  # what comes after Bearer
    if not variable.startswith(_TRANSPORT):
        return set()
    try:
        given = json.loads(text)
    except ValueError:
        given = text
    return set(_named_secrets(variable.removeprefix(_TRANSPORT), given))


def _named_secrets(name: str, given: object) -> Iterator[str]:
    if isinstance(given, dict):
        for inner, value in given.items():
            yield from _named_secrets(f"{name}.{inner}", value)
    elif _NAME.search(name) or _KEY.search(name):
        yield str(given)


def hide(text: str, secrets: Iterable[str]) -> str:
    """The text with a mask in place of each secret."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text


class DiscreetFormatter(logging.Formatter):
    """Lines of a log, tracebacks included, without the secrets."""

    def __init__(self, secrets: Sequence[str]) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._secrets = secrets

    def format(self, record: logging.LogRecord) -> str:
        return hide(super().format(record), self._secrets)


def without_secrets(url: str) -> str:
    """The part of a URL that may be shown: no login, no query, no parameters."""
    return _LOGIN.sub("//", re.split("[;?]", url, maxsplit=1)[0])
