"""Lineage of runs as events of OpenLineage, made and sent by its own client, where the standard variables name one.

Datasets are tables as they are stored, each with the instant as its version. Events hold names, instants and counts,
and no values of rows; options of a run are in none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spark_jobs.context import AnyContext
from spark_jobs.contracts.instants import Instant
from spark_jobs.contracts.results import TableOutcome
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.commits import commits_of
from spark_jobs.overview.models import CommitKind, CommitOverview, GateOutcome
from spark_jobs.quality.verdicts import Outcome
from spark_jobs.reporting.runs import RunEnd
from spark_jobs.sql_analysis.lineage import ColumnInput, TableLineage, lineage_of
from spark_jobs.storage.commit_columns import columns_of
from spark_jobs.storage.s3 import is_s3, split_uri
from spark_jobs.storage.timeline import Timeline

if TYPE_CHECKING:
    from datetime import datetime

    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent, RunState
    from openlineage.client.facet_v2 import DatasetFacet

PRODUCER = "urn:sales-lakehouse"
_NAMED = ("OPENLINEAGE_URL", "OPENLINEAGE_CONFIG")
_TRANSPORT, _OFF = "OPENLINEAGE__TRANSPORT", "OPENLINEAGE_DISABLED"


def is_configured(environ: Mapping[str, str] = os.environ) -> bool:
    """True when a receiver is named, and lineage is not switched off."""
    is_off = environ.get(_OFF, "").lower() in ("true", "1")
    return not is_off and any(
        text and (name in _NAMED or name.startswith(_TRANSPORT)) for name, text in environ.items()
    )


def reports_lineage(context: AnyContext) -> bool:
    """True for a run of a lake by a job that may change its tables."""
    return context.lake is not None and not context.options.takes_any_clock


def prepare_lineage(context: AnyContext) -> None:
    """Work out what the run's marts are made of while it works: of long SQL that takes seconds, once."""
    layer = getattr(context.options, "layer", "")
    for mart in context.spec.marts:
        if mart.layer == layer:
            lineage_of(context.spec, mart.name)


def send_start(context: AnyContext, begun: datetime) -> None:
    """Send that a run began."""
    from openlineage.client.event_v2 import RunState

    _emit(_event(context, begun, begun, RunState.START, [], []))


def send_end(run: RunEnd) -> None:
    """Send how it ended, with the tables that it read and wrote."""
    from openlineage.client.event_v2 import RunState

    context, written = run.context, [each for each in run.result.tables if each.is_committed] if run.result else []
    inputs: dict[str, str] = {}
    outputs = []
    for outcome in written:
        timeline = Timeline(table=outcome.table, path=context.settings.table_path(outcome.table))
        commit = _commit_of(context.spec, timeline, outcome)
        lineage = lineage_of(context.spec, outcome.table)
        inputs |= {**dict.fromkeys(lineage.reads, ""), **(commit.read if commit else {})}
        outputs.append(_output(context, timeline, outcome, commit, lineage))
    state = RunState.COMPLETE if run.outcome.is_success else RunState.FAIL
    known = {each.table for each in written}
    read = [_input(context, table, at) for table, at in sorted(inputs.items()) if table not in known or not at]
    _emit(_event(context, run.begun, run.ended, state, read, outputs))


def run_id(context: AnyContext, begun: datetime) -> str:
    """The same for the same run, whoever makes it: of its lake, job, clock and beginning."""
    from openlineage.client.uuid import generate_static_uuid

    words = (context.spec.lake, context.job, context.clock.isoformat(), begun.isoformat())
    return str(generate_static_uuid(begun, "\n".join(words).encode()))


def _emit(event: RunEvent) -> None:
    from openlineage.client.client import OpenLineageClient

    before = {*os.environ}
    client = OpenLineageClient()
    for name in [each for each in os.environ if each.startswith(_TRANSPORT) and each not in before]:
        del os.environ[name]  # it keeps address and key of OPENLINEAGE_URL there, for this process and its children
    try:
        client.emit(event)
    finally:
        client.close()


