"""Fields that the forms of several DAGs have."""

from __future__ import annotations

from airflow.sdk import Param

from spark_jobs.contracts.tables import ColumnSpec, ColumnType

_END = r"$(?!\n)"
"""The end of a text for browsers and Python alike, whose ``$`` also matches before a last line end."""


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


def key_param(column: ColumnSpec, *, title: str) -> Param:
    """The key of one row as text, or none; digits alone where the column holds numbers."""
    pattern = f"^-?[0-9]{{1,19}}{_END}" if column.type is ColumnType.BIGINT else f"^[^\x00-\x1f\x7f]+{_END}"
    return Param(
        None,
        type=["null", "string"],
        pattern=pattern,
        maxLength=column.max_length,
        title=title,
        description=column.name,
    )


def savepoint_param() -> Param:
    """The name of a savepoint: its label and when it was made."""
    return Param(
        "",
        type="string",
        pattern=f"^([a-z][a-z0-9_]{{0,39}}-[0-9]{{8}}T[0-9]{{6}})?{_END}",
        title="Savepoint",
        description="Its name, such as day-20260131T000000",
    )


def topics_param() -> Param:
    """Topics of Kafka, with commas, or none."""
    name = "[A-Za-z0-9_]+([.-][A-Za-z0-9_]+)*"
    return Param(
        None,
        type=["null", "string"],
        pattern=f"^{name}(,{name})*{_END}",
        maxLength=249,
        title="Accept loss",
        description="Topics of Kafka, with commas, that go on without the messages they have lost",
    )


def dry_run_param() -> Param:
    """On unless it is switched off: the plan and nothing else."""
    return Param(
        True, type="boolean", title="Dry run", description="On: the plan and nothing else. Off: asks for approval"
    )
