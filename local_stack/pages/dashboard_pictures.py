"""Pictures of the Superset dashboards for docs/images, over the serving store that `make demo` leaves, or another."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from local_stack.console import say
from local_stack.errors import SetupError
from local_stack.install.superset_dashboards import FOLDER
from local_stack.install.superset_install import install_superset
from local_stack.layout import PROJECT_ROOT
from local_stack.pages.browser import WAIT_SECONDS, find, open_browser, settle
from local_stack.pages.pictures import IMAGES
from local_stack.servers.services import RunFolder
from local_stack.servers.superset_server import USER, Superset
from spark_jobs.contracts.settings import Settings
from spark_jobs.storage.serving.address import FILE

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

DEMO = PROJECT_ROOT / "data" / "demo" / "lake"
SIZE = (1440, 2000)


def run(argv: list[str]) -> int:
    """Start Superset over the store, look at each dashboard, and stop it again."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, prog="python -m local_stack.pages.dashboard_pictures", description=__doc__
    )
    parser.add_argument("--output", type=Path, default=IMAGES, metavar="FOLDER", help="%(default)s")
    options = parser.parse_args(argv)
    given, of_demo = Settings.from_environment(os.environ).serving_url, DEMO / FILE
    if not given and not of_demo.exists():
        raise SetupError("there is no serving store; run make demo first, or set LAKEHOUSE_SERVING_URL")
    installed = install_superset()
    with tempfile.TemporaryDirectory(prefix="superset-") as folder:
        superset = Superset(folder=RunFolder(Path(folder)), installed=installed, store=given or f"sqlite:///{of_demo}")
        with superset.folder.stopping(), open_browser() as browser:
            say(superset.prepare())
            url = superset.wait(superset.start()).url
            browser.set_window_size(*SIZE)
            _sign_in(browser, url, superset.password)
            for file in sorted((FOLDER / "dashboards").glob("*.yaml")):
                slug = file.stem.replace("_", "-")
                browser.get(f"{url}/superset/dashboard/{slug}/?standalone=1")
                find(browser, "//*[contains(@class, 'dashboard-component-chart-holder')]")
                _wait_for_charts(browser)
                browser.save_screenshot(str(options.output / f"superset-{slug}.png"))
                say(f"pictures: superset-{slug}.png")
    return 0


def _sign_in(browser: Chrome, url: str, password: str) -> None:
    browser.get(f"{url}/login/")
    find(browser, "//input[@name='username' or @id='username']").send_keys(USER)
    find(browser, "//input[@name='password' or @id='password']").send_keys(password)
    find(browser, "//button[@type='submit'] | //input[@type='submit']").click()
    find(browser, "//a[contains(@href, '/dashboard/list')]")


def _wait_for_charts(browser: Chrome) -> None:
    """Until no chart of the page says that it loads."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    settle(browser)
    loading = (By.CSS_SELECTOR, "[data-test='loading-indicator']")
    WebDriverWait(browser, 2 * WAIT_SECONDS).until(lambda page: not page.find_elements(*loading))
    settle(browser)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
