"""The tables of docs/metrics.md from the metrics that are declared."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable

from local_stack.console import say
from local_stack.errors import SetupError
from local_stack.layout import PROJECT_ROOT
from spark_jobs.contracts.metric_names import LAKE_COUNTERS, LAKE_STATE, RUN_METRICS, Metric

PAGE = PROJECT_ROOT / "docs" / "metrics.md"
_TABLES = {"state": LAKE_STATE, "counters": LAKE_COUNTERS, "runs": RUN_METRICS}


def run(argv: list[str]) -> int:
    """Rewrite the tables."""
    prog = "python -m local_stack.pages.metrics_page"
    argparse.ArgumentParser(allow_abbrev=False, prog=prog, description=__doc__).parse_args(argv)
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    say(f"metrics-page: wrote {PAGE.relative_to(PROJECT_ROOT)}")
    return 0


def fill(text: str) -> str:
    """The page with today's tables between its marks; SetupError when they are missing."""
    for name, metrics in _TABLES.items():
        mark = f"<!-- {name} -->\n"
        place = re.compile(rf"(?<={re.escape(mark)}).*?(?=<!-- end -->)", re.DOTALL)
        text, count = place.subn(_table(metrics).replace("\\", "\\\\"), text)
        if count != 1:
            raise SetupError(f"{PAGE} has {count} places for {name}; mark one by <!-- {name} --> and <!-- end -->")
    return text


def _table(metrics: Iterable[Metric]) -> str:
    rows = (
        f"| `{each.name}` | {each.kind.value} | {each.unit} | {', '.join(f'`{label}`' for label in each.labels)} "
        f"| {each.help} |"
        for each in metrics
    )
    return "\n".join(["| name | kind | unit | labels | what |", "|---|---|---|---|---|", *rows, ""])


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
