"""Great Expectations checks whole tables: suites made of the lake's expectations, and Data Docs of their results.

Its results hold counts and no values: they are shown to people who may not see the rows. What it cannot compare exactly
(its borders are floating-point numbers) or does not know (a condition, a reference) is given to it as a column of true
and false. The import takes four to ten seconds, so nothing is imported before there is something to check.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructType

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.instants import NO_INSTANT, Instant
from spark_jobs.lake_spec.expectations import Expectation, Kind
from spark_jobs.quality.gate import judge_rows
from spark_jobs.quality.rules import is_within
from spark_jobs.quality.verdicts import Outcome, Verdict

_SITE = "lake"
_NO_VALUES = {"result_format": "BASIC", "partial_unexpected_count": 0}
_HOLDS, _FOUND = "__", "__found"
"""Before the name of a column of answers: no column that readers see has two underscores in its name."""

Others = Callable[[str], DataFrame]
"""The rows of another table, by its name, as its readers see them."""


class Suites:
    """One context of Great Expectations for all tables; ``docs_folder`` gets its site."""

    def __init__(self, docs_folder: Path) -> None:
        self._docs_folder = docs_folder

    def check(
        self,
        table: str,
        rows_df: DataFrame,
        expectations: Sequence[Expectation],
        others: Others,
        *,
        as_of: Instant = NO_INSTANT,
    ) -> tuple[Verdict, ...]:
        """A verdict for each expectation about rows, in their order.

        Args:
            table: what the rows are of.
            rows_df: as readers see them.
            expectations: of the kinds in ``ROW_KINDS`` and ``WHOLE_KINDS``.
            others: where references lead to.
            as_of: the instant of the rows; its page says so.

        Raises:
            ContractError: Great Expectations could not check one of them.
        """
        if not expectations:
            return ()
        checked_df, names = _with_answers(rows_df, expectations, others)
        suites = self._context.suites  # first: nothing of Great Expectations can be made without a context
        suite = self._gx.ExpectationSuite(name=table)
        for each in expectations:
            suite.add_expectation(self._expectation(each, names.get(each.name), rows_df.schema))
        found = self._run(table, suites.add(suite), checked_df, f"as_of_{as_of}")
        return tuple(_verdict(each, found.get(each.name, {})) for each in expectations)

    def write_docs(self) -> None:
        """Write the site: a page for each table that was checked, with what was expected and how many rows broke it."""
        self._context.build_data_docs(site_names=[_SITE])

    @cached_property
    def _gx(self) -> Any:
        os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read while it is imported: it would report to its makers
        logging.getLogger("great_expectations").setLevel(logging.ERROR)  # it logs 300 lines while it is imported
        import great_expectations
        import great_expectations.expectations

        return great_expectations

    @cached_property
    def _context(self) -> Any:
        context = self._gx.get_context(mode="ephemeral")
        context.variables.progress_bars = {"globally": False}
        for site in tuple(context.get_site_names()):
            context.delete_data_docs_site(site)
        store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(self._docs_folder)}
        index = {"class_name": "DefaultSiteIndexBuilder"}
        builder = {"class_name": "SiteBuilder", "site_index_builder": index, "store_backend": store}
        context.add_data_docs_site(_SITE, builder)
        return context

    @cached_property
    def _source(self) -> Any:
        return self._context.data_sources.add_spark(_SITE)

    def _run(self, table: str, suite: Any, checked_df: DataFrame, name: str) -> Mapping[str, Mapping[str, Any]]:
        """Of each expectation what Great Expectations found, by its name."""
        batch = self._source.add_dataframe_asset(table).add_batch_definition_whole_dataframe("whole table")
        definition = self._gx.ValidationDefinition(name=table, data=batch, suite=suite)
        checkpoint = self._gx.Checkpoint(
            name=table,
            validation_definitions=[self._context.validation_definitions.add(definition)],
            result_format=_NO_VALUES,
        )
        run = self._gx.RunIdentifier(run_name=name)
        done = self._context.checkpoints.add(checkpoint).run(batch_parameters={"dataframe": checked_df}, run_id=run)
        results = (each for found in done.run_results.values() for each in found.results)
        return {each.expectation_config.meta["name"]: each.result for each in results}

    def _expectation(self, each: Expectation, answer: str | None, schema: StructType) -> Any:
        known = self._gx.expectations
        description = f"{each.name}: {each.says or each.expected}"
        facts: dict[str, Any] = {"meta": {"name": each.name}, "description": description}
        if each.where:
            facts |= {"row_condition": each.where, "condition_parser": "spark"}
        if answer:
            return known.ExpectColumnValuesToBeInSet(column=answer, value_set=[True], **facts)
        if each.kind is Kind.UNIQUE and len(each.columns) > 1:
            facts["ignore_row_if"] = "any_value_is_missing"
            return known.ExpectCompoundColumnsToBeUnique(column_list=list(each.columns), **facts)
        column = each.columns[0]
        if each.kind is Kind.UNIQUE:
            return known.ExpectColumnValuesToBeUnique(column=column, **facts)
        if each.kind is Kind.NOT_NULL:
            return known.ExpectColumnValuesToNotBeNull(column=column, **facts)
        if each.kind is Kind.MATCHES:
            return known.ExpectColumnValuesToMatchRegex(column=column, regex=each.pattern, **facts)
        is_number = isinstance(schema[column].dataType, LongType)
        values = [int(value) if is_number else value for value in each.values]
        return known.ExpectColumnValuesToBeInSet(column=column, value_set=values, **facts)


def _with_answers(
    rows_df: DataFrame, expectations: Sequence[Expectation], others: Others
) -> tuple[DataFrame, dict[str, str]]:
    """The rows with a column of true and false for each expectation that is put so, and the columns by expectation."""
    names: dict[str, str] = {}
    answers: dict[str, Column] = {}
    checked_df = rows_df
    for each in expectations:
        column = f"{_HOLDS}{each.name}"
        if each.kind is Kind.REFERS_TO:
            checked_df = _with_reference(checked_df, each, others, column)
        elif (answer := _answer(each, rows_df.schema)) is not None:
            answers[column] = answer
        else:
            continue
        names[each.name] = column
    return checked_df.withColumns(answers) if answers else checked_df, names


def _answer(each: Expectation, schema: StructType) -> Column | None:
    """Whether it holds, null where that is not known; None for what Great Expectations checks exactly by itself."""
    if each.kind is Kind.HOLDS:
        return F.expr(each.condition)
    if each.kind not in (Kind.BETWEEN, Kind.ONE_OF):
        return None
    name = each.columns[0]
    type_ = schema[name].dataType
    if each.kind is Kind.BETWEEN:
        return is_within(F.col(name), each, type_)
    if isinstance(type_, LongType | StringType):
        return None
    return F.col(name).isin([F.lit(value).cast(type_) for value in each.values])


def _with_reference(rows_df: DataFrame, each: Expectation, others: Others, column: str) -> DataFrame:
    table, _, target = each.refers_to.partition(".")
    keys_df = others(table).select(F.col(target).alias(_FOUND)).where(F.col(_FOUND).isNotNull()).distinct()
    own = F.col(each.columns[0])
    joined_df = rows_df.join(keys_df, own == F.col(_FOUND), "left")
    return joined_df.withColumn(column, F.when(own.isNotNull(), F.col(_FOUND).isNotNull())).drop(_FOUND)


def _verdict(each: Expectation, found: Mapping[str, Any]) -> Verdict:
    if "element_count" not in found:
        raise ContractError(
            f"expectation {each.id}: Great Expectations cannot check it on these rows; see whether its SQL fits them"
        )
    # Of no rows at all it gives no number.
    checked, broken = (int(found[count] or 0) for count in ("element_count", "unexpected_count"))
    verdict = judge_rows(each, checked=checked, broken=broken)
    # Rows that are there now cannot be set aside any more: they came before the rule did.
    return replace(verdict, outcome=Outcome.WARNED) if verdict.outcome is Outcome.QUARANTINED else verdict
