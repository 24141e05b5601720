"""The lake page in Chromium: light and dark, on a desk and on a phone; what is measured there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from local_stack.pages.browser import open_browser

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

WIDE, PHONE = (1440, 1000), (390, 844)
LEAST_CONTRAST = 4.5
"""Of text to what is behind it, by WCAG 2 for text of any size."""
_CONTRASTS = """
const light = ([r, g, b]) => {
  const part = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); };
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
};
const numbers = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const behind = (node) => {
  for (let each = node; each; each = each.parentElement) {
    const box = each.parentElement && each.parentElement.querySelector(":scope > rect.box");
    if (box && each.tagName === "text") return numbers(getComputedStyle(box).fill);
    const colour = numbers(getComputedStyle(each).backgroundColor);
    if (colour.length === 3 || colour[3] > 0) return colour;
  }
  return [255, 255, 255];
};
const found = {};
for (const node of document.querySelectorAll("body *")) {
  const says = [...node.childNodes].some((each) => each.nodeType === 3 && each.textContent.trim());
  const style = getComputedStyle(node);
  if (!says || node.tagName === "title" || !node.getClientRects().length || style.visibility === "hidden") continue;
  const front = numbers(node.namespaceURI.endsWith("svg") ? style.fill : style.color), back = behind(node);
  const [a, b] = [light(front), light(back)].sort((x, y) => y - x);
  const name = `${node.tagName.toLowerCase()}.${node.getAttribute("class") || ""} ${front} on ${back}`;
  found[name] = Math.round(100 * (a + 0.05) / (b + 0.05)) / 100;
}
return found;
"""
_REACHABLE = "a[href], button, input:not([type='hidden']), [tabindex='0']"


@contextmanager
def lake_browser(address: str, token: str) -> Iterator[Chrome]:
    """A browser with a session at this address."""
    with open_browser() as browser:
        browser.get(f"{address}/style.css")
        browser.add_cookie({"name": "_token", "value": token, "path": "/"})
        yield browser


def set_look(browser: Chrome, *, is_dark: bool, size: tuple[int, int] = WIDE) -> None:
    """Colours that the reader prefers, and the size of the window, a phone's too."""
    scheme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": size == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def contrasts(browser: Chrome) -> dict[str, float]:
    """The contrast of every kind of text that is shown, by what it is."""
    found: dict[str, float] = browser.execute_script(_CONTRASTS)
    return found


def scrolls_sideways(browser: Chrome) -> bool:
    """Whether the page itself is wider than the window; parts that scroll by themselves are not meant."""
    wider: bool = browser.execute_script(
        "return document.documentElement.scrollWidth > document.documentElement.clientWidth"
    )
    return wider


def reached_by_keyboard(browser: Chrome) -> tuple[list[int], list[str]]:
    """The places, in the order of the page, of what the tab key comes to, and which of it shows no focus.

    Places are those among all that a person can use; the first is 0.
    """
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    count = reachable(browser)
    browser.execute_script("window.scrollTo(0, 0); document.activeElement.blur();")
    places, unseen = [], list[str]()
    for _ in range(count):
        ActionChains(browser).send_keys(Keys.TAB).perform()
        at: dict[str, Any] = browser.execute_script(
            """
            const now = document.activeElement, style = getComputedStyle(now);
            const rect = now.querySelector(":scope > rect");
            const outline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
            const thick = rect && parseFloat(getComputedStyle(rect).strokeWidth) >= 3;
            return {place: [...document.querySelectorAll(arguments[0])].indexOf(now), seen: outline || Boolean(thick),
                    name: now.outerHTML.slice(0, 80)};
            """,
            _REACHABLE,
        )
        places.append(int(at["place"]))
        unseen += [] if at["seen"] else [str(at["name"])]
    return places, unseen


def reachable(browser: Chrome) -> int:
    """How much there is on the page that a person can use."""
    count: int = browser.execute_script("return document.querySelectorAll(arguments[0]).length", _REACHABLE)
    return count


def take_picture(browser: Chrome, *, most_height: int) -> bytes:
    """The page from its top, as high as it is."""
    import base64

    height: int = browser.execute_script("return document.documentElement.scrollHeight")
    width: int = browser.execute_script("return document.documentElement.clientWidth")
    clip = {"x": 0, "y": 0, "width": width, "height": min(height, most_height), "scale": 1}
    shot: dict[str, str] = browser.execute_cdp_cmd(
        "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
    )
    return base64.b64decode(shot["data"])
