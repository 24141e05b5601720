"""The classes that the tests' JVMs share: work with a small lake until most of what the jobs load is loaded, and end.

Started by `engines.py` with the option that writes the classes into an archive when the JVM ends.
"""

from __future__ import annotations

import sys
from pathlib import Path

from spark_jobs.contracts.settings import Settings
from spark_jobs.session import open_session
from tests.support.envelopes import line, sqlserver
from tests.support.mart_lakes import make_mart_lake
from tests.support.own_session import close_engine

_BATCHES = 2
"""The first creates tables, the second one updates rows and reads what the first one wrote."""


def main() -> None:
    """Run the jobs of a lake in the folder that the command line names."""
    settings = Settings(spark_master="local[2]", driver_memory="2g")
    spark = open_session(settings, app_name="archived-classes")
    folder = Path(sys.argv[1], "lake")
    folder.mkdir()
    lake = make_mart_lake(spark, folder, layers=("fast",))
    for batch in range(_BATCHES):
        events = [sqlserver("u", {"SaleId": key, "AgentId": key, "UnitId": 7}, batch * 10 + key) for key in range(3)]
        lake.land(f"{batch}.jsonl", map(line, events))
        for job in ("ingest", "split"):
            lake.run(job)
    lake.rows("sales")
    close_engine(spark)  # the archive is written when the JVM ends


if __name__ == "__main__":
    main()
