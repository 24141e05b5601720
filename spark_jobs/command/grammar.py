"""The grammar of ``lakehouse``: where each job, and each action of a job, is found. Options come from the jobs' own.

A test holds that every job and action is here exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class Asks(Enum):
    """What happens before a command changes something."""

    NOTHING = "it runs"
    PLAN = "the job shows its plan, and needs --yes"
    LOOK = "what is there is shown, and the job needs --yes"


class Ends(Enum):
    """What a run is called that changed nothing."""

    NOTHING = "nothing to do"
    LISTED = "listed"
    PLANNED = "planned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """One command: ``lakehouse <group> <name>``, or ``lakehouse <name>`` without a group.

    ``argument`` is the option that is written without its flag, ``left_out`` are options that another command has.
    ``defaults`` are other ones than the job's.
    ``look`` are job and action whose output shows what is about to be changed. ``plans_with`` is the option that alone
    makes the job plan first.
    """

    group: str
    name: str
    job: str
    action: str = ""
    help: str = ""
    asks: Asks = Asks.NOTHING
    ends: Ends = Ends.NOTHING
    argument: str = ""
    left_out: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)
    look: tuple[str, str] | None = None
    plans_with: str = ""

    @property
    def path(self) -> str:
        """What is written after ``lakehouse``."""
        return f"{self.group} {self.name}".strip()

    @property
    def prints_rows(self) -> bool:
        """True when what it prints is rows of a table, and its JSON too."""
        return self.job in ("query", "changes")


def _list(group: str, job: str, help_: str, *, action: str = "list", name: str = "list", argument: str = "") -> Verb:
    return Verb(group=group, name=name, job=job, action=action, help=help_, ends=Ends.LISTED, argument=argument)


def _run(name: str, *, argument: str = "", plans_with: str = "", help_: str = "") -> Verb:
    return Verb(group="run", name=name, job=name, argument=argument, plans_with=plans_with, help=help_)


def _plan(group: str, name: str, job: str, action: str = "", *, help_: str, argument: str = "") -> Verb:
    return Verb(group=group, name=name, job=job, action=action, help=help_, asks=Asks.PLAN, argument=argument)


def _look(group: str, name: str, job: str, action: str, look: tuple[str, str], help_: str, argument: str = "") -> Verb:
    return Verb(
        group=group, name=name, job=job, action=action, help=help_, asks=Asks.LOOK, look=look, argument=argument
    )


GROUPS = {
    "lake": "a lake itself: making one, its size, erasing a person",
    "table": "tables as they are, as they changed, and their rows as files",
    "run": "the pipeline: from what was delivered to tables, marts and the serving store",
    "undo": "what an apply or a recompute did, undone",
    "partition": "partitions of tables",
    "quality": "checks, expectations, freshness, and batches that were held back",
    "quarantine": "records that could not be used",
    "service": "table services: compaction, clustering, clean and the others",
    "catalog": "the tables in AWS Glue or Hive",
    "view": "what people see of the tables, and the business's views",
    "source": "where events come from, and epochs of their positions",
    "consumer": "who reads which table, and how far",
    "rule": "versions of business rules",
    "schema": "columns of tables",
    "savepoint": "states of the whole lake that are kept",
    "spec": "the files that declare the lake",
    "doctor": "problems that no job reports",
    "docs": "the lake's tables, columns, owners and lineage as a site",
}

VERBS = (
    Verb(group="lake", name="init", job="init"),
    Verb(group="lake", name="generate", job="generate"),
    Verb(group="lake", name="sizing", job="sizing", ends=Ends.LISTED),
    _plan("lake", "erase", "erase", help_="one person removed from the whole lake, older states included"),
    Verb(
        group="table",
        name="diff",
        job="changes",
        argument="table",
        defaults={"format": "table"},
        ends=Ends.LISTED,
        help="what commits changed between two moments, each row before and after",
    ),
    _run("ingest", plans_with="again"),
    _run("snapshot", argument="table"),
    _run("load", argument="table"),
    _run("split"),
    _run("mart", argument="layer", help_="a layer's marts, refreshed by what is new"),
    _run("serve"),
    Verb(
        group="run",
        name="recompute",
        job="recompute",
        asks=Asks.PLAN,
        left_out=("undo", "dry_run"),
        help="history computed again",
    ),
    Verb(group="", name="plan", job="plan", ends=Ends.PLANNED),
    Verb(group="", name="preview", job="preview", argument="plan", ends=Ends.PLANNED),
    _look("", "apply", "apply", "", ("plan file", ""), "marts and tables of a plan by their new definition", "plan"),
    _plan("undo", "changes", "undo", help_="a plan that was applied, undone", argument="plan"),
    Verb(
        group="undo",
        name="recompute",
        job="recompute",
        asks=Asks.PLAN,
        argument="undo",
        left_out=("layer", "mart", "rules", "from_date", "to_date", "dry_run"),
        help="what a recompute replaced, restored",
    ),
    _list("partition", "partitions", "which partitions there are"),
    _plan("partition", "delete", "partitions", "delete", help_="partitions removed by their names", argument="table"),
    _plan("partition", "retain", "partitions", "retain", help_="partitions older than keep_days removed"),
    _list("quality", "checks", "which checks there are"),
    Verb(group="quality", name="check", job="checks", action="run", help="run the checks, and show what they find"),
    Verb(group="quality", name="validate", job="validate"),
    Verb(group="quality", name="freshness", job="freshness", ends=Ends.LISTED),
    _list("quality", "publish", "tables that are held back, and why", name="held"),
    _look("quality", "accept", "publish", "accept", ("publish", "list"), "a held batch accepted, once", "table"),
    _list("quarantine", "quarantine", "what is kept, and why"),
    _list("quarantine", "quarantine", "one record and its history", action="show", name="show", argument="record"),
    _look("quarantine", "replay", "quarantine", "replay", ("quarantine", "list"), "records processed once more"),
    _look("quarantine", "discard", "quarantine", "discard", ("quarantine", "list"), "records marked as discarded"),
    Verb(group="service", name="plan", job="services", action="plan", help="what is due, and why", ends=Ends.PLANNED),
    Verb(group="service", name="run", job="services", action="run", help="what is due is run"),
    Verb(group="catalog", name="plan", job="sync", action="plan", help="what differs", ends=Ends.PLANNED),
    _look("catalog", "apply", "sync", "apply", ("sync", "plan"), "the catalog updated"),
    _list("catalog", "sync", "statements for a catalog without sync", action="ddl", name="ddl"),
    _list("view", "views", "which views there are"),
    _list("view", "views", "the statements that make them", action="ddl", name="ddl"),
    _look("view", "apply", "views", "apply", ("views", "list"), "views made in Athena, and dropped there"),
    _list("source", "source", "streams, their epochs and the tables' origins"),
    _plan("source", "new-epoch", "source", "new-epoch", help_="positions of a stream begin again", argument="stream"),
    _plan("source", "same-epoch", "source", "same-epoch", help_="positions that fell are in order", argument="stream"),
    _list("consumer", "consumers", "all readers, how far and how often they read"),
    Verb(
        group="consumer",
        name="register",
        job="consumers",
        action="register",
        argument="name",
        help="a reader outside the lake, or its new checkpoint",
    ),
    _look("consumer", "forget", "consumers", "forget", ("consumers", "list"), "a reader removed", "name"),
    _list("rule", "rules", "the versions there are"),
    _list("rule", "rules", "two versions compared over the same history", action="diff", name="diff"),
    _list("schema", "schema", "columns"),
    _list("schema", "schema", "how the columns changed", action="history", name="history"),
    Verb(
        group="schema",
        name="plan",
        job="schema",
        action="plan",
        ends=Ends.PLANNED,
        help="how columns differ from the spec",
    ),
    _plan("schema", "apply", "schema", "apply", help_="columns changed as the spec declares them"),
    Verb(group="savepoint", name="create", job="savepoint", action="create", help="keep the lake as it is now"),
    _list("savepoint", "savepoint", "the savepoints"),
    _look("savepoint", "delete", "savepoint", "delete", ("savepoint", "list"), "one of them deleted", "name"),
    _plan("", "restore", "restore", help_="the whole lake restored to a savepoint", argument="to"),
    Verb(
        group="spec", name="check", job="spec", action="check", ends=Ends.LISTED, help="every mistake by file and line"
    ),
    Verb(
        group="doctor",
        name="check",
        job="doctor",
        action="check",
        ends=Ends.LISTED,
        help="problems, and what they mean",
    ),
    _plan("doctor", "repair", "doctor", "repair", help_="those that can be repaired safely"),
    Verb(group="docs", name="build", job="docs", action="build", help="write the docs of the lake, a page a table"),
    Verb(group="", name="metrics", job="metrics", ends=Ends.LISTED),
    Verb(group="", name="report", job="report", help="business pictures of the lake's views, as one HTML file"),
    Verb(
        group="",
        name="query",
        job="query",
        argument="sql",
        ends=Ends.LISTED,
        defaults={"engine": "auto", "format": "table"},
        help="a SELECT over tables and views, answered without Spark where that is certain; rows, or files of them",
    ),
)
