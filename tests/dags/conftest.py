"""The DAG files as Airflow reads them, in processes of their own: what is imported there is a fact to test.

Airflow is imported once; each setting of the variables is looked at in a fork of that process.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.contracts.settings import PROJECT_ROOT
from tests.support.hostile_names import HOSTILE

DAGS = PROJECT_ROOT / "dags"
PROBE = """
import json, os, sys
from copy import deepcopy
from datetime import datetime, UTC
from itertools import islice, pairwise
from pathlib import Path
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.exceptions import ParamValidationError
from airflow.serialization.serialized_objects import DagSerialization
for variables in json.loads(sys.argv[4]):
    if os.fork() == 0:
        os.environ.update(variables)
        break
    if code := os.waitstatus_to_exitcode(os.wait()[1]):
        sys.exit(abs(code))
else:
    sys.exit()
bag = DagBag(dag_folder=os.environ.get("PROBED", sys.argv[1]))
facts = {}
known = {}
def fits(param, value):
    # Airflow checks the schema itself each time, so do it once for each pair of them
    key = json.dumps([param.schema, value], sort_keys=True)
    if key not in known:
        try:
            deepcopy(param).resolve(value)  # which keeps what it is given
        except ParamValidationError:
            known[key] = False
        else:
            known[key] = True
    return known[key]
def takes(param):
    return [name for name in json.loads(sys.argv[2]) if fits(param, name)]
