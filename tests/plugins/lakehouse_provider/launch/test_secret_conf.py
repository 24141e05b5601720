"""Which settings of Spark are secrets, by any name that Spark itself would hide, and how they come through a file."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from lakehouse_provider.launch.secret_conf import split_secrets, write_properties

HIDDEN_BY_SPARK = re.compile("(?i)secret|password|token|access[.]?key")
"""``spark.redaction.regex`` as Spark 3.5 has it."""
WORDS = ("secret", "password", "token", "access.key", "accesskey", "endpoint", "key", "memory", "user")
PART = st.sampled_from(WORDS).flatmap(lambda word: st.sampled_from([word, word.upper(), word.capitalize()]))
NAMES = st.lists(PART, min_size=1, max_size=3).map(lambda parts: ".".join(["spark", *parts]))


@given(st.dictionaries(NAMES, st.text()))
def test_what_spark_would_hide_is_in_no_command_line_and_the_rest_is(conf: dict[str, str]) -> None:
    shown, secret = split_secrets(conf)
    assert {**shown, **secret} == conf
    assert set(secret) == {name for name in conf if HIDDEN_BY_SPARK.search(name)}
    assert shown.keys().isdisjoint(secret)


@given(st.lists(st.text(st.characters(codec="utf-16")), min_size=1, max_size=4))
def test_every_value_comes_through_a_properties_file(values: list[str]) -> None:
    """Read as the specification of java.util.Properties says it, for names and values of this form."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        secret = {f"spark.secret.{number}": value for number, value in enumerate(values)}
        submit = folder / "bin" / "spark-submit"
        written = write_properties(secret, submit=submit, environment={}, path=folder / "spark.conf")
        lines = [line for line in written.read_text(encoding="ascii").splitlines() if line]
        assert written.stat().st_mode & 0o777 == 0o600
    found = dict(line.partition(" ")[::2] for line in lines)
    assert {name: read_value(value) for name, value in found.items()} == secret


def read_value(written: str) -> str:
    units = re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), written)
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
