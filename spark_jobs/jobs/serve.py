"""serve: the marts of a layer, and tables with names, into the serving store, each as of its newest instant."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.arguments import names_of
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import plain, show
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.job_options.serve import ServeOptions
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.lake_spec.visible import served_tables
from spark_jobs.pipelines.serving import Served, serve_marts
from spark_jobs.quality.holds import Hold, Holds
from spark_jobs.storage.serving.address import parse_address
from spark_jobs.storage.serving.store import ServingStore


def check(context: JobContext[ServeOptions]) -> None:
    """Raise ContractError when the options name no mart to serve, SettingsError when the store's address is wrong."""
    settings = context.settings
    _marts_of(context)
    parse_address(settings)


def run(context: JobContext[ServeOptions]) -> JobResult:
    """Bring the served rows of every mart of the layers, and of tables, to the newest instant of each."""
    settings = context.settings
    marts: list[Served] = [*_marts_of(context), *_tables_of(context)]
    store = ServingStore(parse_address(settings), wait_seconds=settings.lease_wait_seconds)
    held = {hold.table: hold for hold in Holds(settings).held()}
    servings = serve_marts(context, marts, store, held.values())
    outcomes = [serving.outcome for serving in servings]
    absent = tuple(f"{o.table} has no commit yet: nothing to serve" for o in outcomes if o.instant is None)
    whole = tuple(f"{s.outcome.table}: all rows are written because {s.why_all}" for s in servings if s.why_all)
    return context.result(
        DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        tables=tuple(outcomes),
        counters={
            "rows_written": sum(outcome.rows for outcome in outcomes),
            "rows_deleted": sum(serving.deleted for serving in servings),
        },
        messages=(
            *absent,
            *whole,
            *(_of_hold(held[mart.name]) for mart in marts if mart.name in held),
            *_left_behind(context, store.names()),
        ),
    )


def _names(values: Sequence[str]) -> list[str]:
    """Names given once or several times, each time one or several with commas between."""
    return [name for value in values for name in names_of(value)]


def _marts_of(context: JobContext[ServeOptions]) -> list[MartSpec]:
    """The marts of the layers, or those of them that are named; a cache is no answer and is not served."""
    spec = context.spec
    layers, names = _names(context.options.layer), _names(context.options.mart)
    served = [mart for mart in spec.marts if mart.name not in spec.caches and mart.served]
    known = sorted({mart.layer for mart in spec.marts})
    if not layers or not set(layers) <= set(known):
        raise ContractError(f"--layer {show(','.join(layers))}: the marts that can be served are of the layers {known}")
    marts = [mart for mart in served if mart.layer in layers]
    if context.options.mart and not names:
        raise ContractError(f"--mart names none; of these layers are {[mart.name for mart in marts]}")
    if unknown := sorted(set(names) - {mart.name for mart in marts}):
        raise ContractError(f"--mart {plain(','.join(unknown))}: of these layers are {[mart.name for mart in marts]}")
    return [mart for mart in marts if mart.name in names or not names]


def _tables_of(context: JobContext[ServeOptions]) -> tuple[TableSpec, ...]:
    """The tables with names: with every layer, because any of its marts may be joined to them."""
    return () if context.options.mart else served_tables(context.spec)


def _left_behind(context: JobContext[ServeOptions], there: Collection[str]) -> list[str]:
    """What the store has of earlier runs, and the lake spec does not serve any more: nothing keeps it current."""
    declared: list[Served] = [*context.spec.marts, *context.spec.tables]
    unserved = [each.name for each in declared if not each.served]
    return [
        f"{name} is in the store and is not kept current, because its entry says served: false; drop its table there, "
        f"and its line in served_marts"
        for name in unserved
        if name in there
    ]


def _of_hold(hold: Hold) -> str:
    return f"{hold.table} is held back since {hold.since}, its last good state is served: {'; '.join(hold.reasons)}"


JOB = Job(options=ServeOptions, run=run, check=check)
