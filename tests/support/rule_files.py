"""Files of rule versions for tests, in which each value is a CASE over one column."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def case_of(column: str, results: Mapping[int, str], otherwise: str) -> str:
    """SQL of a value: a result for each of some numbers in the column, and one for all others."""
    branches = " ".join(f"WHEN {number} THEN {result}" for number, result in results.items())
    return f"CASE {column} {branches} ELSE {otherwise} END" if results else otherwise


def write_rules(
    folder: Path, version: str, *, valid_from: str = "2026-01-01", promoted: bool = True, **values: str
) -> Path:
    """Write ``<version>.yaml`` whose values are decimal(9,6); gives the folder."""
    lines = [f"version: {version}", f"valid_from: {valid_from}", f"promoted: {str(promoted).lower()}"]
    lines += ["description: x", "values:"]
    for name, sql in values.items():
        lines += [f"  {name}:", "    type: decimal(9,6)", f'    sql: "{sql}"']
    (folder / f"{version}.yaml").write_text("\n".join([*lines, ""]), encoding="utf-8")
    return folder


def sales_rules(
    folder: Path,
    version: str,
    shares: Mapping[int, str],
    factors: Mapping[int, str],
    *,
    valid_from: str = "2026-01-01",
    promoted: bool = True,
) -> Path:
    """The file of a version with the values that the shipped marts use: shares by status, factors by project."""
    share, factor = case_of("status_id", shares, "0"), case_of("project_id", factors, "1")
    return write_rules(folder, version, valid_from=valid_from, promoted=promoted, share=share, factor=factor)
