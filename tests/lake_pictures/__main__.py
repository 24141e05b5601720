"""Pictures of the lake page for docs/images, taken in Chromium of lakes that are made for them.

``python -m tests.lake_pictures`` takes all of them, with names those alone.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from local_stack.layout import PROJECT_ROOT
from tests.support.lake_browser import PHONE, WIDE, lake_browser, set_look, take_picture
from tests.support.shown_lakes import SHOWN, variables_of

IMAGES = PROJECT_ROOT / "docs" / "images"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A page of a lake in one of the states of ``SHOWN``, and how it is looked at."""

    lake: str
    page: str = ""
    is_dark: bool = False
    size: tuple[int, int] = WIDE
    most_height: int = 1000


PICTURES: Mapping[str, Picture] = {
    "lake-at-rest": Picture(lake="at-rest"),
    "lake-at-rest-dark": Picture(lake="at-rest", is_dark=True),
    "lake-at-rest-phone": Picture(lake="at-rest", size=PHONE, most_height=844),
    "lake-running": Picture(lake="running"),
    "lake-failed": Picture(lake="failed"),
    "lake-expired": Picture(lake="expired", is_dark=True),
    "lake-empty": Picture(lake="empty"),
    "lake-many": Picture(lake="many"),
    "lake-table": Picture(lake="at-rest", page="/tables/sales"),
}


def main(argv: list[str]) -> int:
    """Take the pictures named, or all of them."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m tests.lake_pictures", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PICTURES)}")
    names = parser.parse_args(argv).names or list(PICTURES)
    with tempfile.TemporaryDirectory(prefix="lake-pictures-") as folder:
        os.environ["AIRFLOW_HOME"] = f"{folder}/airflow"
        from tests.support.airflow_pages import served_pages

        lakes = {name: SHOWN[name](Path(folder) / name) for name in {PICTURES[each].lake for each in names}}
        with served_pages() as (address, token), lake_browser(address, token) as browser:
            for name in names:
                picture = PICTURES[name]
                os.environ.pop("LAKEHOUSE_LAKE_SPEC", None)
                os.environ.update(variables_of(lakes[picture.lake]))
                set_look(browser, is_dark=picture.is_dark, size=picture.size)
                browser.get(f"{address}/lakes/sales{picture.page}")
                (IMAGES / f"{name}.png").write_bytes(take_picture(browser, most_height=picture.most_height))
                print(f"lake pictures: {name}.png", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
