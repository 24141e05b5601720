"""From Kafka to the log: beside Spark, which writes the same topic as Parquet, and into a log ten times as large."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

from bench.kafka_topic import DAYS, SalesTopic
from bench.kafka_ways import Count, Ways
from bench.race import differing, say
from bench.report import Race, Races
from bench.session import CORES, PEER_JARS, open_bench_session
from bench.spark_json import REBASE
from local_stack.servers.kafka import KafkaBroker
from local_stack.servers.services import RunFolder
from spark_jobs.contracts.settings import Settings

KAFKA_EVENTS, BATCH, TIMES = 1_000_000, 20_000, 10
INGEST, TEXT, COLUMNS, DECODING = "ingest", "Spark, Parquet of text", "Spark, Parquet of columns", "decoding alone"
SMALL, LARGE = "the smaller log", f"the log of {TIMES} times the rows"
RATE_AIM, GROWTH_AIM = 0.6, 1.2
"""Of the rate of `from_json` to Parquet at least; and how much longer with the larger log at most."""
_PARTITIONS = 8
_CONNECTOR_JARS = ("*kafka*.jar", "*commons-pool2*.jar")
_MESSAGES = "messages"
_LAKE, _SMALLER = "lake", "smaller"

_METHOD = """\
A broker on this machine has a topic of {partitions} partitions with {events:,} generated events of {days} days, with
the generator's usual share of late, partial, repeated, corrected and broken ones: {messages:,} messages, Debezium's
JSON without schemas. One warm session on {cores} cores, which the broker shares; who begins changes from round to
round.

* ingest is the job, into a lake that has no log yet: at most {most:,} messages a run, as many runs as it takes, from
  the first request to the broker to the last commit read back. Quarantine, duplicates and expectations are in it.
* Spark, Parquet of text, is Spark's own Kafka source, each message as text, written as plain Parquet. Nothing is
  parsed: what is broken is in it, and what came twice is in it twice.
* Spark, Parquet of columns, parses with `from_json` into the columns of the log that need no hash; what cannot be read
  is null. The aim is {rate:.0%} of its rows per second.
* decoding alone is the part of ingest that makes rows of messages; nothing is kept of them.

What is compared is the number of messages that were read.

For the larger log one lake has ingested all of the topic, and another one the last {tenth:,} messages of it. In every
round {batch:,} events are appended to the topic, and each lake takes them in."""


def measure_kafka(settings: Settings, folder: Path, *, events: int, warm_ups: int, rounds: int) -> Races:
    """Seconds of a round by each."""
    jars = [str(jar) for pattern in _CONNECTOR_JARS for jar in sorted(PEER_JARS.glob(pattern))]
    broker = KafkaBroker(folder=RunFolder(folder / "broker"))
    with broker.folder.stopping():
        broker.start()
        settings = replace(settings, kafka_servers=broker.address)
        total = events + (warm_ups + rounds) * BATCH
        topic = SalesTopic(servers=broker.address, partitions=_PARTITIONS, total_events=total)
        topic.go_on(events)
        facts = {"events": events, "days": DAYS, "messages": topic.messages, "tenth": topic.messages // TIMES}
        spark = open_bench_session(settings, folder=folder, with_peers=False, extra=REBASE, more_jars=jars)
        ways = Ways(spark=spark, settings=settings, topic=topic, folder=folder)
        races = [
            replace(race(ways, warm_ups=warm_ups, rounds=rounds), rows_scale=events / KAFKA_EVENTS)
            for race in (_beside_spark, _into_larger)
        ]
        spark.stop()
    method = _METHOD.format(
        partitions=_PARTITIONS, cores=CORES, most=settings.max_events, batch=BATCH, rate=RATE_AIM, **facts
    )
    return Races(title="Kafka to the log", method=method, races=races)


def _beside_spark(ways: Ways, *, warm_ups: int, rounds: int) -> Race:
    def ingest() -> Count:
        shutil.rmtree(ways.folder / _LAKE, ignore_errors=True)
        return ways.ingest(_LAKE)

    contenders = {INGEST: ingest, TEXT: ways.write_text, COLUMNS: ways.write_columns, DECODING: ways.decode}
    seconds, read = _run(contenders, warm_ups=warm_ups, rounds=rounds)
    rates = {name: read[name] / median(of) for name, of in seconds.items()}
    listed = ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items())
    return Race(
        title=f"{ways.topic.messages:,} messages",
        method="",
        subject=INGEST,
        aims={COLUMNS: 1 / RATE_AIM},
        rows_scale=1,
        warm_ups=warm_ups,
        seconds=seconds,
        differing_tables=differing((name, _MESSAGES, (count, 0)) for name, count in read.items()),
        notes=[f"Messages a second: {listed}."],
    )


def _into_larger(ways: Ways, *, warm_ups: int, rounds: int) -> Race:
    """The larger log is the one that the last round of the other race has made."""
    last = {str(number): end - end // TIMES for number, end in enumerate(ways.topic.ends)}
    taken = ways.ingest(_SMALLER, json.dumps({ways.topic.name: last}))()
    note = f"Before the first round {SMALL} was made of {taken:,} messages, the larger one of {ways.topic.messages:,}."
    contenders = {SMALL: partial(ways.ingest, _SMALLER), LARGE: partial(ways.ingest, _LAKE)}
    seconds, read = _run(contenders, warm_ups=warm_ups, rounds=rounds, before=lambda: ways.topic.go_on(BATCH))
    return Race(
        title=f"{BATCH:,} events into a log of {TIMES} times the rows",
        method="",
        subject=LARGE,
        aims={SMALL: GROWTH_AIM},
        rows_scale=1,
        warm_ups=warm_ups,
        seconds=seconds,
        differing_tables=differing((name, _MESSAGES, (count, 0)) for name, count in read.items()),
        notes=[note],
    )


def _run(
    contenders: Mapping[str, Callable[[], Count]],
    *,
    warm_ups: int,
    rounds: int,
    before: Callable[[], object] = lambda: None,
) -> tuple[dict[str, list[float]], dict[str, int]]:
    """Seconds of the timed rounds, and how many messages each read in the last one."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    read: dict[str, int] = {}
    for number in range(warm_ups + rounds):
        before()
        first = number % len(contenders)
        for name in [*contenders][first:] + [*contenders][:first]:
            began = time.perf_counter()
            count = contenders[name]()
            taken = time.perf_counter() - began
            read[name] = count()
            say(f"round {number}: {name} {taken:.2f} s for {read[name]:,} messages")
            if number >= warm_ups:
                seconds[name].append(taken)
    return seconds, {name: read[name] for name in contenders}
