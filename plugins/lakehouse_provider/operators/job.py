"""Runs one job of ``spark_jobs`` in a process of its own and announces the instants it committed to the next layer."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from airflow.sdk import Asset, BaseOperator
from airflow.sdk.bases.xcom import BaseXCom
from airflow.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
    AirflowSkipException,
    DownstreamTasksSkipped,
)
from airflow.sdk.log import mask_secret

from lakehouse_provider.alerts import send_decisions
from lakehouse_provider.announcements import plan_announcements, plan_reminder, read_last_facts, to_look_up
from lakehouse_provider.connections.kafka import KAFKA_VARIABLES, kafka_environment
from lakehouse_provider.connections.names import find_connection
from lakehouse_provider.connections.serving import STORE_VARIABLES, store_environment
from lakehouse_provider.connections.source import SOURCE_VARIABLES, source_environment
from lakehouse_provider.launch.engines import SPARK_CONNECT, build_job_command
from lakehouse_provider.launch.job_process import JobExit, JobProcess
from lakehouse_provider.launch.kept_sessions import KeptSession
from lakehouse_provider.schedules import event_interval
from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.errors import ContractError, TerminalError
from spark_jobs.contracts.lakes import lake_environment
from spark_jobs.contracts.options import declared_options
from spark_jobs.contracts.results import NOTHING_TO_DO, JobResult
from spark_jobs.contracts.secrets import find_secrets
from spark_jobs.job_options.registry import options_of

if TYPE_CHECKING:
    from datetime import datetime

    from airflow.sdk import Context

    from lakehouse_provider.launch.job_command import ConnectionFacts

DEFAULT_CONN_ID = "lakehouse_spark"
TERMINAL = TerminalError.exit_code
_skipped: Callable[..., AirflowException] = DownstreamTasksSkipped
"""Airflow's class has no types."""


