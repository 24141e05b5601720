"""The form of the DAG ``recompute``."""

from __future__ import annotations

from pathlib import Path

from airflow.sdk import Param

from lakehouse_provider.forms import choice_param, dry_run_param
from spark_jobs.contracts.identifiers import is_identifier
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec


def rules_versions(settings: Settings | None = None) -> list[str]:
    """Versions of the business rules: names of the files in the rules' folder, which are not read for it.

    Without a file whose name no version can have; jobs refuse to go on with such a one.
    """
    folder = Path((settings or Settings.from_environment()).rules_path)
    return sorted(path.stem for path in folder.glob("*.yaml") if is_identifier(path.stem))


def recompute_params(spec: LakeSpec, versions: list[str]) -> dict[str, Param]:
    """What is recomputed: layer or one mart, under which rules, from which day to which, and whether just a plan."""
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


def _date(title: str, description: str) -> Param:
    return Param(None, type=["null", "string"], format="date", title=title, description=description)
