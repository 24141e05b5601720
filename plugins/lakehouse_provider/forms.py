"""Fields that the forms of several DAGs have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Param

from lakehouse_provider.connections.source import SOURCE_CONN_ID
from spark_jobs.contracts.options import JobOptions, declared_options
from spark_jobs.job_options.ingest import IngestOptions
from spark_jobs.job_options.preview import PreviewOptions
from spark_jobs.job_options.snapshot import SnapshotOptions
from spark_jobs.job_options.split import SplitOptions
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType

_MOST_KEY = 4000
_END = r"$(?!\n)"
"""The end of a text for browsers and Python alike, whose ``$`` also matches before a last line end."""

_TYPES: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number"}
"""Names of types in JSON Schema; all others are texts."""

_TOPIC = "[A-Za-z0-9_]+([.-][A-Za-z0-9_]+)*"
"""The name of a topic, which begins with that of its connector's server."""


def option_param(
    options: type[JobOptions], name: str, *, title: str = "", description: str = "", default: Any = None, **schema: Any
) -> Param:
    """The field of a form for an option of a job: what it takes and what is written below it come from the option.

    Args:
        options: the options of the job.
        name: the field of that class.
        title: what it is called on the page (default: the field's name).
        description: what is written below it (default: the option's help).
        default: what the form begins with (default: what the job takes when it is left out).
        schema: what the form alone refuses, in words of JSON Schema.
    """
    option = next(each for each in declared_options(options) if each.name == name)
    may_be_empty = default is None and option.default in (None, "")
    kind = _TYPES.get(option.type, "string")
    found: dict[str, Any] = {"type": ["null", kind] if may_be_empty else kind}
    if option.choices:
        found["enum"] = [None, *option.choices] if may_be_empty else list(option.choices)
    if option.option.at_least is not None:
        found["minimum"] = option.option.at_least
    text = description or option.option.help
    found |= {"title": title or name.replace("_", " ").capitalize(), "description": text[0].upper() + text[1:]}
    if option.is_required and default is None:
        return Param(**found, **schema)
    empty = None if may_be_empty else option.default
    return Param(empty if default is None else default, **found, **schema)


def choice_param(names: list[str], *, empty: str, title: str, description: str, is_open: bool = False) -> Param:
    """One of the names or none; the page shows ``empty`` for none. With ``is_open`` any other name as well."""
    if is_open:
        pattern = f"^[a-z][a-z0-9_]{{0,62}}{_END}"
        text = f"{description}, found ones too; empty: {empty}"
        return Param(None, type=["null", "string"], pattern=pattern, examples=names, title=title, description=text)
    return Param(
        None,
        type=["null", "string"],
        enum=[None, *names],
        values_display={"null": empty},
        title=title,
        description=description,
    )


def key_param(column: ColumnSpec | None, *, title: str) -> Param:
    """The key of one row as text, or none; digits alone where its column is declared as a number."""
    is_number = column is not None and column.type is ColumnType.BIGINT
    return Param(
        None,
        type=["null", "string"],
        pattern=f"^-?[0-9]{{1,19}}{_END}" if is_number else f"^[^\x00-\x1f\x7f]+{_END}",
        maxLength=column.max_length if column else _MOST_KEY,
        title=title,
        description=column.name if column else f"The key of the {title.lower()}",
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


def plan_param() -> Param:
    """The id of a plan that was applied."""
    return Param(
        "",
        type="string",
        pattern=f"^(plan-[0-9]{{8}}T[0-9]{{6}})?{_END}",
        title="Plan",
        description="Its id, such as plan-20260131T000000",
    )


def topics_param() -> Param:
    """Topics of Kafka, with commas, or none."""
    pattern = f"^{_TOPIC}(,{_TOPIC})*{_END}"
    return option_param(IngestOptions, "accept_loss", pattern=pattern, maxLength=249)


def dry_run_param(shown: str = "the plan") -> Param:
    """On unless it is switched off: what is shown and nothing else."""
    return Param(True, type="boolean", title="Dry run", description=f"On: only {shown}. Off: waits for approval")


def changes_params(marts: list[str], tables: list[str], *, is_open: bool = False) -> dict[str, Param]:
    """Which changed marts and tables are made by their new definition, and what is shown before a person decides.

    With ``is_open`` any other table as well.
    """
    table = {"pattern": f"^[a-z][a-z0-9_]{{0,62}}{_END}"} if is_open else {"enum": tables}
    return {
        "marts": Param(
            None,
            type=["null", "array"],
            items={"type": "string", "enum": marts},
            examples=marts,
            title="Marts",
            description="With the changed marts and tables that they read; no mart and no table: all that changed",
        ),
        "tables": Param(
            None,
            type=["null", "array"],
            items={"type": "string", **table},
            examples=tables,
            title="Tables",
            description="These alone, beside the marts above; each is rebuilt from the log",
        ),
        "preview": Param(
            True,
            type="boolean",
            title="Preview",
            description="Compute them beside their rows and show the difference; takes as long as a full refresh",
        ),
        "samples": option_param(
            PreviewOptions,
            "samples",
            title="Sample keys",
            description="Of new, changed and gone rows, so many keys each; they stay in Airflow's log and database",
            default=0,
            maximum=100,
        ),
        "dry_run": dry_run_param("the plan and the preview"),
    }


def table_params() -> dict[str, Param]:
    """Which tables alone, by patterns with commas; none: everything."""
    pattern = r"[A-Za-z0-9_*?]{1,128}"
    return {
        name: option_param(SplitOptions, name, pattern=f"^{pattern}(,{pattern})*{_END}", maxLength=1000)
        for name in ("databases", "tables")
    }


def snapshot_params(conn_id: str = SOURCE_CONN_ID) -> dict[str, Param]:
    """Which table of which database is read, and how; ``conn_id`` is the connection of the lake's first database."""
    name = r"[A-Za-z0-9_$#@]{1,128}"
    return {
        "table": option_param(SnapshotOptions, "table", pattern=rf"^{name}\.{name}{_END}"),
        "server_name": option_param(SnapshotOptions, "server_name", pattern=f"^{_TOPIC}{_END}", maxLength=249),
        "partition_column": option_param(SnapshotOptions, "partition_column", pattern=f"^{name}{_END}"),
        "parts": option_param(SnapshotOptions, "parts", maximum=10_000),
        "decimals": option_param(SnapshotOptions, "decimals"),
        "again": option_param(SnapshotOptions, "again"),
        "connection": Param(
            conn_id,
            type="string",
            pattern=f"^{conn_id}(_[a-z0-9]+)*{_END}",
            maxLength=100,
            title="Connection",
            description=f"{conn_id}, or one of another database whose name begins so",
        ),
    }