class LakehouseJobOperator(BaseOperator):
    """Run ``python -m spark_jobs.entrypoint JOB …`` on the engine that ``conn_id`` names.

    The job's clock is the run's own, so a retry requests the same thing. Exit 1 or a killed process fails the task
    and may be retried; exit 2 fails it for good. A table whose instant moved gets an asset event that carries it, any
    other gets none, and a run that has nothing to announce is skipped, so nothing downstream starts in vain. Whatever
    ends the task, SIGKILL included, ends the job's processes.

    :param job: the job's name on the command line, with its action where it has several: ``services plan``.
    :param arguments: options of the job by name with underscores (templated); None, "" and False are left out, and True
        is an option without a value.
    :param reads_interval: the job takes ``--interval-start`` and ``--interval-end`` in a backfill run.
    :param runs_by_clock: False skips runs that the clock started, where only assets and backfills are to start it.
    :param skips_idle: False makes a run that changed nothing a success, for a job whose result is what it says.
    :param skip_reason: why the task is skipped instead (templated); "" runs the job.
    :param lake: the lake that the job is of, where there are several; the job gets the settings of that one alone.
    :param conn_id: a connection of type ``spark_connect`` or ``spark``; its ``engine`` says where it submits to. The
        lake's own ``<conn_id>_<lake>`` goes before it.
    :param serving_conn_id: the connection of the serving store, for a job that writes there. The job gets its URL by
        the environment alone; without such a connection it keeps the store that its settings name.
    :param kafka_conn_id: the connection of Kafka, for a job that reads there, in the same way; the lake's own
        ``<kafka_conn_id>_<lake>`` goes before it.
    :param source_conn_id: the connection of the database that a job reads by JDBC, in the same way (templated).
    :param reminds: one of the outlets, which is announced again while the second asset's last event is behind it.
    :param idle_followers: tasks after this one, each with the counter of the job's result that says how much there is
        for it; at 0 it is skipped with the end of this one, without a process of its own that finds nothing to do.
    """

    template_fields: Sequence[str] = ("arguments", "source_conn_id", "skip_reason")
    ui_color = "#d9e8f5"

    def __init__(
        self,
        *,
        job: str,
        arguments: Mapping[str, Any] | None = None,
        reads_interval: bool = False,
        runs_by_clock: bool = True,
        skips_idle: bool = True,
        skip_reason: str = "",
        lake: str = "",
        conn_id: str = DEFAULT_CONN_ID,
        serving_conn_id: str | None = None,
        kafka_conn_id: str | None = None,
        source_conn_id: str | None = None,
        reminds: tuple[Asset, Asset] | None = None,
        idle_followers: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.job = job
        self.arguments = dict(arguments or {})
        _check_options(job, self.arguments)
        self.reads_interval = reads_interval
        self.runs_by_clock = runs_by_clock
        self.skips_idle = skips_idle
        self.skip_reason = skip_reason
        self.lake = lake
        self.conn_id = conn_id
        self.serving_conn_id = serving_conn_id
        self.kafka_conn_id = kafka_conn_id
        self.source_conn_id = source_conn_id
        self.reminds = reminds
        self.idle_followers = dict(idle_followers or {})
        self._process: JobProcess | None = None
        self._is_stopped = False

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the job; gives its result, or raises what the exit code means."""
        if self.skip_reason:
            raise AirflowSkipException(self.skip_reason)
        if context["dag_run"].run_type == "scheduled":
            self._check_clock_run()
        self._log_causes(context)
        words = self.job.split()
        with tempfile.TemporaryDirectory(prefix=f"lakehouse-{words[0]}-") as work_path:
            try:
                environment = lake_environment(os.environ, self.lake)
                connection = find_connection(self.conn_id, self.lake)
                session = self._session(connection)
                command = build_job_command(
                    connection,
                    [*words, *self._options(context)],
                    environment=environment,
                    work_path=Path(work_path),
                    secrets=self._secrets(environment),
                    attempt=_attempt(context),
                    session=session.take() if session else "",
                )
            except TerminalError as error:
                raise AirflowFailException(str(error)) from error
            self.log.info("running %s", " ".join(command.arguments))
            self._process = JobProcess(command, log=lambda line: self.log.info("%s", line))
            if self._is_stopped:  # before there was a process to stop
                self._process.stop()
            ended = self._process.run()
            if session and ended.code == 0:
                session.keep()
            result = self._result(ended)
        send_decisions(f"{self.dag_id}.{self.task_id}", result.alerts, lake=self.lake)
        self._announce(result, context)
        fields: dict[str, Any] = json.loads(result.to_json())
        self._skip_followers(result, fields, context)
        return fields

    def on_kill(self) -> None:
        """Stop the job's processes before the task ends."""
        self._is_stopped = True
        if self._process is not None:
            self._process.stop()

    def _check_clock_run(self) -> None:
        """Skip at once, without Spark, a run that the clock started and that cannot have anything to do."""
        if not self.runs_by_clock:
            raise AirflowSkipException(f"{self.job} waits for its data or for a person, not for the clock")
        sources = [inlet for inlet in self.inlets if isinstance(inlet, Asset)]
        if sources and not any(read_last_facts(sources).values()):
            raise AirflowSkipException(f"{self.job} has nothing to read: no commit of its sources was announced yet")

    def _options(self, context: Context) -> list[str]:
        dag_run = context["dag_run"]
        options = {"clock": format_clock(_clock(dag_run)), **self.arguments}
        if self.reads_interval and (interval := event_interval(dag_run, context["params"])):
            options |= {"interval_start": format_clock(interval.start), "interval_end": format_clock(interval.end)}
        # In one word each, so that a value that begins like an option is a value.
        return [
            f"--{name.replace('_', '-')}{'' if value is True else f'={value}'}"
            for name, value in options.items()
            if value not in (None, "") and value is not False
        ]

    def _secrets(self, environment: Mapping[str, str]) -> dict[str, str]:
        """What the job needs to know of its connections; of one that is not there, what its environment knows."""
        found: dict[str, str] = {}
        for conn_id, variables, read, lake in (
            (self.serving_conn_id, STORE_VARIABLES, store_environment, ""),
            (self.kafka_conn_id, KAFKA_VARIABLES, kafka_environment, self.lake),
            (self.source_conn_id, SOURCE_VARIABLES, source_environment, ""),
        ):
            if conn_id is None:
                continue
            try:
                found |= read(find_connection(conn_id, lake))
            except AirflowNotFoundException:
                self.log.info("no connection %s: the job's settings say what there is", conn_id)
                found |= {name: environment[name] for name in variables if environment.get(name)}
        for secret in find_secrets(found):
            mask_secret(secret)
        return found

    def _session(self, connection: ConnectionFacts) -> KeptSession | None:
        """What this task's last run has left on the server, for a job that leaves it as it was."""
        if connection.conn_type != SPARK_CONNECT or not options_of(self.job.split()[0]).leaves_session:
            return None
        return KeptSession(connection, f"{self.dag_id}.{self.task_id}")

    def _result(self, ended: JobExit) -> JobResult:
        if self._is_stopped:
            raise AirflowException(f"{self.job} was stopped with its task")
        if ended.code == TERMINAL:
            raise AirflowFailException(f"{self.job} cannot work until someone changes something: {ended.reason}")
        if ended.code != 0:
            raise AirflowException(f"{self.job} ended with exit code {ended.code}: {ended.reason}")
        try:
            return JobResult.from_json(ended.last_line)
        except ContractError as error:
            raise AirflowException(f"{self.job} ended well but gave no result: {error}") from error

    def _announce(self, result: JobResult, context: Context) -> None:
        """Attach the instants to the events of the outlets that moved, and drop the others: they get no event."""
        for message in result.messages:
            self.log.info("%s", message)
        outlets = [outlet for outlet in self.outlets if isinstance(outlet, Asset)]
        is_interval = self.reads_interval and event_interval(context["dag_run"], context["params"]) is not None
        last = read_last_facts(to_look_up(result, outlets))  # each is a request, and the next layer waits for it
        planned = plan_announcements(result, outlets, last, run_id=context["run_id"], is_interval=is_interval)
        if self.reminds and self.reminds[0].name not in planned:
            source, reader = self.reminds
            split = read_last_facts([reader])[reader.name]
            if facts := plan_reminder(result, source, last[source.name], split, run_id=context["run_id"]):
                planned[source.name] = facts
        self.outlets = [outlet for outlet in outlets if outlet.name in planned]
        for outlet in self.outlets:
            context["outlet_events"][outlet].extra = dict(planned[outlet.name])
            self.log.info("%s: %s", outlet.name, planned[outlet.name])
        if self.skips_idle and not planned and result.status == NOTHING_TO_DO:
            raise AirflowSkipException(f"{self.job} had nothing to do")

    def _skip_followers(self, result: JobResult, fields: dict[str, Any], context: Context) -> None:
        idle = [name for name, counter in self.idle_followers.items() if result.counters.get(counter) == 0]
        if idle:
            self.log.info("%s: skipped, there is nothing to do for it", ", ".join(idle))
            context["ti"].xcom_push(key=BaseXCom.XCOM_RETURN_KEY, value=fields)  # which a task that raises does not
            raise _skipped(tasks=idle)

    def _log_causes(self, context: Context) -> None:
        for asset, events in (context.get("triggering_asset_events") or {}).items():
            for event in events:
                self.log.info("started by %s: %s", asset.name, event.extra)


def _check_options(job: str, arguments: Mapping[str, Any]) -> None:
    """Raise ContractError for an option that the job does not have: the DAG file is refused, and not its runs."""
    options = options_of(job.split()[0])
    known = {each.word for each in declared_options(options)}
    if not options.grows_by_spec and (unknown := sorted(arguments.keys() - known)):
        raise ContractError(f"job {job} has no option {unknown[0]}; it has {', '.join(sorted(known))}")


def _clock(dag_run: Any) -> datetime:
    """The start of the run: the same for every try, never before the clock of an earlier run of the DAG."""
    clock: datetime = dag_run.start_date
    return clock


def _attempt(context: Context) -> str:
    """A name for this try of this task: no other has it, and every call gives the same."""
    task = context.get("ti")
    if task is None:
        return str(uuid4())
    return str(uuid5(NAMESPACE_URL, f"{task.id}/{task.try_number}"))
