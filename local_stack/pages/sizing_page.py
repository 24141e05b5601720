"""The tables of docs/sizing.md, as the job `sizing` computes them from the measured weights; the text is by hand."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping
from dataclasses import replace

from local_stack.console import say
from local_stack.errors import SetupError
from local_stack.layout import PROJECT_ROOT
from spark_jobs.contracts.settings import Settings
from spark_jobs.sizing.load import Load
from spark_jobs.sizing.sheets import (
    Sheet,
    evenness,
    files_over_time,
    freshness,
    in_ranges,
    weighed,
    what_to_set,
)
from spark_jobs.sizing.simulation import Advice
from spark_jobs.sizing.weights import load_weights
from spark_jobs.spec_files.spec_file import load_lake_spec

PAGE = PROJECT_ROOT / "docs" / "sizing.md"
SIZES = ((10.0, 5), (1_000.0, 15), (10_000.0, 60))
"""GB a day, and minutes between two batches."""
DAYS = (1, 30, 365)
YEARS_3 = 1095
"""In which a table in ranges is looked at."""
_BLOCK = re.compile(r"(<!-- sizing: (?P<name>[\w ]+) -->\n).*?(?=<!-- end -->)", re.DOTALL)


def run(argv: list[str]) -> int:
    """Rewrite the tables."""
    argparse.ArgumentParser(
        allow_abbrev=False, prog="python -m local_stack.pages.sizing_page", description=__doc__
    ).parse_args(argv)
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), build_sheets()), encoding="utf-8")
    say(f"sizing-page: wrote {PAGE.relative_to(PROJECT_ROOT)}")
    return 0


def build_sheets() -> Mapping[str, Sheet]:
    """Every table by the name of its placeholder."""
    weights, spec = load_weights(), load_lake_spec(Settings().lake_spec)
    loads = [Load(gb_per_day=gb, batch_minutes=minutes, weights=weights) for gb, minutes in SIZES]
    found = {
        "weights": weighed(weights),
        "settings": what_to_set(loads, spec, day=DAYS[-1]),
        "freshness": freshness(loads[:1], spec, day=DAYS[-1]),
        "ranges": in_ranges([*loads[:1], replace(loads[1], batch_minutes=5), loads[1]], spec, day=YEARS_3),
        "evenness": evenness(),
    }
    for load in loads:
        for advice in (Advice(is_followed=False), Advice(is_followed=True)):
            how = "advised" if advice.is_followed else "shipped"
            found[f"{load.gb_per_day:.0f} {how}"] = files_over_time(load, spec, days=DAYS, advice=advice)
    return found


def fill(text: str, sheets: Mapping[str, Sheet]) -> str:
    """The page with these tables between its marks; SetupError when a place or a table has no other."""
    places = [match["name"] for match in _BLOCK.finditer(text)]
    if sorted(places) != sorted(sheets):
        raise SetupError(
            f"docs/sizing.md has places for {sorted(places)}, there are tables {sorted(sheets)}; match them"
        )
    return _BLOCK.sub(lambda match: f"{match[1]}{sheets[match['name']].as_markdown()}\n", text)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
