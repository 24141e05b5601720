"""Settings of Spark that are secrets: they reach spark-submit by a file of its owner, not by the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

_SECRET = re.compile("secret|password|token|access[.]?key", re.IGNORECASE)
"""Names whose values Spark itself hides in its pages and event logs (``spark.redaction.regex``)."""


def split_secrets(conf: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The settings that may be shown, and those that may not."""
    secret = {name: value for name, value in conf.items() if _SECRET.search(name)}
    return {name: value for name, value in conf.items() if name not in secret}, secret


def write_properties(secret: Mapping[str, str], *, submit: Path, environment: Mapping[str, str], path: Path) -> Path:
    """Write a file that only its owner can read, unlike the command line and the log of the task.

    Spark reads it instead of its own file of defaults, so it begins with that file's text.
    """
    home = Path(environment.get("SPARK_HOME") or submit.parents[1])
    defaults = Path(environment.get("SPARK_CONF_DIR") or home / "conf", "spark-defaults.conf")
    text = defaults.read_text(encoding="utf-8") if defaults.is_file() else ""
    lines = [f"{name} {_escape(value)}" for name, value in sorted(secret.items())]
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write("\n".join([text, *lines, ""]))
    return path


def _escape(value: str) -> str:
    """A value as a Java properties file takes it, whatever is in it."""
    units = value.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 and chr(code).isalnum() else f"\\u{code:04x}" for code in codes)
