"""A process of the campaign: a session and a driver, kept for all shares whose arguments come as lines of JSON."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from dataclasses import asdict

from tests.faults.campaign import opening_session, try_arguments
from tests.faults.zombies import Zombies


def main() -> None:
    """Answer each line with one: what was found. A share that fails ends the process, with the error in its log."""
    with opening_session() as (session, folder), closing(Zombies()) as zombies:
        for number, line in enumerate(sys.stdin):
            # Not removed here: a writer that was stopped may still say that it lives, in a file of its own.
            found = try_arguments(json.loads(line), session, folder / f"{number}", zombies)
            print(json.dumps([asdict(tried) for tried in found]), flush=True)


if __name__ == "__main__":
    main()
