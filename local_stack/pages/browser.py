"""Chromium without a window, for pictures of pages."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from local_stack.errors import SetupError

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

WAIT_SECONDS = 60.0


@contextmanager
def open_browser() -> Iterator[Chrome]:
    """A browser that ends with the block; SetupError when it is not installed."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    driver, browser = shutil.which("chromedriver"), shutil.which("chromium")
    if not driver or not browser:
        raise SetupError("Chromium is not installed; Debian: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--lang=en-US"):
        options.add_argument(argument)
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


def find(browser: Chrome, path: str) -> Any:
    """The element at an XPath, once it is there and can be clicked."""
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.expected_conditions import element_to_be_clickable
    from selenium.webdriver.support.ui import WebDriverWait

    wait = WebDriverWait(browser, WAIT_SECONDS, ignored_exceptions=[WebDriverException])  # a page on its way to another
    return wait.until(element_to_be_clickable((By.XPATH, path)))


def settle(browser: Chrome) -> None:
    """Wait until the page looks the same for a second: what scripts request comes late and moves things.

    A page with something at work on it never does; ten seconds are enough then.
    """
    looks = b""
    for _ in range(10):
        time.sleep(1)
        before, looks = looks, browser.get_screenshot_as_png()
        if looks == before:
            return
