"""`python -m bench` (or `make bench`): time workload W1, contenders side by side; results go to bench/results/."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from bench.contenders import Contender, DefaultHudi, Delta, Iceberg, Ours, ParquetFloor, fingerprint
from bench.report import BenchRun, render_page
from bench.session import CORES, PEER_JARS, open_bench_session
from bench.workload import Workload
from spark_jobs.contracts.errors import LakehouseError
from spark_jobs.contracts.settings import PROJECT_ROOT, Settings
from spark_jobs.contracts.spec_file import load_lake_spec
from spark_jobs.session import find_jars

CONTENDERS: Mapping[str, type[Contender]] = {
    "ours": Ours,
    "iceberg": Iceberg,
    "delta": Delta,
    "hudi": DefaultHudi,
    "parquet": ParquetFloor,
}
PEERS = frozenset({"iceberg", "delta"})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 done, 1 when contenders disagree about the rows, 2 when it could not start."""
    options = _parse(arguments)
    settings = replace(Settings.from_environment(), spark_remote="", warm_tables="on")
    try:
        find_jars(settings)
    except LakehouseError as error:
        print(error, file=sys.stderr)
        return 2
    if PEERS & set(options.contenders) and not any(PEER_JARS.glob("*.jar")):
        print(f"no jars of the other engines in {PEER_JARS}; run: make bench", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        run = _measure(options, settings, Path(folder))
    options.results_folder.mkdir(parents=True, exist_ok=True)
    (options.results_folder / "w1.json").write_text(json.dumps(run.to_json(), indent=2) + "\n", encoding="utf-8")
    (options.results_folder / "README.md").write_text(render_page(run), encoding="utf-8")
    _say(f"results are in {options.results_folder}")
    if not run.rows_agree:
        _say(f"the contenders disagree about the rows: {dict(run.differing_tables)}")
        return 1
    return 0


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Time workload W1 with our own path and others, interleaved in one warm session on two cores.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--rounds", type=_at_least(1), default=7, metavar="N", help="timed rounds")
    parser.add_argument("--warm-ups", type=_at_least(0), default=4, metavar="N", help="rounds before them")
    parser.add_argument("--rows-scale", type=_scale, default=1.0, metavar="X", help="times the rows of every table")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS), help="who takes part")
    parser.add_argument(
        "--results-folder",
        type=Path,
        default=PROJECT_ROOT / "bench" / "results",
        metavar="PATH",
        help="where w1.json and README.md are written over; give another one for a trial",
    )
    options = parser.parse_args(arguments)
    options.contenders = list(dict.fromkeys(options.contenders))
    return options


def _measure(options: argparse.Namespace, settings: Settings, folder: Path) -> BenchRun:
    started_at, load_at_start = datetime.now(UTC), os.getloadavg()
    spark = open_bench_session(settings, folder=folder, with_peers=bool(PEERS & set(options.contenders)))
    try:
        workload = Workload(spec=load_lake_spec(settings.lake_spec), scale=options.rows_scale)
        contenders = [
            CONTENDERS[name](spark=spark, workload=workload, settings=replace(settings, base_path=str(folder / name)))
            for name in options.contenders
        ]
        _load(contenders)
        rounds = [_one_round(contenders, number) for number in range(options.warm_ups + options.rounds)]
        differing_tables = _compare(contenders)
    finally:
        spark.stop()
    return BenchRun(
        started_at=started_at.isoformat(timespec="seconds"),
        cores=CORES,
        rows_scale=options.rows_scale,
        warm_ups=options.warm_ups,
        load_at_start=load_at_start,
        load_at_end=os.getloadavg(),
        seconds={c.name: [seconds[c.name] for seconds in rounds[options.warm_ups :]] for c in contenders},
        differing_tables=differing_tables,
    )


def _load(contenders: Sequence[Contender]) -> None:
    for contender in contenders:
        started = time.perf_counter()
        for table in contender.workload.tables:
            contender.load(table, contender.workload.stored_rows(contender.spark, table))
        _say(f"loaded {contender.name} in {time.perf_counter() - started:.1f} s")


def _one_round(contenders: Sequence[Contender], number: int) -> dict[str, float]:
    """Seconds each contender takes for the events of a round; another one begins in the next round."""
    events_df = contenders[0].workload.change_events(contenders[0].spark, number).cache()
    events_df.count()
    seconds = {}
    first = number % len(contenders)
    for contender in [*contenders[first:], *contenders[:first]]:
        started = time.perf_counter()
        contender.change_all(events_df)
        seconds[contender.name] = time.perf_counter() - started
    events_df.unpersist(blocking=True)
    _say(f"round {number}: " + ", ".join(f"{name} {value:.2f} s" for name, value in seconds.items()))
    return seconds


def _compare(contenders: Sequence[Contender]) -> dict[str, list[str]]:
    """Tables whose rows are not those of the first contender that keeps rows, by contender."""
    expected: dict[str, tuple[int, int]] = {}
    differing: dict[str, list[str]] = {}
    for contender in contenders:
        for table in contender.workload.tables:
            rows_df = contender.rows(table)
            if rows_df is None:
                continue
            found = fingerprint(rows_df, table)
            tables = differing.setdefault(contender.name, [])
            if found != expected.setdefault(table.name, found):
                tables.append(table.name)
    return differing


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


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
