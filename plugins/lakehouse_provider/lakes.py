"""The lakes of this Airflow: that of ``LAKEHOUSE_LAKE_SPEC``, or one for each file in the folder ``LAKEHOUSE_LAKES``.

Every DAG file makes a DAG for each of them. What a DAG has that may not be another lake's comes from its
:class:`Lake`: id, tags, connections, pool, who gets its alerts, and the name by which its tasks know their lake.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import get_parsing_context

from lakehouse_provider.alerts import deadline_alert
from lakehouse_provider.assets import LakeAssets
from lakehouse_provider.schedules import writer_args
from spark_jobs.contracts.dag_ids import DAG_IDS, KINDS, dag_id_of, kinds_of
from spark_jobs.contracts.errors import ContractError, LakehouseError, SettingsError
from spark_jobs.contracts.lakes import (
    BASE_PATH,
    DEFAULT_LAKE,
    LAKES,
    LANDING_PATH,
    default_place,
    lake_environment,
    lake_files,
    variables_by_lake,
)
from spark_jobs.contracts.names import one_of, show, show_path
from spark_jobs.contracts.places import find_place
from spark_jobs.contracts.settings import PREFIX, Settings
from spark_jobs.spec_files.documents import read_document
from spark_jobs.spec_files.mistakes import placed_text
from spark_jobs.spec_files.spec_file import load_lake_spec

if TYPE_CHECKING:
    from airflow.sdk.definitions.deadline import DeadlineAlert

    from spark_jobs.lake_spec.specs import LakeSpec

log = logging.getLogger(__name__)
POOL = "POOL"
_NAMED_DAG = re.compile(rf"(--dag-id |`)({'|'.join(name for name in DAG_IDS if '_' in name)})\b")
"""A DAG of the lake ``sales`` where a page names it; plain words such as recompute are jobs as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """One lake as its DAGs know it; ``name`` is "" for a lake that is alone: then nothing is called after it."""

    name: str
    assets: LakeAssets
    settings: Settings
    pool: str = ""

    @property
    def spec(self) -> LakeSpec:
        """What it declares."""
        return self.assets.spec

    @property
    def writer_args(self) -> dict[str, Any]:
        """Default arguments of the tasks of its DAGs; by these they know whose they are."""
        return writer_args(self.name, pool=self.pool)

    def dag_id(self, kind: str) -> str:
        """The id of its DAG of this kind."""
        return dag_id_of(kind, self.name)

    def tags(self, *tags: str) -> list[str]:
        """Tags of a DAG; beside other lakes its name is one."""
        return ["lakehouse", *tags, *([self.name] if self.name else [])]

    def conn_id(self, conn_id: str) -> str:
        """A connection that no two lakes may share, such as the store in which marts have their names."""
        return conn_id if self.name in ("", DEFAULT_LAKE) else f"{conn_id}_{self.name}"

    def deadline(self, kind: str, *, minutes: float) -> DeadlineAlert:
        """The alert of a run of its DAG that is late."""
        return deadline_alert(self.dag_id(kind), minutes=minutes, lake=self.name)

    def page(self, text: str | None) -> str:
        """The DAG file's docstring as this lake's page: with its own DAGs' ids, and the word whose it is."""
        page = text or ""
        if self.name in ("", DEFAULT_LAKE):
            return page
        kinds = {dag_id_of(kind): kind for kind in KINDS}
        page = _NAMED_DAG.sub(lambda found: found[1] + self.dag_id(kinds[found[2]]), page)
        title, _, rest = page.partition("\n")
        return f"{title}\n\nOf the lake `{self.name}`; tables named here are those of the lake `sales`.\n{rest}"


def each_lake(kind: str) -> Iterator[Lake]:
    """The lakes that have a DAG of this kind, for the file that makes them.

    A spec that is broken is left out: the DAG file ``lake_specs`` shows what is wrong with it. While a task runs, its
    lake alone is read.

    Raises:
        LakehouseError: the one lake that there is, or the lake of the task that runs, cannot be used.
    """
    wanted = get_parsing_context().dag_id
    for name in lake_names(os.environ):
        if wanted and wanted != dag_id_of(kind, name):
            continue
        try:
            lake = load_lake(name, os.environ)
        except LakehouseError as error:
            if wanted or not name:
                raise
            log.warning("no DAG %s: %s", dag_id_of(kind, name), error)
            continue
        if kind in kinds_of({mart.layer for mart in lake.spec.marts}):
            yield lake


