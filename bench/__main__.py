"""`python -m bench PART` (or `make bench` for all): measure one part; results go to bench/results/."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bench.aims import aims_section
from bench.parts import CONTENDERS, PARTS
from bench.processes import other_work
from bench.race import say
from bench.report import Conditions, Figures, render_page, to_json
from bench.session import CORES
from spark_jobs.contracts.errors import LakehouseError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure a part and rewrite the page; 1 when contenders disagree about the rows, 2 when it could not start."""
    options = _parse(arguments)
    settings = replace(Settings.from_environment(), spark_remote="")
    started_at, load_at_start = datetime.now(UTC), os.getloadavg()
    try:
        with other_work() as others, tempfile.TemporaryDirectory(prefix="bench-") as folder:
            found = PARTS[options.part](options, settings, Path(folder))
    except LakehouseError as error:
        print(error, file=sys.stderr)
        return 2
    conditions = Conditions(
        started_at=started_at.isoformat(timespec="seconds"),
        cores=CORES,
        load_at_start=load_at_start,
        load_at_end=os.getloadavg(),
        others=others["share"],
    )
    results: Path = options.results_folder
    results.mkdir(parents=True, exist_ok=True)
    text = json.dumps(to_json(found, conditions), indent=1)
    (results / f"{options.part}.json").write_text(text + "\n", encoding="utf-8")
    files = {part: results / f"{part}.json" for part in PARTS}
    documents = {part: json.loads(file.read_text(encoding="utf-8")) for part, file in files.items() if file.exists()}
    page = render_page(list(documents.values()), first=list(aims_section(documents)))
    (results / "README.md").write_text(page, encoding="utf-8")
    say(f"results are in {results}")
    if not isinstance(found, Figures) and found.disagreements:
        say(f"the contenders disagree about the rows: {'; '.join(found.disagreements)}")
        return 1
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="python -m bench",
        description="Measure one part in one warm session on two cores and write its results.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "part", choices=PARTS, help="; ".join(f"{name}: {part.__doc__}" for name, part in PARTS.items())
    )
    parser.add_argument("--rounds", type=_at_least(1), default=7, metavar="N", help="timed rounds")
    parser.add_argument("--warm-ups", type=_at_least(0), default=6, metavar="N", help="rounds before them")
    parser.add_argument("--rows-scale", type=_scale, default=1.0, metavar="X", help="times the rows of every table")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS), help="who is in w1")
    parser.add_argument(
        "--events",
        nargs="+",
        type=_at_least(1000),
        metavar="N",
        help="events in the history of stitch (default: 1000000 10000000 30000000) and slow (default: 10000000), in "
        "the batch of cluster (default: 10000000), in an arrival of sizes (default: 300000), in the files of "
        "first-load (default: 2000000), in the arrivals of memory (default: 10000 100000 1000000), in the topic of "
        "kafka (default: 1000000), in a round of `mirrors` (default: 1000 for each table)",
    )
    parser.add_argument(
        "--results-folder",
        type=Path,
        default=PROJECT_ROOT / "bench" / "results",
        metavar="PATH",
        help="where <part>.json and README.md are written over; give another one for a trial",
    )
    batches = "batches of day (default: 288) and dashboard (default: 96)"
    parser.add_argument("--batches", type=_at_least(16), metavar="N", help=batches)
    parser.add_argument(
        "--tables",
        type=_at_least(1),
        metavar="N",
        help="of `mirrors` and `found`: tables of the lake (default: 100; found: 100 1000)",
    )
    parser.add_argument(
        "--alone", type=_at_least(1), metavar="N", help="those of them that get a job of their own, too (default: all)"
    )
    options = parser.parse_args(arguments)
    options.contenders = list(dict.fromkeys(options.contenders))
    return options


def _at_least(least: int) -> Callable[[str], int]:
    def count(text: str) -> int:
        if (number := int(text)) < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}")
        return number

    return count


def _scale(text: str) -> float:
    scale = float(text)
    if not 0 < scale <= 1000:
        raise argparse.ArgumentTypeError("must be greater than 0 and at most 1000")
    return scale


if __name__ == "__main__":
    sys.exit(main())
