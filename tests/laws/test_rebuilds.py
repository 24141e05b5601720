"""Law 6 for tables: a table rebuilt from the log is what it would be if its files had always been so.

Any definition of ``orders`` (key, partitions, what null means, what deletes do, with a history or without) becomes any
other, while events come in any order, and runs of `apply` die anywhere and are run again. The table of every second
pair of seeds has no partitions.
"""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

import pytest

from spark_jobs.storage.filesystem import Filesystem
from spark_jobs.storage.segment_index import FOLDER
from tests.support.crashes import crash_at_commit, run_and_crash
from tests.support.redefined import Shop, orders, sums

pytestmark = [pytest.mark.hudi, pytest.mark.slice(name="laws")]

PARTS: dict[str, list[Any]] = {
    "key": [["id"], ["id", "customer"], ["customer", "id"]],
    "partition": ["status", "customer", "id"],
    "nulls": ["value", "unknown"],
    "deletes": ["tombstone", "remove", "ignore"],
}
CRASHES = [
    crash_at_commit(module, number, is_committed=done)
    for module, numbers in (("storage.replacing", (1, 2)), ("pipelines.rebuild.swap", (1,)))
    for number in numbers
    for done in (False, True)
]


def other_definition(rng: random.Random, declared: dict[str, Any]) -> dict[str, Any]:
    """Another definition that a rebuild can make: not another key where deleted rows are kept apart by it."""
    while True:
        found = {part: rng.choice(choices) for part, choices in PARTS.items() if declared[part]}
        changed = {part for part in found if found[part] != declared[part]}
        is_apart = "remove" in (found["deletes"], declared["deletes"])
        if not (is_apart and "key" in changed) and (changed - {"deletes"} or (changed and is_apart)):
            return found


@pytest.mark.parametrize("seed", range(4))
def test_a_table_is_what_its_files_say_of_all_that_the_log_holds(spark, tmp_path, seed: int) -> None:
    rng = random.Random(seed)
    partition = {"partition": None} if seed > 1 else {}
    shop = Shop.make(spark, tmp_path, nulls="value", deletes="tombstone", history=bool(seed % 2), **partition)
    records = orders(rng, 60)
    rng.shuffle(records)
    shop.deliver(records[:20], item=1)
    shop.lake.run("split")
    shop.refresh()
    for step in (1, 2):
        shop.declare(**other_definition(rng, shop.declared))
        shop.deliver(records[20 * step : 20 * (step + 1)][:10])
        shop.clock += timedelta(minutes=step)
        assert shop.run("plan").counters["impossible"] == 0
        for crash in rng.sample(CRASHES, 2):
            run_and_crash(shop.lake, "apply", crash, plan=str(tmp_path / "plan.yaml"))
        shop.run("apply")
        shop.assert_is(shop.wanted, shop.declared["key"])
        assert shop.sums() == sums(shop.wanted)
        if rng.random() < 0.5:
            Filesystem(f"{shop.lake.path(FOLDER)}/shop").delete_tree()
        shop.deliver(records[20 * step : 20 * (step + 1)][10:], item=step + 1)
        shop.lake.run("split")
        shop.refresh()
        shop.assert_is(shop.wanted, shop.declared["key"])
        assert shop.sums() == sums(shop.wanted)
        if shop.declared["history"]:
            kept = [
                each for each in shop.records if each["payload"]["op"] != "d" or shop.declared["deletes"] != "ignore"
            ]
            assert len(shop.lake.rows("orders_history")) == len(kept), "each event once, by the key of now"
