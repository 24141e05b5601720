"""Pictures of Airflow's pages for docs/images, taken in Chromium from what `up` left running."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from local_stack.console import say
from local_stack.errors import SetupError
from local_stack.layout import PROJECT_ROOT
from local_stack.pages.browser import find as _find
from local_stack.pages.browser import open_browser as _browser
from local_stack.pages.browser import settle as _settle
from local_stack.servers.airflow_home import USER, AirflowHome
from local_stack.servers.services import RunFolder, run_path
from spark_jobs.contracts.dag_ids import DAG_IDS
from spark_jobs.contracts.settings import Settings
from spark_jobs.quality.docs_site import DOCS

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

Show = Callable[["Chrome", AirflowHome], None]
IMAGES = PROJECT_ROOT / "docs" / "images"
WIDE, HIGH, TALL = (1440, 940), (1440, 1300), (1180, 1560)
"""Sizes of the browser's window; it takes some of the height for itself."""


def run(argv: list[str]) -> int:
    """Take the pictures named, or all of them."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, prog="python -m local_stack.pages.pictures", description=__doc__
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(PICTURES)}; none: all but {', '.join(BY_NAME)}"
    )
    names = parser.parse_args(argv).names or [name for name in PICTURES if name not in BY_NAME]
    folder = RunFolder(run_path(os.environ) / "up")
    if folder.find("api-server") is None or not set(names) <= set(PICTURES):
        raise SetupError(f"pictures are taken of what make up left running, and are called {', '.join(PICTURES)}")
    with _browser() as browser:
        airflow = AirflowHome(folder)
        _sign_in(browser, airflow)
        for name in names:
            size, show = PICTURES[name]
            browser.set_window_size(*size)
            show(browser, airflow)
            _settle(browser)
            browser.save_screenshot(str(IMAGES / f"{name}.png"))
            say(f"pictures: {name}.png")
    return 0


def _sign_in(browser: Chrome, airflow: AirflowHome) -> None:
    browser.get(airflow.url)
    _find(browser, "//input[@name='username']").send_keys(USER)
    _find(browser, "//input[@name='password']").send_keys(airflow.secrets.password)
    _find(browser, "//button[@type='submit']").click()
    _find(browser, "//a[contains(@href, '/dags')]")


def _show_dags(browser: Chrome, airflow: AirflowHome) -> None:
    browser.get(f"{airflow.url}/dags")
    _find(browser, "//a[text()='stitch_layer']")


def _show_lakes(browser: Chrome, airflow: AirflowHome) -> None:
    """What the lakes of this Airflow take in: DAGs of the same kinds, each with its lake as a tag."""
    others = sorted(dag_id for dag_id in airflow.api.dag_ids() if dag_id.endswith("_ingest"))
    if not others:
        raise SetupError("this Airflow has one lake; make down, set LAKEHOUSE_LAKES as docs/lakes.md says, and make up")
    browser.get(f"{airflow.url}/dags?tags=ingest&tags=split&tags_match_mode=any")
    for dag_id in (DAG_IDS[0], *others):
        _find(browser, f"//a[text()='{dag_id}']")


def _show_backfills(browser: Chrome, airflow: AirflowHome) -> None:
    browser.get(f"{airflow.url}/dags/slow_layer/backfills")
    _find(browser, "//*[text()='Max Active Runs']")


def _show_approval(dag_id: str) -> Show:
    """The question of the newest run that waits for an answer."""

    def show(browser: Chrome, airflow: AirflowHome) -> None:
        waiting = [
            run.run_id
            for run in airflow.api.runs(dag_id)
            if run.is_active
            and any(task["state"] == "awaiting_input" for task in airflow.api.tasks(dag_id, run.run_id))
        ]
        if not waiting:
            raise SetupError(f"no run of {dag_id} waits for an answer; start one, without dry run")
        browser.get(f"{airflow.url}/dags/{dag_id}/runs/{waiting[0]}/tasks/approve/required_actions")
        _find(browser, "//button[text()='Approve']")

    return show


def _show_recompute_form(browser: Chrome, airflow: AirflowHome) -> None:
    """The form, filled for a year under other rules."""
    from selenium.webdriver.common.keys import Keys

    browser.get(f"{airflow.url}/dags/recompute")
    _find(browser, "//button[contains(., 'Trigger')]").click()
    rules = _find(browser, "//*[text()='Rules version']/following::input[@role='combobox'][1]")
    rules.send_keys("v2", Keys.ENTER)
    for title, text in (("From", "01012025"), ("To", "12312025")):
        _find(browser, f"//*[text()='{title}']/following::input[@type='date'][1]").send_keys(text)


def _show_asset(name: str) -> Show:
    def show(browser: Chrome, airflow: AirflowHome) -> None:
        browser.get(f"{airflow.url}/assets")
        _find(browser, f"//a[text()='{name}']").click()
        _find(browser, "//*[contains(@class, 'folding-collapsed')]").click()  # what the newest event carried

    return show


def _show_failed_run(browser: Chrome, airflow: AirflowHome) -> None:
    """The log of the newest `data_quality` that found rows which break what stops."""
    failed = [run.run_id for run in airflow.api.runs("data_quality") if run.state == "failed"]
    if not failed:
        raise SetupError("no run of data_quality failed; let one find rows that break an expectation with action: stop")
    browser.get(f"{airflow.url}/dags/data_quality/runs/{failed[0]}/tasks/validate")
    _find(browser, "//*[contains(text(), 'held after the commit')]")


def _show_data_docs(browser: Chrome, airflow: AirflowHome) -> None:
    """The first page of the lake's Data Docs."""
    page = Path(Settings.from_environment(os.environ).base_path) / DOCS / "index.html"
    if not page.exists():
        raise SetupError(f"there is no {page}; run data_quality first")
    browser.get(page.as_uri())


PICTURES: dict[str, tuple[tuple[int, int], Show]] = {
    "airflow-dags": (HIGH, _show_dags),
    "airflow-asset-sales-log": (WIDE, _show_asset("sales/sales_log")),
    "airflow-asset-split": (WIDE, _show_asset("sales/sales_log/split")),
    "recompute-form": (TALL, _show_recompute_form),
    "recompute-approval": (WIDE, _show_approval("recompute")),
    "backfill-slow-layer": (WIDE, _show_backfills),
    "data-docs": (WIDE, _show_data_docs),
    "data-quality-failed": (WIDE, _show_failed_run),
    "airflow-lakes": (HIGH, _show_lakes),
    "changes-approval": (HIGH, _show_approval("apply_changes")),
}
BY_NAME = ("airflow-lakes", "changes-approval")
"""They need another state than all others: several lakes in the Airflow, a mart whose file was edited."""


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
