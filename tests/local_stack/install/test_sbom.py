"""How old a pin may be, and the list that says how old each is.

The rule in plain words: a known newest version may have any age; else a day is needed, and it is at most 730 days
before the list's own; what a reason is given for may be older, and a reason that nothing needs is reported.
"""

from __future__ import annotations

import tempfile
import zipfile
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_stack.install.sbom import MOST_DAYS, Component, built_on, read, too_old, write

DAY = date(2026, 11, 28)
NAMES = ("a", "b", "group:a", "group:b")


def component(name: str, age: int | None, newest: str = "") -> Component:
    kind = "maven" if ":" in name else "pypi"
    released = None if age is None else DAY - timedelta(days=age)
    return Component(kind=kind, name=name, version="1", places=("lock",), released=released, newest=newest)


COMPONENTS = st.lists(
    st.builds(
        component,
        st.sampled_from(NAMES),
        st.none() | st.integers(0, 2 * MOST_DAYS) | st.sampled_from([MOST_DAYS, MOST_DAYS + 1]),
        st.sampled_from(["", "1", "2"]),
    ),
    unique_by=lambda each: each.name,
)
REASONS = st.dictionaries(st.sampled_from(["pypi/a", "maven/group:*", "*/b", "pypi/gone"]), st.just("because"))


def matches(pattern: str, each: Component) -> bool:
    """The patterns of this test, each by a rule of its own."""
    return {
        "pypi/a": (each.kind, each.name) == ("pypi", "a"),
        "maven/group:*": each.name.startswith("group:"),
        "*/b": each.name == "b",
        "pypi/gone": False,
    }[pattern]


@given(COMPONENTS, REASONS)
def test_a_pin_is_too_old_as_the_rule_says(components: list[Component], reasons: dict[str, str]) -> None:
    wrong = too_old(components, day=DAY, reasons=reasons)
    old = [
        each
        for each in components
        if each.newest != "1" and (each.released is None or each.released < DAY - timedelta(days=MOST_DAYS))
    ]
    refused = [each for each in old if not any(matches(pattern, each) for pattern in reasons)]
    unneeded = [pattern for pattern in reasons if not any(matches(pattern, each) for each in old)]
    assert len(wrong) == len(refused) + len(unneeded)
    assert all(sentence.startswith(f"{each.name} 1 ") for sentence, each in zip(wrong, refused, strict=False))
    assert all(repr(pattern) in " ".join(wrong) for pattern in unneeded)


@given(COMPONENTS)
def test_what_was_written_is_read(components: list[Component]) -> None:

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sbom.json"
        write(components, day=DAY, file=file)
        day, back = read(file)
    assert day == DAY
    assert {each.purl: each for each in back} == {each.purl: each for each in components}


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        ([(2021, 3, 4, 0, 0, 0), (2020, 1, 1, 0, 0, 0)], date(2021, 3, 4)),
        ([(1980, 2, 1, 0, 0, 0)], None),
        ([(2010, 1, 1, 0, 0, 0)], None),
        ([], None),
    ],
)
def test_the_day_of_a_jar_is_that_of_its_newest_entry(
    tmp_path: Path, days: list[tuple[int, int, int, int, int, int]], expected: date | None
) -> None:
    with zipfile.ZipFile(tmp_path / "a.jar", "w") as jar:
        for number, moment in enumerate(days):
            jar.writestr(zipfile.ZipInfo(f"file{number}", moment), b"")
    assert built_on(tmp_path / "a.jar") == expected
