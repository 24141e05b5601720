"""Which chapters of README and docs a test follows as they are written, and why it leaves commands of others out.

``FOLLOWED`` is run by tests/e2e/test_documents.py, page by page in this order, on the lake that `make demo` leaves:
each page in one shell, which keeps what it exports. Every other command is in ``LEFT_OUT``, with the reason why it
cannot run there and, where there is one, the test that does the same. tests/house/test_documents.py compares both with
the pages: a command that is in neither is an error, and so is an entry that fits no command.
"""

from __future__ import annotations

from collections.abc import Mapping

FOLLOWED: Mapping[str, tuple[str, ...]] = {
    "README.md": ("Two commands", "A tour of the result", "Without Airflow", "Change a table"),
    "docs/first-hour.md": (
        *("Before you begin", "The demo's lake", "A change comes", "Something bad comes", "A mart of your own"),
        *("An expectation of your own", "A source of your own", "As of then", "Three questions"),
    ),
    "docs/command.md": ("The command `lakehouse`", "Queries"),
    "docs/checks.md": ("Checks: rules of the tables, as SQL",),
    "docs/quarantine.md": ("See what there is",),
    "docs/quality.md": ("Held back", "After the commit: Great Expectations", "Every result: `lake_quality`"),
    "docs/rules.md": ("Which version counts", "Two versions side by side", "Counting history by another version"),
    "docs/sizing.md": ("How large, and what to set",),
    "docs/freshness.md": ("Freshness: what each table promises, and whether it keeps it",),
    "docs/runbooks/freshness.md": ("A table is older than it promises",),
    "docs/runbooks/held.md": ("A batch was held back",),
    "docs/lake-docs.md": ("The docs of a lake",),
    "docs/report.md": ("The report: a lake's pictures in one file", "People"),
    "docs/export.md": ("Exports: rows as files for other programs",),
    "docs/services.md": ("Table services", "Consumers and the timeline"),
    "docs/time-travel.md": (
        *("Past states, and what changed", "End-of-day states", "Savepoints of your own"),
        "Restore: the whole lake to a savepoint",
    ),
    "docs/erasure.md": ("Erasure: one person removed from the whole lake",),
    "docs/runbooks/doctor.md": ("What the doctor finds",),
    "docs/dashboards.md": ("In a Superset of your own",),
    "docs/testing.md": ("Planted bugs",),
}
OWN_VALUES: Mapping[str, str] = {
    # What a reader has in a lake of his own, as a shell finds it in the demo's. Longer ones first: one is in another.
    "before_release-20260131T180000": "$(SAVEPOINT before_release)",
    "day-20260201T000000": "$(SAVEPOINT day)",
    "2026-01-31T18:00:00Z": "$(date --utc +%Y-%m-%dT%H:%M:%SZ)",
    "--from 20260102030405678 --to 20260103030405678": "--from $(FIRST sales) --to $(LAST sales)",
    "--table sales_log --at 20260102030405678": "--table sales_log --at $(LAST sales_log)",
    "--from 2026-01-31 --to 2026-02-01": "--from $(FIRST sales) --to $(LAST sales)",
    "--from 2026-01-31": "--from $(FIRST sales)",
}
FUNCTIONS = """
instants() { ls "$LAKEHOUSE_BASE_PATH/$1/.hoodie" | grep -oE '^[0-9]{17}[.](delta)?commit$' | cut -c1-17 | sort; }
FIRST() { instants "$1" | head -1; }
LAST() { instants "$1" | tail -1; }
SAVEPOINT() { python -m spark_jobs.entrypoint savepoint list 2> /dev/null | grep -oE "$1-[0-9TZ]+" | sort | tail -1; }
"""
CODES: Mapping[str, frozenset[int]] = {
    # The tour says so: on some days the demo's events leave a unit or two without a name.
    ".venv/bin/lakehouse quality check": frozenset({0, 2}),
    "lakehouse quality check": frozenset({0, 2}),
    "lakehouse quality check --tables sales,units": frozenset({0, 2}),
    # Nothing is ingested any more while pages are followed, so a table may be older than it promises.
    "lakehouse quality freshness": frozenset({0, 2}),
    ".venv/bin/lakehouse quality freshness": frozenset({0, 2}),
}
"""Exit codes that a page says a command has; of all others it is 0."""

