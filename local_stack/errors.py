"""Errors of the local stack; they belong to the project's one error tree."""

from __future__ import annotations

from spark_jobs.contracts.errors import TerminalError, TransientError


class SetupError(TerminalError):
    """The machine lacks something, or the project folder cannot be used; the message says what to do."""


class DownloadError(TransientError):
    """Packages or jars could not be fetched; running set-up again may help."""


def find_reason(output: str) -> str:
    """The line of a failed program's output that names the reason: the last one that is no frame of a stack trace."""
    lines = [line for line in output.splitlines() if line.strip() and not line.startswith("\t")]
    return lines[-1].strip() if lines else "it wrote no reason"
