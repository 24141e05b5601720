"""Plant known bugs one at a time and see that the tests named for each notice: ``make mutants``.

Each patch under tests/mutants/patches/ is a bug that would break a promise of docs/architecture.md. The named tests
first run on the tree without any bug and must pass. Exit code 0: every bug was caught; 1: some were not; 2: a patch
does not apply, names a test that is not in the short run, or breaks more than it means to.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.bugs import Patch, PatchError, read_patches, read_promises
from tests.mutants.places import Place
from tests.mutants.runs import Clean, Tried, Verdict, run_clean
from tests.mutants.table import PAGE, format_tried, write_page
from tests.mutants.trees import check_patches, commit_tree, open_copy, write_working_tree
from tests.run.engines import jvm_environment


def main(argv: Sequence[str] | None = None) -> int:
    """Check the patches, then do what the options say."""
    options = _parse(argv)
    try:
        patches = read_patches()
        tree = write_working_tree()
        check_patches(patches, tree)
        chosen = _choose(patches, options)
        if options.list:
            print("\n".join(f"{patch.title}: {patch.bug} ({patch.promise})" for patch in chosen))
            return 0
        if options.write:
            write_page(patches)
            print(f"{PAGE}: {len(patches)} planted bugs")
            return 0
        tried = _try_all(chosen, commit_tree(tree), options.workers)
    except PatchError as error:
        print(error, file=sys.stderr)
        return 2
    return _report(tried)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", help="this bug alone: NAME or AREA/NAME; repeatable")
    parser.add_argument("--area", action="append", help="bugs of this area alone; repeatable")
    parser.add_argument("--workers", type=int, default=2, help="copies of the tree at work side by side (default: 2)")
    parser.add_argument("--list", action="store_true", help="check the patches and list them; plant nothing")
    parser.add_argument("--write", action="store_true", help=f"rewrite the table in {PAGE}; plant nothing")
    return parser.parse_args(argv)


def _choose(patches: Sequence[Patch], options: argparse.Namespace) -> list[Patch]:
    """The patches that the options name."""
    areas, names = set(options.area or ()), set(options.only or ())
    unknown = areas - {patch.area for patch in patches}
    unknown |= names - {name for patch in patches for name in (patch.name, patch.title)}
    if unknown:
        raise PatchError(f"there is no patch or area {', '.join(sorted(unknown))}; --list lists all")
    return [
        patch
        for patch in patches
        if (not areas or patch.area in areas) and (not names or patch.name in names or patch.title in names)
    ]


def _try_all(patches: Sequence[Patch], commit: str, workers: int) -> list[Tried]:
    """Run the named tests without any bug, then with each; what needs no Spark comes first."""
    made, places = list[Place](), SimpleQueue[Place]()
    tried: list[Tried] = []
    os.environ.update(jvm_environment(os.environ))  # for all the processes that run tests
    with ExitStack() as opened:
        logs = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="lakehouse-mutants-")))
        for number in range(min(workers, len(patches))):
            copy = opened.enter_context(open_copy(commit))
            made.append(opened.enter_context(closing(Place(copy, logs / f"spark-{number}.log"))))
        print(f"running the tests named by {len(patches)} patches without any bug", flush=True)
        clean = run_clean(patches, {place.copy: place.environ for place in made})
        for place in made:
            places.put(place)
        print(f"{len(clean.tests)} tests pass", flush=True)
        ordered = sorted(patches, key=lambda patch: (clean.is_heavy(patch), clean.seconds(patch)))
        pool = opened.enter_context(ThreadPoolExecutor(workers))
        futures = [pool.submit(_try_in_free_place, patch, places, clean) for patch in ordered]
        for future in as_completed(futures):
            one = future.result()
            tried.append(one)
            count = f"{len(tried)}/{len(patches)}"
            print(f"{count} {one.patch.title}: {one.verdict.value}, {one.seconds:.0f} s", flush=True)
    return tried


def _try_in_free_place(patch: Patch, places: SimpleQueue[Place], clean: Clean) -> Tried:
    place = places.get()
    try:
        return place.try_patch(patch, clean)
    finally:
        places.put(place)


def _report(tried: Sequence[Tried]) -> int:
    """Print the table, what survived and what went wrong."""
    print(format_tried(tried, read_promises()))
    survivors = [one.patch for one in tried if one.verdict is Verdict.SURVIVED]
    errors = [one for one in tried if one.verdict is Verdict.ERROR]
    for one in errors:
        print(f"\n{one.patch.title}: its tests could not be run with the bug:\n{one.output}", file=sys.stderr)
    for patch in survivors:
        print(f"survived: {patch.title}: {patch.bug}")
    print(f"{len(tried)} bugs planted, {len(tried) - len(survivors) - len(errors)} caught")
    if errors:
        return 2
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main())