_AIRFLOW = "needs a running Airflow: the slices airflow-backfills and airflow-approvals do the same"
_DOCKER = "needs a container engine; tests/local_stack/servers/services/test_compose.py starts what the file starts"
_AWS = "needs AWS; the slice cloud does the same with servers of this machine"
_KAFKA = "the slice live runs it"
_OWN_TABLES = "needs a table of the reader's own; the slice company does the same with its lake"
_OWN_MART = "needs a mart of the reader's own; tests/e2e/stack/test_planned_changes_dag.py does the same"
_RECORD = "names one record of the reader's own; tests/spark_jobs/jobs/quarantine does the same"
_INCIDENT = (
    "needs the incident; tests/plugins/lakehouse_page/test_runbooks.py and tests/laws/test_runbooks.py follow it"
)
_ITSELF = "would run itself"
LEFT_OUT: Mapping[tuple[str, str], Mapping[str, str]] = {
    # By the beginning of a command; "" is the whole chapter.
    ("README.md", "Two commands"): {"make company": "the slice company runs it", "make test": _ITSELF},
    ("README.md", "Connect your database"): {"": _KAFKA},
    ("README.md", "On AWS"): {"": _AWS},
    ("README.md", "With docker compose"): {"": _DOCKER},
    ("README.md", "Change a table"): {
        "airflow": _AIRFLOW,
        ".venv/bin/lakehouse run load": _OWN_TABLES,
    },
    ("CONTRIBUTING.md", "Set up"): {"": ".ci/run begins with it"},
    ("docs/backfill.md", "One layer after the other"): {"": _AIRFLOW},
    ("docs/backfill.md", "Other rules over past months"): {"": _AIRFLOW},
    ("docs/backfill.md", "Watching it"): {"": _AIRFLOW},
    ("docs/catalogs.md", "Catalogs and views: where engines find the tables, and what people see of them"): {"": _AWS},
    ("docs/catalogs.md", "Views: what people query"): {"": _AWS},
    ("docs/checks.md", "Checks: rules of the tables, as SQL"): {"lakehouse quality check --engine athena": _AWS},
    ("docs/cluster.md", "Standalone"): {
        "": "tests/plugins/lakehouse_provider/launch/engines/test_cluster_page.py reads it"
    },
    ("docs/cluster.md", "YARN, EMR on EC2"): {"": "the same test reads it"},
    ("docs/cluster.md", "EMR Serverless"): {"": "the same test reads it"},
    ("docs/cluster.md", "Kubernetes"): {"": "the same test reads it"},
    ("docs/compose.md", "With docker compose"): {"": _DOCKER},
    ("docs/compose.md", "Data out"): {"": _DOCKER},
    ("docs/compose.md", "Airflow's command line"): {"": _DOCKER},
    ("docs/compose.md", "Who may what"): {"": _DOCKER},
    ("docs/concurrency.md", "How it is tested"): {"": "an hour; its parts are the slices faults-*"},
    ("docs/erasure.md", "While it runs, and when it is killed"): {
        "": "needs an erasure that was cut off; tests/laws/test_ways_out.py does the same"
    },
    **{
        ("docs/existing-airflow.md", chapter): {"": "installs packages; tests/e2e/test_existing_airflow.py follows it"}
        for chapter in ("Build and install", "Jars for Spark", "A lake", "DAGs")
    },
    ("docs/export.md", "Exports: rows as files for other programs"): {"lakehouse table export sales --as-of": _AWS},
    ("docs/first-hour.md", "Before you begin"): {"make demo": "README's first command, which is followed before"},
    ("docs/lakes.md", "Several lakes in one Airflow"): {"": "leaves Airflow running; tests/e2e/test_lakes.py does it"},
    ("docs/lakes.md", "What each lake has of its own"): {"": _AIRFLOW},
    ("docs/lakes.md", "When a file is broken"): {"": _OWN_TABLES},
    ("docs/lakes.md", "From a shell"): {"": _OWN_TABLES},
    ("docs/lineage.md", "Events of runs"): {"": "needs a receiver; tests/spark_jobs/reporting does the same"},
    ("docs/loads.md", "Loads: tables that come as whole files"): {"": _OWN_TABLES},
    ("docs/marts.md", "Marts by declaration"): {"": _OWN_MART},
    ("docs/marts.md", "From a shell"): {"": _OWN_MART},
    ("docs/metrics.md", "The state of the lake"): {
        "": "answers until it is stopped; tests/spark_jobs/jobs/test_metrics.py does the same"
    },
    ("docs/metrics.md", "Runs"): {"": "needs a receiver; tests/spark_jobs/reporting does the same"},
    ("docs/moving.md", "Moving, copying and backing up a lake"): {
        "": "needs a lake that was moved; tests/spark_jobs/jobs/restore/test_moved.py does the same"
    },
    ("docs/quarantine.md", "See what there is"): {"lakehouse quarantine show": _RECORD},
    ("docs/quarantine.md", "Replay records"): {"": _RECORD},
    ("docs/runbooks/clock.md", '"has not come yet"'): {
        "": "needs a mart of a time to come; tests/spark_jobs/storage/test_clocks.py does the same"
    },
    **{
        (f"docs/runbooks/{name}.md", title): {"": _INCIDENT}
        for name, title in (
            ("catalog", "The catalog is stale"),
            ("consumer", "A consumer is behind, or has lost its place"),
            ("dead-driver", "A driver died"),
            ("full-disk", "The disk is full"),
            ("quarantine", "The quarantine is flooded"),
            ("small-files", "Small files pile up"),
            ("stuck-instant", "An instant is stuck"),
            ("table-version", "A table has another version"),
        )
    },
    ("docs/schemas.md", "When columns change"): {"": _OWN_TABLES},
    ("docs/schemas.md", "Changes that a person makes"): {"": _OWN_TABLES},
    ("docs/serving.md", "Setting the database"): {"": "needs a database; the slice databases does the same"},
    ("docs/snapshot.md", "The first load of a table"): {"": "needs a database; the slice databases does the same"},
    ("docs/tables.md", "Changing a table"): {"": _OWN_TABLES},
    ("docs/tables.md", "One job for all tables"): {"": _OWN_TABLES},
    ("docs/testing.md", "Planted bugs"): {
        ".venv/bin/python -m tests.mutants --area": "starts engines of its own; make mutants runs all of it",
        ".venv/bin/python -m tests.mutants --only": "starts engines of its own; make mutants runs all of it",
        ".venv/bin/python -m tests.mutants --write": "writes a page of the tree; make check compares it",
    },
}


def why_left_out(page: str, chapter: str, command: str) -> str:
    """The reason why a command is not followed, "" for one that is."""
    reasons = LEFT_OUT.get((page, chapter), {})
    return next((reason for start, reason in reasons.items() if command.startswith(start)), "")


def with_own_values(text: str) -> str:
    """A command with what a reader puts in place of the page's examples."""
    for example, own in OWN_VALUES.items():
        text = text.replace(example, own)
    return text