def check_lakes() -> None:
    """Raise what is wrong with any of several lakes.

    The DAG file ``lake_specs`` makes an import error of it, and a task of the DAG ``lakes`` an alert. One lake that is
    alone is left to the other DAG files, each of which raises what is wrong with it.

    Raises:
        SettingsError: the folder cannot be read.
        ContractError: with each lake that cannot be used, and each variable that is of none.
    """
    names, wrong = tuple(lake_files(os.environ)), list[str]()
    if names:
        wrong += _strange_variables(os.environ)
    for name in names:
        try:
            load_lake(name, os.environ)
        except LakehouseError as error:
            is_placed = error.place is None or str(error.place) in str(error)
            text = str(error) if is_placed else placed_text(error)
            wrong.append(text if text.startswith(f"lake {name}:") else f"lake {name}: {text}")
    if wrong:
        raise ContractError(f"{'; '.join(wrong)} (what is not named here goes on)")


def has_several_lakes() -> bool:
    """Whether this Airflow serves a folder of lakes, were it one with a single lake."""
    return bool(os.environ.get(LAKES))


def lake_names(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the lakes; "" alone where there is one lake. SettingsError when the folder cannot be read."""
    return tuple(lake_files(environment)) or ("",)


def load_lake(name: str, environment: Mapping[str, str]) -> Lake:
    """One of the lakes; reads its spec with the marts and expectations that it names.

    Raises:
        SettingsError: a file cannot be read, or the lake's settings are wrong.
        ContractError: the spec contradicts itself, or is not of the lake that its file is called after.
    """
    variables = lake_environment(environment, name)
    settings = Settings.from_environment(variables)
    spec = load_lake_spec(settings.lake_spec)
    if name and spec.lake != name:
        document = read_document(Path(settings.lake_spec), what="lake spec", then="correct it")
        place = find_place(document, ("lake",)) or f"{show_path(settings.lake_spec)}:1"
        raise ContractError(f"{place}: lake is {show(spec.lake)}; call the file {spec.lake}.yaml, or the lake {name}")
    if name:
        _check_home(spec, settings, environment)
    return Lake(name=name, assets=LakeAssets(spec), settings=settings, pool=variables.get(f"{PREFIX}{POOL}", ""))


def _check_home(spec: LakeSpec, settings: Settings, environment: Mapping[str, str]) -> None:
    """SettingsError when a lake that was alone has its tables where it would no longer be looked for."""
    alone = environment.get(BASE_PATH) or default_place(BASE_PATH)
    if not alone or "://" in alone or f"{BASE_PATH}__{spec.lake.upper()}" in environment:
        return
    if Path(alone, spec.log, ".hoodie").is_dir() and not Path(settings.table_path(spec.log)).exists():
        name = spec.lake.upper()
        raise SettingsError(
            f"lake {spec.lake}: its tables are in {show_path(alone)}, and among several lakes it is in "
            f"{show_path(settings.base_path)}; set {BASE_PATH}__{name} to where they are and {LANDING_PATH}__{name} to "
            f"where its files arrive, or move both"
        )


def _strange_variables(environment: Mapping[str, str]) -> Iterator[str]:
    """Variables by lake that change nothing, because there is no such lake or setting."""
    settings, lakes = [*(field.name for field in fields(Settings)), POOL.lower()], list(lake_names(environment))
    for variable, (setting, lake) in variables_by_lake(environment).items():
        if setting not in settings:
            yield f"{variable}: there is no setting {show(setting)}; {one_of(setting, settings)}, or take it out"
        elif lake not in lakes:
            yield f"{variable}: there is no lake {show(lake)}; {one_of(lake, lakes)}, or take it out"
