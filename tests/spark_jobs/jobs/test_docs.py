"""The job ``docs``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.contexts import context_of, run_in
from tests.support.seen_lakes import MART, NOW, SPEC, seen_lake


def test_the_site_is_written_and_tables_without_a_description_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    lake, folder = seen_lake(tmp_path), tmp_path / "site"
    context = context_of("docs", lake.settings, clock=NOW, action="build", to=str(folder))
    result = run_in(context)
    assert (result.counters["tables"], result.messages) == (len(SPEC.table_names), ())
    assert f"open {folder / 'index.html'}" in capsys.readouterr().out
    assert (folder / f"{MART}.html").exists()
    marts = tuple(replace(each, description="") if each.name == MART else each for each in SPEC.marts)
    spec = replace(SPEC, marts=marts)
    result = run_in(context_of("docs", lake.settings, spec=spec, clock=NOW, action="build", to=str(folder)))
    assert result.messages == (f"without a description: {MART}",)
