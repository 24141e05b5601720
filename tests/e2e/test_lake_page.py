"""The lake page in a real browser: contrast in light and dark, the keyboard, a phone; on the lakes of the pictures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.lake_browser import (
    LEAST_CONTRAST,
    PHONE,
    contrasts,
    lake_browser,
    reachable,
    reached_by_keyboard,
    scrolls_sideways,
    set_look,
)
from tests.support.shown_lakes import SHOWN, variables_of

pytestmark = [pytest.mark.services, pytest.mark.slice(name="airflow")]
START = "/lakes/sales/tables/fast_daily_deals/trigger/fast_layer"
PAGES = (
    ("failed", "/lakes/sales"),
    ("failed", "/lakes/sales/tables/units"),
    ("failed", "/lakes/sales/doctor"),
    ("failed", "/lakes/sales/quarantine"),
    ("failed", "/lakes/sales/search?q=unit"),
    ("failed", "/runbooks/doctor"),
    ("running", "/lakes/sales"),
    ("expired", "/lakes/sales/tables/sales"),
    ("empty", "/lakes/sales"),
    ("failed", START),
)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Opens a page of a lake in one browser, whose server finds the lake that was chosen last."""
    folder = tmp_path_factory.mktemp("shown")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AIRFLOW_HOME", str(folder / "airflow"))
        from tests.support.airflow_pages import add_dag, served_pages

        made: dict[str, Path] = {}
        with served_pages() as (address, token), lake_browser(address, token) as browser:
            add_dag("fast_layer")

            def open_page(name: str, path: str, **look: Any) -> Any:
                if name not in made:
                    made[name] = folder / name
                    SHOWN[name](made[name])
                for key, value in variables_of(_at(made[name])).items():
                    patch.setenv(key, value)
                set_look(browser, **look)
                browser.get(f"{address}{path}")
                return browser

            yield open_page


def _at(folder: Path) -> Any:
    from tests.support.seen_lakes import SeenLake

    return SeenLake(folder)


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("name", "path"), PAGES)
def test_text_can_be_read(opened: Any, name: str, path: str, is_dark: bool) -> None:
    found = contrasts(opened(name, path, is_dark=is_dark))
    assert len(found) > 3
    assert {what: ratio for what, ratio in found.items() if ratio < LEAST_CONTRAST} == {}


@pytest.mark.parametrize(("name", "path"), PAGES)
def test_a_phone_shows_it_without_scrolling_sideways(opened: Any, name: str, path: str) -> None:
    assert not scrolls_sideways(opened(name, path, is_dark=False, size=PHONE))


@pytest.mark.parametrize(("name", "path"), [PAGES[0], PAGES[1], PAGES[5], PAGES[-1]])
def test_everything_is_reached_by_the_keyboard_in_order(opened: Any, name: str, path: str) -> None:
    browser = opened(name, path, is_dark=False)
    places, unseen = reached_by_keyboard(browser)
    assert places == list(range(reachable(browser)))
    assert unseen == []


def test_a_run_is_started_by_keyboard_alone_and_after_a_look(opened: Any) -> None:
    """The browser sends the form, which the content security policy has to let through."""
    from airflow.models import DagRun
    from airflow.utils.session import create_session
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from sqlalchemy import func, select

    def runs() -> int:
        with create_session() as session:
            return int(session.scalar(select(func.count()).select_from(DagRun)) or 0)

    browser = opened("failed", "/lakes/sales/tables/fast_daily_deals", is_dark=False, size=PHONE)
    browser.find_element(By.PARTIAL_LINK_TEXT, "Start fast_layer").send_keys(Keys.ENTER)
    assert browser.current_url.endswith(START)
    assert runs() == 0
    browser.find_element(By.XPATH, "//main//button").send_keys(Keys.ENTER)
    assert "/dags/fast_layer/runs/manual__" in browser.current_url
    assert runs() == 1