for dag_id, dag in bag.dags.items():
    stored = DagSerialization.from_dict(DagSerialization.to_dict(dag))
    infos = stored.iter_dagrun_infos_between(datetime(2026, 2, 27, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
    facts[dag_id] = {
        "file": Path(dag.fileloc).name,
        "tags": sorted(dag.tags),
        "doc": dag.doc_md,
        "catchup": dag.catchup,
        "max_active_runs": dag.max_active_runs,
        "params": {name: dag.params.get_param(name).serialize() for name in dag.params},
        "takes": {name: takes(dag.params.get_param(name)) for name in dag.params},
        "deadlines": [f"{each.callback.path} {each.name.split()[0]}" for each in dag.deadline or ()],
        "late": [each.callback.kwargs for each in dag.deadline or ()],
        "periodic": stored.timetable.periodic,
        "backfilled": [info.logical_date.isoformat() for info in islice(infos, 10)],
        "triggers": sorted(k.name for k, _ in stored.timetable.asset_condition.iter_assets()),
        "tasks": {
            task.task_id: {
                "operator": type(task).__name__,
                "job": getattr(task, "job", None) or getattr(task, "partial_kwargs", {}).get("job"),
                "lake": getattr(task, "lake", None) or getattr(task, "partial_kwargs", {}).get("lake", ""),
                "pool": task.pool,
                "arguments": getattr(task, "arguments", None),
                "interval": getattr(task, "reads_interval", None),
                "serving": getattr(task, "serving_conn_id", None),
                "idle_followers": getattr(task, "idle_followers", {}),
                "kafka": getattr(task, "kafka_conn_id", None),
                "source": getattr(task, "source_conn_id", None),
                "retries": task.retries,
                "delay": task.retry_delay.total_seconds(),
                "hours": task.execution_timeout and task.execution_timeout.total_seconds() / 3600,
                "one_at_a_time": task.max_active_tis_per_dag,
                "rule": task.trigger_rule,
                "alerts": [type(each).__name__ for each in task.on_failure_callback],
                "describe_verdicts": [each.lake for each in task.on_failure_callback],
                "after": sorted(task.upstream_task_ids),
                "inlets": sorted(a.name for a in task.inlets),
                "outlets": sorted(a.name for a in task.outlets),
            }
            for task in dag.tasks
        },
    }
if "PROBED" in os.environ:  # the same DAGs by another file: what they do is looked at once
    print(json.dumps({"dags": facts, "errors": bag.import_errors}, default=lambda _no_value: None))
    sys.exit()
from types import SimpleNamespace
form = json.loads(sys.argv[3])
task = bag.dags["snapshot"].get_task("snapshot").prepare_for_execution()
task.render_template_fields({"params": form}, task.get_template_env())
filled = {"arguments": task.arguments, "connection": task.source_conn_id}
from airflow.utils.types import DagRunType
moves = {}
for kind in ("scheduled", "asset_triggered", "backfill", "manual"):
    for wish in (False, True) if "stitch_layer" in bag.dags else ():
        task = bag.dags["stitch_layer"].get_task("stitch").prepare_for_execution()
        run = SimpleNamespace(run_type=DagRunType(kind))
        task.render_template_fields({"params": {"move_cut": wish}, "dag_run": run}, task.get_template_env())
        moves[f"{kind} {wish}"] = task.arguments["move_cut"]
class Run(SimpleNamespace):
    def __init__(self, kind="manual", day=None):
        super().__init__(run_type=DagRunType(kind), start_date=NOW, logical_date=day, conf={})
NOW, DAY = datetime(2026, 8, 15, 9, 30, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)
PLANNED = SimpleNamespace(xcom_pull=lambda task_ids: {"findings": {task_ids: "plan-20260310T120000"}})
def options(dag, run, form):
    # the command line of each task that runs a job, by the task's name
    params = {name: dag.params.get_param(name) for name in dag.params}
    defaults = {name: param.value if param.has_value else None for name, param in params.items()}
    context = {"params": {**defaults, **form}, "dag_run": run, "run_id": "r", "ti": PLANNED}
    found = {}
    for task in dag.tasks:
        if type(task).__name__ == "LakehouseJobOperator":
            task = task.prepare_for_execution()
            task.render_template_fields(context, task.get_template_env())
            found[task.task_id] = [*task._options(context), f"source={task.source_conn_id}"]
    return found
TRIES = (True, 7, "2026-03-05", "day-20260131T000000", "public.orders", "lakehouse_source_9", "12345", "abc")
TRIES += ("plan-20260131T000000",)
def values_of(param):
    # what can be filled in there beside its default
    offered = [*param.schema.get("enum", ()), False, *TRIES]
    offered += [list(pair) for pair in pairwise(param.schema.get("items", {}).get("enum", ()))]
    taken = []
    for value in offered:
        if fits(param, value):
            taken += [value] if value is not None and value != param.value and value not in taken else []
    return taken
MUST = {"table": "a.b", "server_name": "c"}
forms = {}
for dag_id, dag in bag.dags.items():
    plain = MUST if dag_id.endswith("snapshot") else {}
    before = options(dag, Run(), plain)
    for name in dag.params:
        value = next((each for each in values_of(dag.params.get_param(name)) if each != plain.get(name)), None)
        if value is None:  # the lake has nothing to choose from
            continue
        form = {"from_date": value, "to_date": value} if name in ("from_date", "to_date") else {name: value}
        after = options(dag, Run(), {**plain, **form})
        new = {task: [word for word in words if word not in before[task]] for task, words in after.items()}
        forms[f"{dag_id}.{name}"] = {"value": value, "new": {task: words for task, words in new.items() if words}}
runs = {
    f"{dag_id} {kind}": options(dag, Run(kind, DAY), MUST if dag_id.endswith("snapshot") else {})
    for dag_id, dag in bag.dags.items()
    for kind in ("scheduled", "asset_triggered", "manual", "backfill")
}
skipped = {}
for wish in (True, False):
    task = bag.dags["apply_changes"].get_task("preview").prepare_for_execution()
    task.render_template_fields({"params": {"preview": wish, "samples": 0}, "ti": PLANNED}, task.get_template_env())
    skipped[str(wish)] = task.skip_reason
heavy = sorted({"pyspark", "pandas", "numpy", "pyarrow", "grpc", "great_expectations", "sqlglot"} & set(sys.modules))
found = {"dags": facts, "moves": moves, "filled": filled, "errors": bag.import_errors, "heavy": heavy}
found |= {"forms": forms, "runs": runs, "skipped": skipped}
print(json.dumps(found, default=lambda _no_value: None))
"""
FORM = {
    "table": "2026.10",
    "server_name": "1e5",
    "partition_column": None,
    "parts": 7,
    "decimals": "string",
    "again": True,
    "connection": "lakehouse_source_2",
}
"""A form of ``snapshot`` with names that could be taken for numbers."""


@pytest.fixture(scope="session")
def each_parsed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What Airflow finds with no variables set, with the shop's lake, and with several lakes; and by one file alone."""
    shop = {"LAKEHOUSE_LAKE_SPEC": str(PROJECT_ROOT / "include" / "lakes" / "shop.yaml")}
    lakes, folder = make_lakes(tmp_path_factory.mktemp("lakes")), tmp_path_factory.mktemp("dags")
    (folder / "lakehouse.py").write_text(one_file(), encoding="utf-8")
    by_one_file = {"PROBED": str(folder)}
    variables = [{}, shop, lakes, by_one_file, {**lakes, **by_one_file}]
    return parse(tmp_path_factory.mktemp("airflow"), variables)


def one_file() -> str:
    """The file of a DAGs folder that docs/existing-airflow.md gives to people who installed the provider."""
    page = (PROJECT_ROOT / "docs" / "existing-airflow.md").read_text(encoding="utf-8")
    _, _, found = page.partition("```python\n")
    return found.partition("```")[0]


@pytest.fixture(scope="session")
def parsed(each_parsed: list[dict[str, Any]]) -> dict[str, Any]:
    return each_parsed[0]


@pytest.fixture(scope="session")
def parsed_for_the_shop(each_parsed: list[dict[str, Any]]) -> dict[str, Any]:
    """The same files with the shop's lake."""
    return each_parsed[1]


@pytest.fixture(scope="session")
def parsed_for_lakes(each_parsed: list[dict[str, Any]]) -> dict[str, Any]:
    """The same files with a folder of three lakes: sales, shop with a pool of its own, and one whose spec is broken."""
    return each_parsed[2]


def make_lakes(folder: Path) -> dict[str, str]:
    """The lakes of ``parsed_for_lakes`` in the folder, and the variables that name them."""
    for name in ("lakes", "marts", "expectations"):
        shutil.copytree(PROJECT_ROOT / "include" / name, folder / name)
    torn = "lake: torn\nsource: {topics: [torn]}\nlog: torn_log\nquarantine: 7\n"
    (folder / "lakes" / "torn.yaml").write_text(torn, encoding="utf-8")
    (folder / "lakes" / ".shop.yaml.swp").write_text("an editor's", encoding="utf-8")
    variables = {"LAKEHOUSE_LAKES": str(folder / "lakes"), "LAKEHOUSE_POOL__SHOP": "shop_pool"}
    return {**variables, "LAKEHOUSE_BASE_PATH": str(folder / "base")}


def parse(home: Path, variables: list[dict[str, str]]) -> list[dict[str, Any]]:
    """What Airflow finds in the DAG files, with each of these variables set."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    environment |= {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(PROJECT_ROOT / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    }
    given = (list(HOSTILE.values()), FORM, variables)
    command = [sys.executable, "-c", PROBE, str(DAGS), *map(json.dumps, given)]
    done = subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"dags": ')]
    assert len(found) == len(variables), done.stdout
    return found
