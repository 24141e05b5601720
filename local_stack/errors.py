"""Errors of the local stack; they belong to the project's one error tree."""

from __future__ import annotations

from spark_jobs.contracts.errors import TerminalError, TransientError


class SetupError(TerminalError):
    """The machine lacks something, or the project folder cannot be used; the message says what to do."""


class DownloadError(TransientError):
    """Packages or jars could not be fetched; running set-up again may help."""
