"""What a person says with a command and a table or commit keeps: one line each."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from typing import Any

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show

_MOST_WORDS = 500


def check_said(options: Mapping[str, Any], *, missing: str) -> None:
    """Raise ContractError unless ``because`` and ``by`` are one line each; ``missing`` tells of none."""
    for name in ("because", "by"):
        check_line(options, name)
    if not options.get("because"):
        raise ContractError(missing)


def check_line(options: Mapping[str, Any], name: str) -> None:
    """Raise ContractError when the option is given and is not one line."""
    words = options.get(name)
    if words is not None and (not words.isprintable() or not 0 < len(words.strip()) <= _MOST_WORDS):
        raise ContractError(f"--{name} is {show(words)}; give one line of at most {_MOST_WORDS} characters")


def said_by(options: Mapping[str, Any]) -> str:
    """Who says so: ``by``, or the user of this machine."""
    return options.get("by") or getpass.getuser()
