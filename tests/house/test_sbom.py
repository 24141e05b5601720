"""``sbom.json`` lists what the locks pin, and no pin has grown too old. No clock: ages are of the day that it names."""

from __future__ import annotations

import re
from pathlib import Path

from local_stack.install.jars import read_lock
from local_stack.install.sbom import LOCKS, MOST_DAYS, read, read_reasons, too_old

ROOT = Path(__file__).resolve().parents[2]


def test_every_locked_package_is_listed_with_the_day_it_was_released_and_no_other() -> None:
    _, components = read()
    listed = {(place, each.name, each.version) for each in components if each.kind == "pypi" for place in each.places}
    locked = {
        (lock, name, version)
        for lock in LOCKS
        for name, version in re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / lock).read_text(), re.MULTILINE)
    }
    assert len(locked) > 300
    assert listed == locked, "run: make lock"
    assert [each.name for each in components if each.kind == "pypi" and not each.released] == []


def test_every_locked_jar_is_listed_with_its_hash_and_no_other() -> None:
    _, components = read()
    listed = {
        f"{place}/{each.name.replace(':', '_')}-{each.version}.jar": each.sha256
        for each in components
        if each.kind == "maven"
        for place in each.places
    }
    assert len(listed) > 100
    assert listed == read_lock(), "run: make lock"


def test_every_lock_of_the_tree_is_in_the_list() -> None:
    found = {str(path.relative_to(ROOT)) for path in ROOT.glob("requirements*.txt")}
    found |= {str(path.relative_to(ROOT)) for path in ROOT.glob("include/**/requirements*.txt")}
    assert found == LOCKS.keys()


def test_no_pin_is_too_old_and_every_reason_is_needed() -> None:
    day, components = read()
    assert too_old(components, day=day, reasons=read_reasons()) == []
    ages = [(day - each.released).days for each in components if each.released]
    assert min(ages) >= 0, "the list is as new as what it lists"
    assert max(ages) > MOST_DAYS, "the rule has something to allow"
