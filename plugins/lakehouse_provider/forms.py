"""Fields that the forms of several DAGs have."""

from __future__ import annotations

from airflow.sdk import Param


def choice_param(names: list[str], *, empty: str, title: str, description: str) -> Param:
    """One of the names or none; the page shows ``empty`` for none."""
    return Param(
        None,
        type=["null", "string"],
        enum=[None, *names],
        values_display={"null": empty},
        title=title,
        description=description,
    )


def dry_run_param() -> Param:
    """On unless it is switched off: the plan and nothing else."""
    return Param(
        True, type="boolean", title="Dry run", description="On: the plan and nothing else. Off: asks for approval"
    )
