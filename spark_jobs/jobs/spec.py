"""spec: check the lake spec. ``spec check`` reports every mistake in it by file and line.

It looks at the spec, at each mart and whether its mode is right for its SQL, at each version of the business rules when
a mart uses them, at each expectation, and, when these are right, at what the lake's report shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spark_jobs.context import Job, JobContext, never
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.spec import SpecOptions
from spark_jobs.lake_spec.expectations import Expectation
from spark_jobs.lake_spec.loads import LoadSpec
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.table_patterns import TablePattern
from spark_jobs.lake_spec.table_sources import ORIGIN
from spark_jobs.lake_spec.table_spec import TableSpec
from spark_jobs.spec_files.lake_check import check_lake
from spark_jobs.spec_files.report_file import check_report

_HEAD = ("mart", "layer", "mode", "reads", "grain", "result")
_TABLES = ("table", "from", "key", "columns", "nulls", "deletes", "partition", "result")
_EXPECTED = ("expectation", "action", "expected", "result")


def run(context: JobContext[SpecOptions]) -> JobResult:
    """Print a line for every table, mart and expectation, or for everything that is wrong; needs no Spark.

    Raises:
        ContractError: something is wrong. All of it was printed; the message has the number and the first of it.
    """
    settings = context.settings
    checked = check_lake(_as_written(Path(settings.lake_spec)), str(_as_written(Path(settings.rules_path))))
    spec, mistakes = checked.spec, checked.mistakes
    if not mistakes and spec is not None:
        mistakes = check_report(str(_as_written(Path(settings.reports_path))), spec, settings.views_path)
    if mistakes or spec is None:
        print("\n".join(mistakes))
        raise _refusal(mistakes)
    print(
        format_table(
            _TABLES,
            [*(_table(each, spec) for each in spec.tables), *map(_pattern, spec.patterns), *map(_load, spec.loads)],
        )
    )
    if spec.marts:
        print(format_table(_HEAD, [_line(mart, spec) for mart in spec.marts]))
    if spec.expectations:
        print(format_table(_EXPECTED, list(map(_expected, spec.expectations))))
    counters = {
        "tables": len(spec.tables) + len(spec.patterns) + len(spec.loads),
        "marts": len(spec.marts),
        "expectations": len(spec.expectations),
    }
    return context.result(DONE, counters=counters, messages=spec.notices)


def _as_written(path: Path) -> Path:
    """The path, relative to the current folder when it is in there."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _table(table: TableSpec, spec: LakeSpec) -> tuple[str, ...]:
    names = (
        ", ".join(table.column_name(name) if name == ORIGIN else name for name in table.key),
        ", ".join(table.columns) or "all",
    )
    nulls = [spec.nulls_of(table).value, *(f"{column} {rule.value}" for column, rule in table.null_columns)]
    rules = (", ".join(nulls), str(table.deletes), table.partition)
    return (table.name, table.origin or spec.log, *names, *rules, "ok")


def _pattern(pattern: TablePattern) -> tuple[str, ...]:
    like, keys = pattern.like, [f"{table}: {', '.join(key)}" for table, key in pattern.keys]
    key = ", ".join(pattern.key) or "as records say"
    rules = (str(like.nulls), str(like.deletes), like.partition)
    return (
        *(pattern.name, str(pattern.sources), "; ".join([key, *keys]), ", ".join(like.columns) or "all"),
        *(*rules, f"ok, new tables: {pattern.new_tables.value}"),
    )


def _load(load: LoadSpec) -> tuple[str, ...]:
    names = (", ".join(load.key), ", ".join(column.name for column in load.columns))
    return (load.name, "files", *names, "value", load.operation.value, load.partition, "ok")


def _line(mart: MartSpec, spec: LakeSpec) -> tuple[str, ...]:
    reads, grain = (", ".join(names) for names in ([read.table for read in mart.reads], mart.grain))
    missing = ", ".join(spec.missing_reads(mart))
    result = f"its SQL is checked once the log has {missing}" if missing else "ok"
    return (mart.name, mart.layer, mart.mode.value, reads, grain, result)


def _expected(each: Expectation) -> tuple[str, ...]:
    return (each.id, each.action.value, each.expected, "ok")


def _refusal(mistakes: Sequence[str]) -> ContractError:
    others = f"; the other {len(mistakes) - 1} are printed above" if len(mistakes) > 1 else ""
    return ContractError(f"{len(mistakes)} wrong: {mistakes[0]}{others}")


JOB = Job(options=SpecOptions, run=run, needs_spark=never)
