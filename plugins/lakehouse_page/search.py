"""Search of a lake: tables, columns, expectations, consumers by a part of their names; a run by its key or instant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.runs import run_overview

_RUN = re.compile(r"[0-9a-f]{32}|\d{17}")
_MOST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something with a name: what it is, and the path of its page below the lake's."""

    what: str
    name: str
    path: str


def find(spec: LakeSpec, settings: Settings, text: str) -> list[Found]:
    """What a text finds, the best first; nothing for an empty one."""
    wanted = text.strip().lower()
    if not wanted:
        return []
    found = [each for each in _named(spec) if wanted in each.name.lower()]
    found.sort(key=lambda each: (not each.name.lower().startswith(wanted), each.what != "table", each.name))
    runs = _runs(spec, settings, wanted) if _RUN.fullmatch(wanted) else []
    return [*runs, *found[:_MOST]]


def _named(spec: LakeSpec) -> Iterator[Found]:
    for table in spec.table_names:
        yield Found(what="table", name=table, path=f"tables/{table}")
    for declared in spec.tables:
        for column in (*declared.key, *declared.columns):
            yield Found(what="column", name=f"{declared.name}.{column}", path=f"tables/{declared.name}")
    for mart in spec.marts:
        for column in mart.grain:
            yield Found(what="column", name=f"{mart.name}.{column}", path=f"tables/{mart.name}")
    for each in spec.expectations:
        yield Found(what="expectation", name=each.id, path=f"tables/{each.table}")


def _runs(spec: LakeSpec, settings: Settings, run: str) -> Iterator[Found]:
    for table in spec.table_names if len(run) == 17 else ("",):
        try:
            commit = run_overview(spec, settings, run, table=table).commit
        except ContractError:
            continue
        yield Found(
            what="run", name=f"{commit.table} at {commit.instant}", path=f"tables/{commit.table}/{commit.instant}"
        )