def _event(
    context: AnyContext,
    begun: datetime,
    at: datetime,
    state: RunState,
    inputs: list[InputDataset],
    outputs: list[OutputDataset],
) -> RunEvent:
    from openlineage.client.event_v2 import Job, Run, RunEvent
    from openlineage.client.facet_v2 import job_type_job

    kind = job_type_job.JobTypeJobFacet(
        processingType="BATCH", integration="LAKEHOUSE", jobType="JOB", producer=PRODUCER
    )
    layer = getattr(context.options, "layer", "") or ""
    namespace = os.environ.get("OPENLINEAGE_NAMESPACE") or context.spec.lake
    return RunEvent(
        eventType=state,
        eventTime=at.isoformat(),
        run=Run(runId=run_id(context, begun)),
        job=Job(namespace=namespace, name=".".join(filter(None, (context.job, layer))), facets={"jobType": kind}),
        inputs=inputs,
        outputs=outputs,
        producer=PRODUCER,
    )


def _commit_of(spec: LakeSpec, timeline: Timeline, outcome: TableOutcome) -> CommitOverview | None:
    if not outcome.instant or not timeline.holds(outcome.instant):
        return None
    before = Instant(f"{int(outcome.instant) - 1:017d}")
    found = (each for each in commits_of(spec, timeline, after=before) if each.instant == outcome.instant)
    return next((each for each in found if each.kind is not CommitKind.SAVEPOINT), None)


def _place(context: AnyContext, table: str) -> tuple[str, str]:
    """Namespace and name of a stored table, as OpenLineage names them: other producers name it the same."""
    path = context.settings.table_path(context.spec.stored_name(table))
    if is_s3(path):
        bucket, key = split_uri(path)
        return f"s3://{bucket}", key
    return "file", path.removeprefix("file://")


def _input(context: AnyContext, table: str, at: str) -> InputDataset:
    from openlineage.client.event_v2 import InputDataset

    namespace, name = _place(context, table)
    return InputDataset(namespace=namespace, name=name, facets=_version(at) if at else {})


def _output(
    context: AnyContext,
    timeline: Timeline,
    outcome: TableOutcome,
    commit: CommitOverview | None,
    lineage: TableLineage,
) -> OutputDataset:
    from openlineage.client.event_v2 import OutputDataset
    from openlineage.client.facet_v2 import output_statistics_output_dataset

    namespace, name = _place(context, outcome.table)
    facets: dict[str, Any] = _version(outcome.instant or "") | _columns(context, lineage) | _schema(timeline, outcome)
    if commit and commit.outcome:
        facets |= _assertions(commit.outcome)
    statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
        rowCount=outcome.rows, size=commit.bytes if commit else None, fileCount=commit.files if commit else None
    )
    return OutputDataset(namespace=namespace, name=name, facets=facets, outputFacets={"outputStatistics": statistics})


def _version(instant: str) -> dict[str, DatasetFacet]:
    from openlineage.client.facet_v2 import dataset_version_dataset

    return {"version": dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=instant)} if instant else {}


def _columns(context: AnyContext, lineage: TableLineage) -> dict[str, DatasetFacet]:
    from openlineage.client.facet_v2 import column_lineage_dataset as facet

    def field(each: ColumnInput) -> facet.InputField:
        namespace, name = (
            (f"source of {context.spec.lake}", each.table) if each.is_source else _place(context, each.table)
        )
        return facet.InputField(namespace=namespace, name=name, field=each.column)

    known = {
        column: facet.Fields(inputFields=[field(each) for each in of]) for column, of in lineage.columns.items() if of
    }
    return {"columnLineage": facet.ColumnLineageDatasetFacet(fields=known)} if known else {}


def _schema(timeline: Timeline, outcome: TableOutcome) -> dict[str, DatasetFacet]:
    from openlineage.client.facet_v2 import schema_dataset as facet

    write = next((each for each in timeline.writes if each.time == outcome.instant), None)
    found = columns_of(timeline.metadata(write).get("schema", "")) if write else None
    fields = [
        facet.SchemaDatasetFacetFields(name=each.name, type=each.dataType.simpleString())
        for each in (found.fields if found else ())
        if not each.name.startswith("_hoodie_")
    ]
    return {"schema": facet.SchemaDatasetFacet(fields=fields)} if fields else {}


def _assertions(outcome: GateOutcome) -> dict[str, Any]:
    """What the gate found of the rows that were written, whose table is an output and no input of the run."""
    from openlineage.client.facet_v2 import data_quality_assertions_dataset as facet

    found = [
        facet.Assertion(
            assertion=each.expectation,
            success=each.outcome is Outcome.HELD,
            severity="error" if each.action == "stop" else "warn",
        )
        for each in outcome.results
    ]
    return {"dataQualityAssertions": facet.DataQualityAssertionsDatasetFacet(assertions=found)} if found else {}
