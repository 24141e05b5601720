"""Which rule version each month of a mart counts by.

A month keeps the version it was first computed with: promoting another one changes nothing that was reported, until
`recompute --rules` does. The mart's commits keep each month's version, and a fingerprint of its content at that time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.contracts.errors import ContractError
from spark_jobs.lake_spec.rules import RuleBook
from spark_jobs.marts.refresh import Refresh
from spark_jobs.storage.options import METADATA_PREFIX
from spark_jobs.storage.timeline import Timeline
from spark_jobs.transforms.cells import AFTER

RULES, CONTENT = "rules", "rules_content"


def versions_of(refresh: Refresh, months: Iterable[str]) -> dict[str, str]:
    """The version of each month: the one a recompute names, else the one it was computed with, else that in force.

    A month in which none is in force is left out.

    Raises:
        ContractError: a version counts otherwise than when a month was computed with it.
    """
    months, book = sorted(set(months)), _book(refresh)
    named = _named(refresh, months)
    known, content = _known(refresh, RULES), _known(refresh, CONTENT)
    kept = {month: known[month] for month in months if month in known and month not in named}
    for month, name in kept.items():
        before = content.get(month)
        if before is not None and not book.version(name).counts_as(before):
            raise ContractError(
                f"mart {refresh.mart.name}: rules {name} are not what {month} was counted by (content {before}); put "
                f"them back and give the change a version of its own, or recompute --rules {name} there, or, when both "
                f"count the same, add {before} to formerly of {name}"
            )
    return book.by_month(months) | kept | named


def rule_notes(refresh: Refresh, difference_df: DataFrame, months: Sequence[str] = ()) -> dict[str, str]:
    """Which version every month was computed with, for the commit.

    Known are those of earlier commits and of the months in which rows changed; and, where a recompute names a version,
    it is that of all ``months`` of its dates, also of those in which it gives no row.
    """
    changed_df = difference_df.where(F.col(AFTER).isNotNull()).select(f"{AFTER}.{refresh.mart.scope}").distinct()
    changed = [row[0] for row in changed_df.collect() if row[0] is not None]
    counted = versions_of(refresh, changed) | _named(refresh, months)
    content = {month: _book(refresh).version(name).content for month, name in counted.items()}
    return {
        RULES: json.dumps(_known(refresh, RULES) | counted, sort_keys=True),
        CONTENT: json.dumps(_known(refresh, CONTENT) | content, sort_keys=True),
    }


def edited_versions(timeline: Timeline, book: RuleBook) -> dict[str, list[str]]:
    """Versions that count otherwise than when months were computed by them, or are gone; with these months."""
    known, content = (json.loads(timeline.newest_metadata(METADATA_PREFIX + note) or "{}") for note in (RULES, CONTENT))
    found: dict[str, list[str]] = {}
    for month, name in sorted(known.items()):
        before = content.get(month)
        is_same = name in book.names and (before is None or book.version(name).counts_as(before))
        if not is_same:
            found.setdefault(name, []).append(month)
    return found


def _named(refresh: Refresh, months: Iterable[str]) -> dict[str, str]:
    """Of these months those that a recompute wants by another version, with it; of other jobs none."""
    if not refresh.request.rules:
        return {}
    first, last = refresh.request.months
    version = _book(refresh).version(refresh.request.rules).version
    return {month: version for month in months if first <= month <= last}


def _book(refresh: Refresh) -> RuleBook:
    if refresh.query.rules is None:
        raise ContractError(f"mart {refresh.mart.name} has no rules; add rules: true to it")
    return refresh.query.rules.book


def _known(refresh: Refresh, note: str) -> dict[str, str]:
    known: dict[str, str] = json.loads(refresh.note(note) or "{}")
    return known
