"""``lakehouse table list|show|timeline|export`` and ``lakehouse explain``: a lake looked at, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

import typer

from spark_jobs.command.execution import WIDTH, carry_out
from spark_jobs.command.grammar import Ends, Verb
from spark_jobs.command.report import say
from spark_jobs.command.sights import lake_lines, run_lines, step_lines, table_lines
from spark_jobs.command.words import in_new_words
from spark_jobs.contracts.clocks import machine_now
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import one_of, show
from spark_jobs.contracts.outcomes import JobOutcome
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import tables_within
from spark_jobs.entrypoint import run_to_its_end
from spark_jobs.lake_spec.descriptions import described
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.lake import lake_overview
from spark_jobs.overview.runs import run_overview
from spark_jobs.overview.tables import table_commits, table_overview
from spark_jobs.storage.lake_names import open_lake
from spark_jobs.storage.lake_specs import read_lake_spec

EXPORT = Verb(group="table", name="export", job="query", ends=Ends.LISTED)

Json = Annotated[bool, typer.Option("--json", help="as JSON, and nothing else, on standard output")]
Table = Annotated[str, typer.Argument(help="the table", metavar="TABLE")]


def add_sights(app: typer.Typer, tables: typer.Typer) -> None:
    """The commands that look at a lake."""
    tables.command("list", help="All tables: how new, how large, and what is the matter.")(list_tables)
    tables.command("show", help="One table: files, columns, readers, what is the matter.")(show_table)
    tables.command("timeline", help="What was written to a table, and what its services did.")(show_timeline)
    tables.command("export", help="All rows of a table, as files for other programs.")(export)
    app.command("explain", help="What one run read, wrote and held back.")(explain)


def list_tables(*, as_json: Json = False) -> None:
    """All tables of the lake."""

    def look(spec: LakeSpec, settings: Settings, now: datetime) -> tuple[Any, Iterator[str]]:
        seen = lake_overview(spec, settings, now)
        return seen, lake_lines(seen)

    _show(look, as_json=as_json)


def show_table(table: Table, *, as_json: Json = False) -> None:
    """One table."""

    def look(spec: LakeSpec, settings: Settings, now: datetime) -> tuple[Any, Iterator[str]]:
        seen = table_overview(spec, settings, _known(table, spec), now)
        return seen, table_lines(seen, described(spec, table), now)

    _show(look, as_json=as_json)


def show_timeline(
    table: Table,
    *,
    most: Annotated[int, typer.Option("--most", help="the newest N steps", min=1, metavar="N")] = 20,
    as_json: Json = False,
) -> None:
    """The timeline of one table."""

    def look(spec: LakeSpec, settings: Settings, now: datetime) -> tuple[Any, Iterator[str]]:
        steps = table_commits(spec, settings, _known(table, spec), most=most)
        return list(steps), step_lines(steps)

    _show(look, as_json=as_json)


def explain(
    run: Annotated[str, typer.Argument(help="an instant, or the key of a write, as table timeline has them")],
    *,
    table: Annotated[str, typer.Option("--table", help="where it is looked for (default: everywhere)")] = "",
    as_json: Json = False,
) -> None:
    """What one run did."""

    def look(spec: LakeSpec, settings: Settings, now: datetime) -> tuple[Any, Iterator[str]]:
        seen = run_overview(spec, settings, run, table=_known(table, spec) if table else "")
        return seen, run_lines(seen)

    _show(look, as_json=as_json)


def export(
    table: Table,
    output: Annotated[
        str, typer.Option("--output", help="a folder x.parquet, a file x.csv or x.csv.gz, a folder x.csv/")
    ],
    *,
    as_of: Annotated[str, typer.Option("--as-of", help="as it was at this instant, time or savepoint")] = "",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="replace what an export left there")] = False,
) -> None:
    """All rows of a table, written to files."""
    quoted = table.replace("`", "``")
    sql = " ".join(("SELECT * FROM", f"`{quoted}`"))
    values = {"sql": sql, "output": output, "as_of": as_of or None, "overwrite": overwrite}
    if code := carry_out(EXPORT, values, confirm=lambda: None, typed=[]):
        raise typer.Exit(code)


def _show(look: Callable[[LakeSpec, Settings, datetime], tuple[Any, Iterator[str]]], *, as_json: bool) -> None:
    """Print what is seen of the lake of the settings, or why it cannot be."""

    def work() -> JobOutcome:
        settings = Settings.from_environment()
        spec = read_lake_spec(settings)
        open_lake(spec.lake, settings, may_name=False)
        seen, lines = look(spec, settings, machine_now())
        if as_json:
            values = [asdict(each) for each in seen] if isinstance(seen, list) else asdict(seen)
            print(json.dumps(values, default=str, ensure_ascii=False), flush=True)
        else:
            with tables_within(WIDTH):
                for line in lines:
                    print(line, flush=True)
        return JobOutcome(exit_code=0, line="seen")

    outcome = run_to_its_end(work)
    if outcome.exit_code:
        say(in_new_words(outcome.line))
        raise typer.Exit(outcome.exit_code)


def _known(table: str, spec: LakeSpec) -> str:
    if table not in spec.table_names:
        raise ContractError(f"lake {spec.lake} has no table {show(table)}; {one_of(table, sorted(spec.table_names))}")
    return table
