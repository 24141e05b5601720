"""What a person says with a command and a table or commit keeps: one line each."""

from __future__ import annotations

import getpass

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show

_MOST_WORDS = 500


def check_decision(because: str | None, by: str | None, *, missing: str) -> None:
    """Raise ContractError unless ``because`` and ``by`` are one line each; ``missing`` is the error of no reason."""
    check_line(because, "because")
    check_line(by, "by")
    if not because:
        raise ContractError(missing)


def check_line(words: str | None, name: str) -> None:
    """Raise ContractError when the option of this name is given and is not one line."""
    if words is not None and (not words.isprintable() or not 0 < len(words.strip()) <= _MOST_WORDS):
        raise ContractError(f"--{name} is {show(words)}; give one line of at most {_MOST_WORDS} characters")


def decided_by(by: str | None) -> str:
    """Who decided: ``by``, or the user of this machine."""
    return by or getpass.getuser()
