"""mart: the declared marts of a layer, refreshed by what is new in the tables they read."""

from __future__ import annotations

from collections.abc import Sequence

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.clocks import MartAheadError
from spark_jobs.contracts.errors import ContractError, TerminalError
from spark_jobs.contracts.job_errors import DefinitionChangedError, GateStoppedError, TablesFailedError
from spark_jobs.contracts.names import show, show_all
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, TO_CHECK, JobResult
from spark_jobs.job_options.mart import MartOptions
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.layer import LayerRefresh
from spark_jobs.marts.refresh import RefreshRequest
from spark_jobs.pipelines.validation import count_to_check
from spark_jobs.quality.holds import Holds


def check(context: JobContext[MartOptions]) -> None:
    """Raise ContractError when the options name no mart."""
    marts_of(context)


def run(context: JobContext[MartOptions]) -> JobResult:
    """Bring every mart of the layer to the newest state of what it reads, as of the clock.

    A mart's clock never goes back: a run with an older one (a backfill, a late retry) takes in new data and leaves the
    mart's window where it is. With an interval, the rows of these dates are computed again as well.

    Raises:
        GateStoppedError: marts whose new rows break what is expected of them; they stay as they are, and all others
            were refreshed.
        TablesFailedError: marts read tables that no pattern has found so far, or were refreshed for a time that has
            not come yet; all others were refreshed.
        DefinitionChangedError: marts whose definition is another one than that of their rows; the same holds.
    """
    spec, chosen = context.spec, marts_of(context)
    waiting = {
        mart.name: f"reads {show_all(missing)}, which no pattern has found in the log so far"
        for mart in chosen
        if (missing := spec.missing_reads(mart))
    }
    marts = [mart for mart in chosen if mart.name not in waiting]
    request = RefreshRequest(is_full=context.options.full, moves_cut=context.options.move_cut)
    refreshes = LayerRefresh(context=context, request=request).run(marts)
    outcomes = [outcome for refresh in refreshes for outcome in refresh.outcomes]
    stopped: dict[str, Sequence[str]] = {}
    changed: dict[str, Sequence[str]] = {}
    for mart, refresh in zip(marts, refreshes, strict=True):
        match refresh.error:
            case GateStoppedError() as error:
                stopped.update(error.stopped)
            case DefinitionChangedError() as error:
                changed.update(error.changed)
            case MartAheadError() as error:
                waiting[mart.name] = str(error)
    Holds(context.settings).release({outcome.table for outcome in outcomes} - stopped.keys())
    layer = [mart for mart in spec.marts if mart.layer == context.options.layer]
    Engine(context=context).forget_changes(
        [mart.name for mart in layer] + [read.table for mart in layer for read in mart.reads]
    )
    result = context.result(
        DONE if any(outcome.is_committed for outcome in outcomes) else NOTHING_TO_DO,
        tables=tuple(outcomes),
        counters={
            "rows_written": sum(outcome.rows for outcome in outcomes),
            TO_CHECK: count_to_check(context, outcomes),
        },
        messages=(
            *(message for refresh in refreshes for message in refresh.messages),
            *(f"{mart}: blocked: {why}" for mart, why in waiting.items()),
            *([str(DefinitionChangedError(changed=changed))] if changed else []),
        ),
    )
    if stopped:
        raise GateStoppedError(stopped=stopped, result=result)
    if changed:
        raise DefinitionChangedError(changed=changed, result=result)
    if waiting:
        raise TablesFailedError(failed=waiting, result=result, exit_code=TerminalError.exit_code)
    return result


def marts_of(context: JobContext[MartOptions]) -> list[MartSpec]:
    """The marts that the options name, each after those it reads; a cache belongs to its stitch mart.

    ContractError when there is none.
    """
    spec = context.spec
    layer, name = context.options.layer, context.options.mart
    found = [mart for mart in spec.marts if mart.layer == layer and mart.name not in spec.caches]
    if not found:
        layers = sorted({mart.layer for mart in spec.marts})
        raise ContractError(f"no mart is of layer {show(layer)}; layers are {layers}")
    chosen = [mart for mart in found if name in (None, "", mart.name)]
    if not chosen:
        raise ContractError(f"layer {layer} has no mart {show(name)}; it has {[mart.name for mart in found]}")
    return chosen


JOB = Job(options=MartOptions, run=run, check=check)
