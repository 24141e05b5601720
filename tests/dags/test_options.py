"""What goes down to the jobs: every field of every form, the clock of now, and the dates of backfills.

Runs of the fixture start on 2026-08-15 at 9:30; those of the clock and of a backfill are for 2026-03-01.
"""

from __future__ import annotations

from typing import Any

import pytest

from spark_jobs.contracts.dag_ids import DAG_IDS

CLOCK = "--clock=2026-08-15T09:30:00Z"
NO_ARGUMENT = {"dry_run", "preview"}
"""Decide whether a person must approve, after the plan, and whether there is a preview."""
ONLY_FOR = {"apply_changes.marts": "plan", "apply_changes.tables": "plan", "apply_changes.samples": "preview"}
"""The one task that a field is for; what `apply` does is in the plan."""
PLAN = "--plan=plan-20260310T120000"
OTHER_NAMES = {"restore.savepoint": "--to", "snapshot.connection": "source", "data_quality.table": "--tables"}
QUALITY = {"quality", "serve"}
"""Tasks after the job of a layer: they find out themselves what is new."""


def is_for_form(dag_id: str, task: str) -> bool:
    """Whether a task is to be given what the form says."""
    return task not in QUALITY and (dag_id, task) not in {("catalog_sync", "views"), ("catalog_sync", "masked_views")}


def expected_words(place: str, value: Any) -> list[str]:
    """What the command line has for a field of a form."""
    name = place.partition(".")[2]
    if name in ("from_date", "to_date"):
        return ["--interval-start=2026-03-05T00:00:00Z", "--interval-end=2026-03-06T00:00:00Z"]
    value = ",".join(value) if isinstance(value, list) else value
    option = OTHER_NAMES.get(place, f"--{name.replace('_', '-')}")
    return [option if value is True else f"{option}={value}"]


def test_every_field_of_every_form_reaches_the_jobs_of_its_dag_and_changes_nothing_else(parsed: dict[str, Any]) -> None:
    fields = {f"{dag_id}.{name}" for dag_id, dag in parsed["dags"].items() for name in dag["params"]}
    assert len(fields) > 25
    assert set(parsed["forms"]) == fields
    wrong = {}
    for place, found in parsed["forms"].items():
        dag_id, _, name = place.partition(".")
        tasks = [task for task in parsed["runs"][f"{dag_id} manual"] if is_for_form(dag_id, task)]
        tasks = [ONLY_FOR[place]] if place in ONLY_FOR else tasks
        words = expected_words(place, found["value"])
        expected = {} if name in NO_ARGUMENT else dict.fromkeys(tasks, words)
        if found["new"] != expected:
            wrong[place] = found["new"]
    assert wrong == {}


def test_a_preview_is_left_out_by_its_field_alone(parsed: dict[str, Any]) -> None:
    assert parsed["skipped"] == {"True": "", "False": "the form switched the preview off"}


@pytest.mark.parametrize("kind", ["scheduled", "asset_triggered", "manual", "backfill"])
def test_the_clock_of_every_job_is_when_its_run_started(parsed: dict[str, Any], kind: str) -> None:
    """A mart's window ends with the clock: that of a backfill of March must not end in March."""
    for dag_id in DAG_IDS:
        for task, words in parsed["runs"][f"{dag_id} {kind}"].items():
            assert [word for word in words if word.startswith("--clock")] == [CLOCK], (dag_id, task)


@pytest.mark.parametrize("dag_id", DAG_IDS)
def test_a_backfill_has_its_dates_where_events_are_read_again_and_other_runs_have_none(
    parsed: dict[str, Any], dag_id: str
) -> None:
    dated = {
        **{
            name: ["--interval-start=2026-03-01T00:00:00Z", "--interval-end=2026-03-02T00:00:00Z"]
            for name in ("split", "fast", "stitch", "slow")
        },
        **(
            {name: ["--from=2026-03-01", "--to=2026-03-31"] for name in ("plan", "apply")}
            if "recompute" in dag_id
            else {}
        ),
    }
    for kind in ("scheduled", "asset_triggered", "manual", "backfill"):
        for task, words in parsed["runs"][f"{dag_id} {kind}"].items():
            found = [word for word in words if word.startswith(("--interval", "--from", "--to="))]
            assert found == (dated.get(task, []) if kind == "backfill" else []), (task, kind)


def test_without_a_form_no_job_is_given_what_no_one_chose(parsed: dict[str, Any]) -> None:
    """The words that each DAG gives by itself, beside the clock."""
    given = {
        f"{run.split()[0]}.{task}": [word for word in words if word not in (CLOCK, "source=None")]
        for run, tasks in parsed["runs"].items()
        for task, words in tasks.items()
        if run.endswith(" manual") and task != "quality"
    }
    assert {place: words for place, words in given.items() if words} == {
        "fast_layer.fast": ["--layer=fast"],
        "fast_layer.serve": ["--layer=fast"],
        "stitch_layer.stitch": ["--layer=stitch"],
        "stitch_layer.serve": ["--layer=stitch"],
        "slow_layer.slow": ["--layer=slow"],
        "slow_layer.serve": ["--layer=slow"],
        "recompute.plan": ["--layer=slow"],
        "recompute.apply": ["--layer=slow", "--yes"],
        "apply_changes.plan": ["--keep"],
        "apply_changes.preview": [PLAN, "--samples=0"],
        "apply_changes.apply": [PLAN],
        "undo_changes.apply": ["--yes"],
        "savepoints.keep": ["--label=day", "--keep=3"],
        "restore.apply": ["--yes"],
        "erase.apply": ["--yes"],
        "snapshot.snapshot": ["--table=a.b", "--server-name=c", "--decimals=precise", "source=lakehouse_source"],
        "catalog_sync.views": ["--if-configured"],
        "catalog_sync.masked_views": ["--if-configured", "--masked"],
    }
