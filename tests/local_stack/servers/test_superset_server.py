"""The dashboards in a real Superset over real stores: every chart's stored query gives what plain Python counts.

The store of the shipped shapes is in MariaDB, as docker compose has it, and in PostgreSQL and SQLite, which others
have. Superset is the one of the image's lock, prepared by the image's own script.
"""

from __future__ import annotations

import shutil
import urllib.error
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import types as T

from local_stack.install.superset_dashboards import DATABASE, FOLDER
from local_stack.install.superset_install import install_superset
from local_stack.servers.databases import PASSWORD, Server
from local_stack.servers.services import RunFolder
from local_stack.servers.superset_server import Superset, SupersetApi
from spark_jobs.contracts.instants import moment_of
from tests.support.serving import Place, database_of, file_of, state
from tests.support.superset import Rows, chart_columns, chart_metrics, datasets_of, files_of, in_order, rows_of
from tests.support.superset_store import TYPES, fill, make_rows

pytestmark = [pytest.mark.services, pytest.mark.slice(name="databases")]

CHARTS, DATASETS = files_of("charts"), files_of("datasets")
TITLES = ["Funnel and agents", "Sales of the day"]
CHARTS_OF = {
    each["dashboard_title"]: {
        part["meta"]["sliceName"] for name, part in each["position"].items() if name.startswith("CHART-")
    }
    for each in files_of("dashboards").values()
}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["mariadb", "postgresql", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty store."""
    if request.param == "sqlite":
        return file_of(tmp_path / "served.sqlite")
    return database_of(request.getfixturevalue(request.param))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """One Superset for all stores: it is prepared again for each, which has to leave one of everything."""
    return RunFolder(tmp_path_factory.mktemp("superset"))


@contextmanager
def running(superset: Superset) -> Iterator[SupersetApi]:
    with superset.folder.stopping():
        yield superset.wait(superset.start())


def record_of(rows: dict[str, Rows], number: int) -> Rows:
    """What the store's record says of each mart and table."""
    true_at = moment_of(state(number).instant)
    return [{"mart": name, "true_at": true_at, "row_count": len(values)} for name, values in rows.items()]


def plain(value: Any) -> Any:
    """A value as JSON has it: times are milliseconds since 1970, and numbers are rounded as a page shows them."""
    if isinstance(value, datetime):
        return (value - EPOCH) / timedelta(milliseconds=1)
    return round(float(value), 3) if isinstance(value, Decimal | float | int) else value


def shown(api: SupersetApi, chart: dict[str, Any], number: int) -> list[tuple[Any, ...]]:
    """The rows of a chart by the query that is stored with it."""
    (result,) = api.get(f"chart/{number}/data/?force=true")["result"]
    assert result["error"] is None
    wanted = [*chart_columns(chart), *chart_metrics(chart)]
    return in_order(tuple(plain(exact(name, row[name])) for name in wanted) for row in result["data"])


def exact(column: str, value: Any) -> Any:
    """SQLite has decimals and times as text."""
    if isinstance(value, str) and column == "true_at":
        return datetime.fromisoformat(value).replace(tzinfo=UTC)
    return Decimal(value) if isinstance(value, str) and isinstance(TYPES.get(column), T.DecimalType) else value


def assert_shows(api: SupersetApi, rows: dict[str, Rows], number: int) -> None:
    """Every chart shows what its dataset's rows are."""
    by_name = {each["slice_name"]: each["id"] for each in api.get("chart/?q=(page_size:100)")["result"]}
    datasets = {**datasets_of(rows), "served_marts": record_of(rows, number)}
    named = {dataset["uuid"]: name for name, dataset in DATASETS.items()}
    assert len(by_name) == len(CHARTS), "one each, also after a second import"
    for chart in CHARTS.values():
        expected = rows_of(chart, datasets[named[chart["dataset_uuid"]]])
        wanted = in_order(tuple(plain(value) for value in row) for row in expected)
        assert wanted
        assert shown(api, chart, by_name[chart["slice_name"]]) == wanted, chart["slice_name"]


def test_every_chart_shows_what_plain_python_counts_also_after_names_and_dashboards_changed(
    place: Place, folder: RunFolder
) -> None:
    rows = make_rows(1)
    fill(place.store(), rows, 1)
    superset = Superset(folder=folder, installed=install_superset(), store=place.url)
    said = superset.prepare()
    assert said.endswith("dashboards Funnel and agents, Sales of the day")
    log = superset.folder.log("superset-prepare").read_text()
    assert PASSWORD not in said + log
    with running(superset) as api:
        assert_shows(api, rows, 1)
        found = api.get("dashboard/?q=(page_size:100)")["result"]
        assert sorted(each["dashboard_title"] for each in found) == TITLES
        for each in found:
            placed = {chart["slice_name"] for chart in api.get(f"dashboard/{each['id']}/charts")["result"]}
            assert placed == CHARTS_OF[each["dashboard_title"]]
        later = make_rows(2)
        later["projects"][0]["project_name"] = "Renamed"
        fill(place.store(), later, 2)
        assert_shows(api, later, 2)


def test_a_column_that_is_not_served_is_noticed_and_a_changed_file_replaces_what_was_imported(
    mariadb: Server, folder: RunFolder, tmp_path: Path
) -> None:
    """A dataset names a column that the mart does not have: its charts answer with an error. Then it is put right."""
    place = database_of(mariadb)
    rows = make_rows(3)
    fill(place.store(), rows, 1)
    copy = shutil.copytree(FOLDER, tmp_path / "export")
    file = copy / "datasets" / "serving_store" / "deals_of_the_day.yaml"
    right = file.read_text()
    file.write_text(right.replace("fast_daily_deals.contract_total", "fast_daily_deals.total_of_contracts"))
    installed = install_superset()
    superset = Superset(folder=folder, installed=installed, store=place.url, dashboards=copy)
    superset.prepare()
    with running(superset) as api, pytest.raises(urllib.error.HTTPError):
        assert_shows(api, rows, 1)
    file.write_text(right)
    superset.prepare()
    with running(superset) as api:
        assert_shows(api, rows, 1)
        kept = [each["database_name"] for each in api.get("database/")["result"]]
        assert sorted(kept) == ["Lake (Trino)", "Serving store"]
    assert PASSWORD not in (copy / DATABASE).read_text()
