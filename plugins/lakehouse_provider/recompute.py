"""The form of the DAG ``recompute``, and its plan as a page that a person can approve."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow.sdk import Param

from lakehouse_provider.forms import choice_param, dry_run_param
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.specs import LakeSpec
from spark_jobs.contracts.tables import is_identifier

_MARKS = re.compile(r"[\\`*_\[\]<>|]")
MOST_LINES = 200
"""A plan of more lines is cut here; the log of the task that made it has them all."""


def rules_versions(settings: Settings | None = None) -> list[str]:
    """Versions of the business rules: names of the files in the rules' folder, which are not read for it.

    Without a file whose name no version can have; jobs refuse to go on with such a one.
    """
    folder = Path((settings or Settings.from_environment()).rules_path)
    return sorted(path.stem for path in folder.glob("*.yaml") if is_identifier(path.stem))


def recompute_params(spec: LakeSpec, versions: list[str]) -> dict[str, Param]:
    """What is computed anew: layer or one mart, under which rules, from which day to which, and whether just a plan."""
    layers = sorted({mart.layer for mart in spec.marts}) or [""]
    ruled = [mart.layer for mart in spec.marts if mart.rules]
    marts = [mart.name for mart in spec.marts if mart.name not in spec.caches]
    return {
        "layer": Param(
            [*ruled, *layers][0], type="string", enum=layers, title="Layer", description="Its marts, or the one below"
        ),
        "mart": choice_param(marts, empty="all of the layer", title="Mart", description="One mart of the layer alone"),
        "rules": choice_param(
            versions,
            empty="the one that counts in each month",
            title="Rules version",
            description="Another version for these months; only for marts that use rules",
        ),
        "from": _date("From", "The first day; of marts kept by month the whole month is computed again"),
        "to": _date("To", "The last day, included"),
        "dry_run": dry_run_param(),
    }


def plan_page(result: Mapping[str, Any]) -> str:
    """A plan in Markdown: its numbers as a table, what it says as a list. ``result`` is the job's result as a dict.

    What the job tells people at a shell, to say ``--yes``, is left out: here they press a button.
    """
    counters: Mapping[str, int] = result.get("counters") or {}
    messages: list[str] = list(result.get("messages") or [])
    numbers = [f"| {name.replace('_', ' ')} | {value:,} |" for name, value in counters.items() if value]
    table = ["| what | number |", "|---|---:|", *numbers, ""] if numbers else []
    said = [
        f"- {_plain(line)}"
        for message in messages
        for line in message.splitlines()
        if line.strip() and "--yes" not in line
    ]
    more = [f"- and {len(said) - MOST_LINES} lines more in the log"] if len(said) > MOST_LINES else []
    return "\n".join([*table, *said[:MOST_LINES], *more]) or "The plan is empty; look at the log of its task."


def _date(title: str, description: str) -> Param:
    return Param(None, type=["null", "string"], format="date", title=title, description=description)


def _plain(line: str) -> str:
    """A line that Markdown shows as it is: a name in it becomes no emphasis, no link and no element."""
    return _MARKS.sub(r"\\\g<0>", line.strip())
