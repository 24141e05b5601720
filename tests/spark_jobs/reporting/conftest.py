"""Runs that are reported to nobody, until a test says to whom."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def no_variables(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """None of the variables that say where reports go."""
    for name in list(os.environ):
        if name.startswith(("OTEL_", "OPENLINEAGE")):
            monkeypatch.delenv(name)
    return monkeypatch
