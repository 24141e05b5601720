"""generate: a seeded life of a property company as change events in the landing zone, with the truth beside them."""

from __future__ import annotations

import argparse
import logging
import time
from dataclasses import asdict
from pathlib import Path

from spark_jobs.contracts.arguments import JobArguments, format_clock, parse_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.generator.generation import generate
from spark_jobs.generator.plan import DEFAULT_DAYS, DEFAULT_EVENTS, DEFAULT_TOPIC, Rates
from spark_jobs.generator.request import DEFAULT_EVENTS_PER_FILE, Request
from spark_jobs.lake_spec.tables import Nulls

_LOG = logging.getLogger(__name__)
_RATES = {
    "partial": "records with null columns",
    "correction": "new records that correct a sale months old",
    "late": "events delivered later than their order says",
    "redelivery": "earlier records delivered again, byte for byte",
    "delete": "deletes of a sale",
    "broken": "broken records, on top of the good ones",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the job. What is not given is a default at first, and what the run has with ``--resume``."""
    add, rates, yes_or_no = parser.add_argument, Rates(), argparse.BooleanOptionalAction
    events = f"good events of this call (default {DEFAULT_EVENTS}; with --resume what is left of the run)"
    total = "good events of the whole run, spread from start to end; --resume delivers the rest (default --events)"
    column = f"share of events after which customers have columns, 1: never (default {rates.added_column_at})"
    add("--events", type=int, metavar="N", help=events)
    add("--total-events", type=int, metavar="N", help=total)
    add("--seed", type=int, help="the same seed and options give the same bytes (default 1)")
    add("--start", metavar="ISO", help=f"first moment of the run (default {DEFAULT_DAYS} days before the end)")
    add("--end", metavar="ISO", help="end of the run, exclusive (default the clock)")
    add("--topic", default=DEFAULT_TOPIC, help=f"folder of the landing zone (default {DEFAULT_TOPIC})")
    for name, what in _RATES.items():
        add(f"--{name}-rate", type=float, metavar="X", help=f"{what} (default {getattr(rates, name)})")
    add("--added-column-at", type=float, metavar="X", help=column)
    add("--wrapped", action=yes_or_no, help="records in a schema/payload wrapper (default no)")
    add("--nulls", choices=[each.value for each in Nulls], help="what null means in the records (default unknown)")
    add("--tombstones", action=yes_or_no, help="a null record after each delete (default yes)")
    add("--files", type=int, metavar="N", help="number of files of this call")
    add("--events-per-file", type=int, metavar="N", help=f"or events a file (default {DEFAULT_EVENTS_PER_FILE})")
    add("--gzip", action="store_true", help="compress the files")
    add("--resume", action="store_true", help="go on from where the topic's last call stopped")


def needs_spark(arguments: JobArguments, settings: Settings) -> bool:
    """It writes plain files."""
    return False


def run(spark: None, arguments: JobArguments, settings: Settings) -> JobResult:
    """Write the files; needs no Spark. ContractError when an option makes no sense."""
    began, landing = time.monotonic(), settings.landing_path
    if "://" in landing:
        raise ContractError(f"generate writes local files only; set LAKEHOUSE_LANDING_PATH to a folder, not {landing}")
    outcome = generate(_request(arguments), Path(landing))
    seconds, counters = round(time.monotonic() - began, 3), outcome.counters
    _LOG.info("generate: %d events to %s in %.1f s", counters["events"], outcome.folder, seconds)
    messages = [f"files in {outcome.folder}", f"truth in {outcome.truth}"]
    if left := counters["events_left"]:
        messages.append(f"{left} events are left; go on with --resume")
    return JobResult(
        job="generate",
        status=DONE,
        clock=format_clock(arguments.clock),
        counters=counters,
        messages=tuple(messages),
        seconds=seconds,
    )


def _request(arguments: JobArguments) -> Request:
    options = arguments.options
    rates = {name: options.get(name if name == "added_column_at" else f"{name}_rate") for name in asdict(Rates())}
    start, end = (parse_clock(options[name]) if options.get(name) else None for name in ("start", "end"))
    return Request(
        clock=arguments.clock,
        start=start,
        end=end,
        rates={name: rate for name, rate in rates.items() if rate is not None},
        topic=options.get("topic") or DEFAULT_TOPIC,
        is_wrapped=options.get("wrapped"),
        has_tombstones=options.get("tombstones"),
        nulls=Nulls(options["nulls"]) if options.get("nulls") else None,
        is_resume=bool(options.get("resume")),
        is_gzip=bool(options.get("gzip")),
        **{name: options.get(name) for name in ("events", "total_events", "seed", "files", "events_per_file")},
    )
