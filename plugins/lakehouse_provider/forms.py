"""Fields that the forms of several DAGs have."""

from __future__ import annotations

from airflow.sdk import Param

from lakehouse_provider.connections.source import SOURCE_CONN_ID
from spark_jobs.lake_spec.tables import ColumnSpec, ColumnType

_MOST_KEY = 4000
_END = r"$(?!\n)"
"""The end of a text for browsers and Python alike, whose ``$`` also matches before a last line end."""

_TOPIC = "[A-Za-z0-9_]+([.-][A-Za-z0-9_]+)*"
"""The name of a topic, which begins with that of its connector's server."""


def choice_param(names: list[str], *, empty: str, title: str, description: str, is_open: bool = False) -> Param:
    """One of the names or none; the page shows ``empty`` for none. With ``is_open`` any other name as well."""
    if is_open:
        pattern = f"^[a-z][a-z0-9_]{{0,62}}{_END}"
        said = f"{description}, found ones too; empty: {empty}"
        return Param(None, type=["null", "string"], pattern=pattern, examples=names, title=title, description=said)
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
    return Param(
        None,
        type=["null", "string"],
        pattern=f"^{_TOPIC}(,{_TOPIC})*{_END}",
        maxLength=249,
        title="Accept loss",
        description="Topics of Kafka, with commas, that go on without the messages they have lost",
    )


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
        "samples": Param(
            0,
            type="integer",
            minimum=0,
            maximum=100,
            title="Sample keys",
            description="Of new, changed and gone rows, so many keys each; they stay in Airflow's log and database",
        ),
        "dry_run": dry_run_param("the plan and the preview"),
    }


def table_params() -> dict[str, Param]:
    """Which tables alone, by patterns with commas; none: everything."""
    pattern = r"[A-Za-z0-9_*?]{1,128}"
    return {
        name: Param(
            None,
            type=["null", "string"],
            pattern=f"^{pattern}(,{pattern})*{_END}",
            maxLength=1000,
            title=title,
            description=description,
        )
        for name, title, description in (
            ("databases", "Databases", "Tables of these databases or schemas at the source alone; empty: everything"),
            ("tables", "Tables", "These tables alone, such as order*,customers; empty: everything"),
        )
    }


def snapshot_params(conn_id: str = SOURCE_CONN_ID) -> dict[str, Param]:
    """Which table of which database is read, and how; ``conn_id`` is the connection of the lake's first database."""
    name = r"[A-Za-z0-9_$#@]{1,128}"
    return {
        "table": Param(
            type="string",
            pattern=rf"^{name}\.{name}{_END}",
            title="Table",
            description="Schema and table as the database writes them; with MySQL and MariaDB database and table",
        ),
        "server_name": Param(
            type="string",
            pattern=f"^{_TOPIC}{_END}",
            maxLength=249,
            title="Server name",
            description="The topic.prefix of the connector that sends its changes",
        ),
        "partition_column": Param(
            None,
            type=["null", "string"],
            pattern=f"^{name}{_END}",
            title="Partition column",
            description="Its key, a number or a date, to read it in parts by; empty: in one part",
        ),
        "parts": Param(
            None,
            type=["null", "integer"],
            minimum=1,
            maximum=10_000,
            title="Parts",
            description="Empty: one for 50,000 rows",
        ),
        "decimals": Param(
            "precise",
            type="string",
            enum=["precise", "string"],
            title="Decimals",
            description="As the connector's decimal.handling.mode has them",
        ),
        "again": Param(
            False, type="boolean", title="Again", description="Start from scratch, even if it was read or begun before"
        ),
        "connection": Param(
            conn_id,
            type="string",
            pattern=f"^{conn_id}(_[a-z0-9]+)*{_END}",
            maxLength=100,
            title="Connection",
            description=f"{conn_id}, or one of another database whose name begins so",
        ),
    }
