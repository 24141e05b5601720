"""The whole chain as on a cloud, on this machine: lake and landing zone on an S3 server, a Hive metastore, Trino, Glue.

Airflow runs ingest to serving and keeps the metastore; then every table is read by Spark, by the Rust reader and by
Trino, and the business's views by Trino and by Athena's client.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from local_stack.console import say
from local_stack.demos.chain import Chain
from local_stack.demos.demo import INGEST_CRON, SLOW_LAYER, Steps
from local_stack.demos.demo_data import TOPIC, Arrivals, build_parser
from local_stack.demos.demo_report import format_table
from local_stack.demos.engines import TrinoLake, answer_as, query_athena
from local_stack.demos.job_command import run_job
from local_stack.demos.lake_view import check_lake, view_lake
from local_stack.demos.truth_check import Truth, same_rows
from local_stack.errors import SetupError
from local_stack.install.trino_install import install_trino
from local_stack.lakes import of_one_lake
from local_stack.servers.aws_server import start_aws, wait_for_aws
from local_stack.servers.bucket import make_bucket, open_s3
from local_stack.servers.metastore import start_metastore, wait_for_metastore
from local_stack.servers.services import RunFolder, run_path
from local_stack.servers.stack import Stack
from local_stack.servers.trino_server import start_trino, wait_for_trino
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.s3 import split_uri

BUCKET = "lakehouse"
QUESTION = "SELECT * FROM agent_contracts ORDER BY contract_total DESC NULLS LAST, agent_name LIMIT 5"
WRONG = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """What runs beside Spark and Airflow, and the variables by which jobs find it."""

    environ: Mapping[str, str]
    trino: str

    @classmethod
    def start(cls, folder: RunFolder, environ: Mapping[str, str]) -> Servers:
        """Start them side by side; whoever calls stops them, also when this raises."""
        installed = install_trino(environ)
        aws = wait_for_aws(start_aws(folder, environ=environ))
        make_bucket(BUCKET, aws)
        environ = {
            **environ,
            **aws,
            "LAKEHOUSE_BASE_PATH": f"s3a://{BUCKET}/lake",
            "LAKEHOUSE_LANDING_PATH": f"s3a://{BUCKET}/landing",
            "LAKEHOUSE_SERVING_URL": f"sqlite:///{folder.path}/serving.sqlite",
        }
        metastore = start_metastore(folder, environ=environ)
        environ["LAKEHOUSE_CATALOG"] = wait_for_metastore(metastore)
        trino = start_trino(folder, installed, metastore=environ["LAKEHOUSE_CATALOG"], environ=environ)
        return cls(environ=environ, trino=wait_for_trino(trino))


class Landing:
    """Generated events, put into the landing zone of the S3 server as an ERP would."""

    def __init__(self, arrivals: Arrivals, folder: Path, environ: Mapping[str, str]) -> None:
        self._arrivals, self._folder = arrivals, folder
        self._bucket, self._prefix = split_uri(environ["LAKEHOUSE_LANDING_PATH"])
        self._environ = {**environ, "LAKEHOUSE_LANDING_PATH": str(folder)}
        self._client = open_s3(environ)
        self._sent: set[Path] = set()

    def deliver(self, number: int) -> int:
        """Make arrival ``number`` (from 1) and send its files; gives how many events it has."""
        made = self._arrivals.deliver(number, self._environ)
        for file in sorted({*self._folder.glob(f"{TOPIC}/*")} - self._sent):
            key = f"{self._prefix}/{TOPIC}/{file.name}"
            self._client.upload_file(str(file), self._bucket, key)
            self._sent.add(file)
        return made.counters["events"]


def run(argv: list[str]) -> int:
    """Run the chain; 0 when all readers agree on the generator's truth, 1 when not."""
    options = build_parser("cloud", __doc__, events=5_000, arrivals=2).parse_args(argv)
    steps = Steps()
    arrivals = Arrivals(events=options.events, count=options.arrivals, seed=options.seed)
    folder = RunFolder(run_path(os.environ) / "cloud")
    if folder.running():
        raise SetupError(f"it runs already in {folder.path}; wait for it, or set LAKEHOUSE_RUN_PATH to another folder")
    environ = {name: value for name, value in of_one_lake(os.environ).items() if name != "LAKEHOUSE_SPARK_REMOTE"}
    with folder.stopping(), tempfile.TemporaryDirectory(prefix="lakehouse-landing-") as made:
        servers = Servers.start(folder, environ)
        os.environ.update(servers.environ)  # the readers in this process find the store by it
        steps.report(
            f"S3, Glue and Athena's API at {os.environ['AWS_ENDPOINT_URL']}, metastore at "
            f"{os.environ['LAKEHOUSE_CATALOG']}, Trino at {servers.trino}"
        )
        stack = Stack(folder.path, environ=servers.environ)
        stack.airflow.forget_runs()  # they were about another lake
        _take_in(Landing(arrivals, Path(made), servers.environ), arrivals.count, stack, steps)
        wrong = _check(Truth.load(made, TOPIC), servers, stack, steps)
    for line in wrong:
        say(f"WRONG {line}")
    steps.report(
        f"the readers do NOT agree: {len(wrong)} differences"
        if wrong
        else "done: every table is the generator's truth, in Spark, in the Rust reader and in Trino"
    )
    return WRONG if wrong else 0


def _take_in(landing: Landing, count: int, stack: Stack, steps: Steps) -> None:
    """Let the scheduler follow every arrival to the end of the chain, catalog included."""
    steps.report(f"arrival 1 of {count}: {landing.deliver(1):,} events")
    stack.start(ingest_cron=INGEST_CRON)
    chain = Chain(stack.airflow.api, report=steps.report_run)
    chain.wait_for_first()
    for number in range(2, count + 1):
        steps.report(f"arrival {number} of {count}: {landing.deliver(number):,} events")
        chain.run_once()
    chain.run_once(SLOW_LAYER)
    chain.run_once("catalog_sync")


def _check(truth: Truth, servers: Servers, stack: Stack, steps: Steps) -> list[str]:
    settings = Settings.from_environment(servers.environ)
    spec = load_lake_spec(settings.lake_spec)
    views = view_lake(spec, replace(settings, spark_remote=stack.spark_remote))
    wrong = check_lake(views, truth, spec)
    steps.report("read every table with Spark and with the Rust reader; now with Trino")
    lake = TrinoLake(address=servers.trino, database=spec.lake, spec=spec, settings=settings)
    wrong += lake.differences(list(views))
    made = lake.make_views()
    rows = lake.query(QUESTION, schema=made.database)
    _show("Trino", rows)
    glue = {**servers.environ, "LAKEHOUSE_CATALOG": "glue"}
    steps.report(f"the same tables in Glue: {run_job(['sync', 'apply'], glue).counters['changes']} changes")
    answer_as(rows, endpoint=servers.environ["AWS_ENDPOINT_URL"], region=servers.environ["AWS_REGION"])
    by_athena = query_athena(QUESTION, schema=made.database, environ=servers.environ, results=f"s3://{BUCKET}/results/")
    _show("Athena's client", by_athena)
    return wrong + same_rows(QUESTION, rows, by_athena, readers="Trino and Athena's client")


def _show(reader: str, rows: list[dict[str, object]]) -> None:
    header = list(rows[0]) if rows else []
    print(f"\n{reader}: {QUESTION}\n{format_table(header, [list(row.values()) for row in rows])}\n", flush=True)
