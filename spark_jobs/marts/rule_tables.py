"""The rules that count in each month, as tables that the SQL of a mart can join.

A month keeps the version it was first computed with: promoting another one changes nothing that was reported, until
`recompute --rules` says so. Which version that is, and what it said then, stands in the mart's commits.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.rules import BONUSES, BONUSES_SCHEMA, SHARES, SHARES_SCHEMA, RuleBook
from spark_jobs.frames import literal_frame
from spark_jobs.marts.refresh import Refresh
from spark_jobs.transforms.cells import AFTER

RULES, CONTENT, VERSION = "rules", "rules_content", "rules_version"


def build_rule_tables(refresh: Refresh, months: Sequence[str]) -> Mapping[str, DataFrame]:
    """``rule_shares`` and ``rule_bonuses`` for these months (``yyyy-MM``)."""
    return rule_frames(refresh.views.spark, refresh.rule_book, months, _versions_of(refresh, months))


def rule_frames(
    spark: SparkSession, book: RuleBook, months: Sequence[str], versions: Mapping[str, str]
) -> Mapping[str, DataFrame]:
    """The same from a book, each month by the version named for it; by the one in force when none is."""
    return {
        SHARES: literal_frame(spark, book.share_rows(months, versions), SHARES_SCHEMA),
        BONUSES: literal_frame(spark, book.bonus_rows(months, versions), BONUSES_SCHEMA),
    }


def rule_notes(refresh: Refresh, difference_df: DataFrame, months: Sequence[str] = ()) -> dict[str, str]:
    """Which version every month was computed with, for the commit.

    Known are those of earlier commits and of the rows that changed; and, where a version was asked for, it is that of
    all ``months``, also of those in which it gives no row.
    """
    month, version = f"{AFTER}.{refresh.mart.scope}", f"{AFTER}.{VERSION}"
    changed_df = difference_df.where(F.col(AFTER).isNotNull()).select(month, version).distinct()
    counted: dict[str, str] = {row[0]: row[1] for row in changed_df.collect()}
    if asked := refresh.arguments.options.get("rules"):
        counted |= dict.fromkeys(months, asked)
    said = {each: refresh.rule_book.version(name).content for each, name in counted.items()}
    return {
        RULES: json.dumps(_known(refresh, RULES) | counted, sort_keys=True),
        CONTENT: json.dumps(_known(refresh, CONTENT) | said, sort_keys=True),
    }


def _versions_of(refresh: Refresh, months: Sequence[str]) -> dict[str, str]:
    """The version of each month: the one asked for, else the one it was computed with, else the one in force."""
    book = refresh.rule_book
    if asked := refresh.arguments.options.get("rules"):
        return dict.fromkeys(months, book.version(asked).version)
    known, content = _known(refresh, RULES), _known(refresh, CONTENT)
    versions = {month: known[month] for month in sorted(months) if month in known}
    for month, version in versions.items():
        if content.get(month) not in (None, book.version(version).content):
            raise ContractError(
                f"mart {refresh.mart.name}: rules {version} say something else than when {month} was counted by them; "
                f"put them back and give the change a version of its own, or recompute --rules {version} there"
            )
    return versions


def _known(refresh: Refresh, note: str) -> dict[str, str]:
    known: dict[str, str] = json.loads(refresh.note(note) or "{}")
    return known
