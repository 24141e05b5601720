"""The options of ``erase`` are the kinds of people of the lake; a broken lake spec keeps no help from being shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import end


def test_the_kinds_of_people_of_the_lake_are_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert end(["erase", "--help"]) == 0
    output = capsys.readouterr().out
    assert "--agent" in output
    assert "--customer" in output


def test_help_is_shown_beside_what_is_wrong_with_the_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "broken.yaml"
    spec.write_text("lake: [", encoding="utf-8")
    monkeypatch.setenv("LAKEHOUSE_LAKE_SPEC", str(spec))
    assert end(["erase", "--help"]) == 0
    output = capsys.readouterr().out
    assert "--yes" in output
    assert "broken.yaml" in output
    assert "--agent" not in output
