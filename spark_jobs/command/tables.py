"""``lakehouse table list|show|timeline|export`` and ``lakehouse explain``: a lake looked at, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from spark_jobs.command.execution import WIDTH, carry_out
from spark_jobs.command.grammar import Ends, Verb
from spark_jobs.command.report import say
from spark_jobs.command.sights import column_lines, lake_lines, run_lines, step_lines, table_lines
from spark_jobs.command.words import PROGRAM, in_new_words
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
from spark_jobs.overview.models import RunOverview
from spark_jobs.overview.runs import newest_run, run_overview
from spark_jobs.overview.tables import table_commits, table_overview
from spark_jobs.spec_files.views import load_views
from spark_jobs.sql_analysis.column_readers import column_readers
from spark_jobs.sql_analysis.lineage import lineage_of
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


def show_table(
    table: Table,
    *,
    column: Annotated[
        str, typer.Option("--column", help="this column: what it is made of, and who reads it", metavar="NAME")
    ] = "",
    as_json: Json = False,
) -> None:
    """One table, or one of its columns."""

    def look(spec: LakeSpec, settings: Settings, now: datetime) -> tuple[Any, Iterator[str]]:
        seen = table_overview(spec, settings, _known(table, spec), now)
        if not column:
            return seen, table_lines(seen, described(spec, table), now)
        types = dict(seen.columns)
        if column not in types:
            raise ContractError(f"{table} has no column {show(column)}; {one_of(column, sorted(types))}")
        inputs = lineage_of(spec, table).columns.get(column, ())
        views = {view.name: view.text for view in load_views(Path(settings.views_path))}
        readers = column_readers(spec, table, column, views=views)
        facts = {"table": table, "column": column, "type": types[column]}
        shown = facts | {"made_of": [*map(asdict, inputs)], "readers": [*map(asdict, readers)]}
        return shown, column_lines(facts, inputs, readers)

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
    run: Annotated[
        str, typer.Argument(help="an instant or the key of a write, as table timeline has them, or a table: its newest")
    ],
    *,
    table: Annotated[str, typer.Option("--table", help="where it is looked for (default: everywhere)")] = "",
    as_json: Json = False,
) -> None:
    """What one run did; then the command that shows the rows which it changed."""
    found: list[RunOverview] = []

    def look(spec: LakeSpec, settings: Settings, now: datetime) -> tuple[Any, Iterator[str]]:
        name, which = (_known(table, spec) if table else ""), run
        if run in spec.table_names and name in ("", run):
            name, which = run, newest_run(spec, settings, run)
        found.append(run_overview(spec, settings, which, table=name))
        return found[0], run_lines(found[0])

    _show(look, as_json=as_json)
    if found[0].before and not as_json:
        commit = found[0].commit
        say(f"next: {PROGRAM} table diff {commit.table} --from {found[0].before} --to {commit.instant}")


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
            print(json.dumps(_plain(seen), default=str, ensure_ascii=False), flush=True)
        else:
            with tables_within(WIDTH):
                for line in lines:
                    print(line, flush=True)
        return JobOutcome(exit_code=0, line="seen")

    outcome = run_to_its_end(work)
    if outcome.exit_code:
        say(in_new_words(outcome.line))
        raise typer.Exit(outcome.exit_code)


def _plain(seen: Any) -> Any:
    if isinstance(seen, list):
        return [asdict(each) for each in seen]
    return seen if isinstance(seen, dict) else asdict(seen)


def _known(table: str, spec: LakeSpec) -> str:
    if table not in spec.table_names:
        raise ContractError(f"lake {spec.lake} has no table {show(table)}; {one_of(table, sorted(spec.table_names))}")
    return table
