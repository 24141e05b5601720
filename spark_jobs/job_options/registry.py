"""Every job, what it is for, and its options by its name."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

from spark_jobs.contracts.options import JobOptions

JOBS = {
    "init": "a new lake at the base path, and its landing folder: the first command, all others need it",
    "generate": "make a seeded log of sales events in the landing folder",
    "ingest": "landing files to the event log and the quarantine, exactly once",
    "snapshot": "the first load of a table of a database, in parts, over which later change events win",
    "quarantine": "records that could not be used: a list with reasons, and replaying repaired ones",
    "load": "whole files into a table of their own: upsert, insert, overwrite or delete, as the lake spec says",
    "partitions": "which partitions a table has; removing those of a loaded table, by name or age; a plan first",
    "split": "events of the log to the entity tables",
    "mart": "a layer's marts, refreshed by what is new",
    "recompute": "history computed again: a plan first, and it can be undone",
    "plan": "which definitions in the files differ from those that rows were computed with, and what apply would do",
    "preview": "marts of a plan computed by their new definition and compared with their rows; nothing is changed",
    "apply": "marts of a plan computed by their new definition, after a savepoint, each in one commit",
    "undo": "marts of an applied plan restored to the rows and the definition that they had before",
    "rules": "rule versions: a table of them, or two compared over the same history",
    "serve": "a layer's marts into the serving store, each as of its newest instant",
    "spec": "the lake spec, its marts and expectations checked: every mistake by file and line",
    "schema": "columns of tables with from: a list, their history, and reviewed changes by a plan",
    "source": "where events come from and how far they are; a new epoch where positions begin again",
    "sizing": "what a lake of a given number of GB a day needs, and how its files grow; arithmetic and a simulation",
    "services": "rescale, compaction, clustering, clean, archive and index: which are due and why, and running them",
    "savepoint": "the whole lake kept as it is now, to query it later or to restore everything to it",
    "restore": "the whole lake restored to a savepoint, with its consumers; a plan first",
    "erase": "one person removed from the whole lake, older states and landing files included; a plan first",
    "doctor": "problems of the lake that no job reports: what they are, what they mean, and repairs",
    "consumers": "who reads which table, how far and how often; readers outside the lake are registered here",
    "changes": "what commits of a table changed between two moments, each row before and after",
    "sync": "the lake's tables in a catalog, AWS Glue or Hive: what differs, and updating it",
    "views": "what people see of the tables, and the business's views: for Athena, Trino or Spark with a catalog",
    "checks": "rules of the tables, each a SELECT whose rows break it: which there are, and what they find",
    "validate": "expectations of whole tables, checked by Great Expectations; its Data Docs as a static site",
    "metrics": "the state of the lake for Prometheus: answered until stopped, or printed once; without Spark",
    "freshness": "how old each table is, and whether it keeps its promise; without Spark",
    "publish": "tables held back because their newest batch failed an expectation, and accepting a batch",
    "docs": "tables, columns, owners, expectations and lineage of the lake as a static site; without Spark",
    "report": "business pictures of the lake's views as one HTML file, with how new what is shown is",
    "query": "SQL over the lake's tables and views, printed as a table or written to Parquet or CSV",
}
"""Each has its options in a module of this package, and what it does in one of the same name in ``spark_jobs/jobs``."""

LOCAL_JOBS = {"generate": "generator", "sizing": "sizing"}
"""Jobs that never run on a cluster, each with its package: these are not in the zip that a driver elsewhere is sent."""


def installed_jobs() -> dict[str, str]:
    """The jobs that can run here, each with what it is for: a driver elsewhere has no ``LOCAL_JOBS``."""
    missing = {job for job, package in LOCAL_JOBS.items() if not find_spec(f"spark_jobs.{package}")}
    return {job: summary for job, summary in JOBS.items() if job not in missing}


def options_of(job: str) -> type[JobOptions]:
    """The options of a job, by its name; no job is imported for them."""
    options: type[JobOptions] = getattr(
        importlib.import_module(f"spark_jobs.job_options.{job}"), f"{job.capitalize()}Options"
    )
    return options
