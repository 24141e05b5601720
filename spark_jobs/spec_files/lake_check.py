"""Everything that is wrong with a lake's files: each file alone, what does not fit together, and the SQL in them.

The business rules are looked at when there are any, whether a mart uses them or not, and when a mart needs them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.places import DocumentPlace, Entries
from spark_jobs.lake_spec.expectations import names_twice
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.spec_files.lake_files import read_lake_files
from spark_jobs.spec_files.mistakes import Mistakes, placed_text
from spark_jobs.spec_files.rules_file import read_rules
from spark_jobs.spec_files.spec_file import find_lake
from spark_jobs.sql_analysis.expectation_sql import check_expectation, implied
from spark_jobs.sql_analysis.mart_rules import rule_mistakes
from spark_jobs.sql_analysis.mart_sql import analyse_mart


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeCheck:
    """A lake, and what is wrong with it by file and line, each on one line; the lake is only right without."""

    spec: LakeSpec | None
    mistakes: tuple[str, ...]


def check_lake(path: Path, rules_path: str) -> LakeCheck:
    """Look at all files of the lake whose spec is at ``path``, and at the rules in their folder."""
    found, spec = Mistakes(), None
    if files := read_lake_files(path, found):
        spec = find_lake(files, found)
        right = _check_marts(spec, files.document, found)
        _check_rules(right, spec, files.document, rules_path, found)
        _check_expectations(spec, files.document, found)
    placed = sorted(found.errors, key=lambda error: error.place or DocumentPlace(file=str(path)))
    return LakeCheck(spec=spec, mistakes=tuple(map(placed_text, placed)))


def _check_marts(spec: LakeSpec, document: Entries, found: Mistakes) -> list[MartSpec]:
    """What is wrong with their SQL, where all that it needs to know of the lake is right; gives the right ones."""
    right = list[MartSpec]()
    wrong = {error.at[:2] for error in found.errors if isinstance(error, ContractError)}
    has_columns = not found.is_unread("columns")
    for mart in spec.marts:
        reads = {read.table for read in mart.reads}
        is_known = reads <= set(spec.readable) and (has_columns or spec.log not in reads)
        if is_known and ("marts", mart.name) not in wrong:
            try:
                columns = analyse_mart(mart, spec).columns
                right.append(mart)
                for error in mart.mistakes_of_comments(f"mart {mart.name}", columns):
                    found.add(error.inside("marts", mart.name), document)
            except ContractError as error:
                found.add(error.inside("marts", mart.name), document)
                found.leave_out("sql", mart.name)
    return right


def _check_rules(
    marts: Sequence[MartSpec], spec: LakeSpec, document: Entries, rules_path: str, found: Mistakes
) -> None:
    """What is wrong with the rules, and what does not fit between them and those of the ``marts`` that use them."""
    ruled = [mart for mart in marts if mart.rules]
    if not ruled and not (rules_path and any(Path(rules_path).glob("*.yaml"))):
        return
    with found.of_file(Entries(place=DocumentPlace(file=rules_path))):
        book, says = read_rules(rules_path, found)
        for error in (error for mart in ruled if book for error in rule_mistakes(mart, spec, book)):
            found.add(error, document.holding("rules", says))


def _check_expectations(spec: LakeSpec, document: Entries, found: Mistakes) -> None:
    """What does not fit their tables, where these are right."""
    validated = spec.validated_tables
    for each in spec.expectations:
        if each.table in validated:
            try:
                check_expectation(each, spec)
            except ContractError as error:
                found.add(error.inside("expectations", each.table, each.name), document)
    named = [each for table in validated for each in implied(spec, table)]
    for twice in names_twice([*named, *spec.expectations]):
        found.add(twice, document)
