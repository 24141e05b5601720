"""Which lakes an Airflow of this machine has, and which DAGs these make."""

from __future__ import annotations

from collections.abc import Mapping

from local_stack.console import say
from spark_jobs.contracts.dag_ids import WATCH, dag_id_of, kinds_of
from spark_jobs.contracts.errors import LakehouseError
from spark_jobs.contracts.lakes import LAKE, LAKES, lake_environment, lake_files
from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.lake_names import make_lake, make_landing


def of_one_lake(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of an Airflow with one lake alone, for what makes a lake of its own."""
    return {name: value for name, value in environ.items() if name not in (LAKES, LAKE)}


def make_lakes(environ: Mapping[str, str]) -> None:
    """Make the lake of these variables, or each of several, where it is not there yet; a broken one is left out.

    Raises:
        LakehouseError: something else is at the place of one, or the one lake that there is cannot be used.
    """
    names = tuple(lake_files(environ))
    for name in names or ("",):
        settings = Settings.from_environment(lake_environment(environ, name))
        try:
            lake = load_lake_spec(settings.lake_spec).lake
        except LakehouseError as error:
            if not names:
                raise
            say(f"lake {name} is not made: {error}")
            continue
        if make_lake(lake, settings, may_adopt=False):
            say(f"made lake {lake} at {settings.base_path}")
        make_landing(settings)


def expected_dag_ids(environ: Mapping[str, str]) -> set[str]:
    """Ids of the DAGs that this Airflow will have; a lake that is broken is reported and has none.

    Raises:
        LakehouseError: the one lake that there is, or the folder of them, cannot be used.
    """
    names = tuple(lake_files(environ))
    found = {WATCH} if names else set[str]()
    for name in names or ("",):
        try:
            spec = load_lake_spec(Settings.from_environment(lake_environment(environ, name)).lake_spec)
        except LakehouseError as error:
            if not names:
                raise
            say(f"lake {name} is left out: {error}")
            continue
        found |= {dag_id_of(kind, name) for kind in kinds_of({mart.layer for mart in spec.marts})}
    return found
