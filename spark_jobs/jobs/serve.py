"""serve: the marts of a layer into the serving store, each as of its newest instant."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock, names_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import plain, show
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.serving import serve_marts
from spark_jobs.quality.holds import Hold, Holds
from spark_jobs.storage.lake_specs import read_lake_spec
from spark_jobs.storage.serving.address import parse_address
from spark_jobs.storage.serving.store import ServingStore


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone."""
    parser.add_argument(
        "--layer", action="append", required=True, metavar="LAYER", help="fast, stitch, slow; several with commas"
    )
    parser.add_argument("--mart", action="append", metavar="MART", help="only this mart of the layer")


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise ContractError when the options name no mart to serve, SettingsError when the store's address is wrong."""
    _marts_of(spec, arguments)
    parse_address(settings)


def run(spark: SparkSession, arguments: JobArguments, settings: Settings) -> JobResult:
    """Bring the served rows of every mart of the layers to the mart's newest instant."""
    spec = read_lake_spec(settings)
    marts = _marts_of(spec, arguments)
    store = ServingStore(parse_address(settings), wait_seconds=settings.lease_wait_seconds)
    held = {hold.table: hold for hold in Holds(settings).held()}
    outcomes = serve_marts(spark, spec, marts, store, held.values(), arguments, settings)
    absent = tuple(f"{o.table} has no commit yet: nothing to serve" for o in outcomes if o.instant is None)
    return JobResult(
        job=arguments.job,
        status=DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        tables=tuple(outcomes),
        counters={"rows_written": sum(outcome.rows for outcome in outcomes)},
        messages=(*absent, *(_of_hold(held[mart.name]) for mart in marts if mart.name in held)),
    )


def _names(values: Sequence[str] | str | None) -> list[str]:
    """Names given once or several times, each time one or several with commas between."""
    values = [values] if isinstance(values, str) else values or []
    return [name for value in values for name in names_of(value)]


def _marts_of(spec: LakeSpec, arguments: JobArguments) -> list[MartSpec]:
    """The marts of the layers, or those of them that are named; a cache is no answer and is not served."""
    layers, names = _names(arguments.options["layer"]), _names(arguments.options.get("mart"))
    served = [mart for mart in spec.marts if mart.name not in spec.caches]
    known = sorted({mart.layer for mart in served})
    if not layers or not set(layers) <= set(known):
        raise ContractError(f"--layer {show(','.join(layers))}: the marts that can be served are of the layers {known}")
    marts = [mart for mart in served if mart.layer in layers]
    if arguments.options.get("mart") and not names:
        raise ContractError(f"--mart names none; of these layers are {[mart.name for mart in marts]}")
    if unknown := sorted(set(names) - {mart.name for mart in marts}):
        raise ContractError(f"--mart {plain(','.join(unknown))}: of these layers are {[mart.name for mart in marts]}")
    return [mart for mart in marts if mart.name in names or not names]


def _of_hold(hold: Hold) -> str:
    return f"{hold.table} is held back since {hold.since}, its last good state is served: {'; '.join(hold.told)}"
