"""erase: one person taken out of the whole lake, its older states and landing files included; a plan, then a proof."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace

from pyspark.sql import SparkSession

from spark_jobs.contracts.arguments import JobArguments, format_clock
from spark_jobs.contracts.errors import ContractError, LakehouseError, TerminalError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.lake_spec.people import STAND_IN, Person
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.tables import ColumnType
from spark_jobs.pipelines.erasure.eraser import Eraser
from spark_jobs.pipelines.erasure.giving_up import check_cut_off, give_up
from spark_jobs.pipelines.erasure.rows import is_stand_in_taken
from spark_jobs.pipelines.erasure.trials import check_beforehand
from spark_jobs.sources.erasure import problems_of
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.storage.erasures import Erasures
from spark_jobs.storage.lake_specs import read_lake_spec

_HEAD = ("place", "what names them", "found", "left")
"""Of a proof; a plan has no last column."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Command-line options of this job alone: one for each kind of people that the lake spec declares."""
    try:
        people = load_lake_spec(Settings.from_environment().lake_spec).people
    except LakehouseError as error:
        people = ()  # the run itself would say so; here it must not keep other jobs' help from being shown
        parser.epilog = str(error)
    for each in people:
        parser.add_argument(
            f"--{each.role.replace('_', '-')}", metavar="ID", help=f"the key of the {each.role} to be erased"
        )
    parser.add_argument(
        "--give-up",
        action="store_true",
        help="end an erasure that was cut off and cannot be finished where it is; what is left is named (with --yes)",
    )
    parser.add_argument("--yes", action="store_true", help="carry out the plan; by default it is only shown")


def check(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> None:
    """Raise unless the options name one person that can be erased, and the lake is in a state in which that can end."""
    _person(spec, arguments, settings)
    if arguments.options.get("yes") and not arguments.options.get("give_up"):
        check_beforehand(spec, settings)


def run(spark: SparkSession, arguments: JobArguments, settings: Settings) -> JobResult:
    """Show where the person is named, and erase them there when ``--yes`` says so; then look everywhere again.

    Nothing brings them back but new deliveries. A run that was killed is run again; until then nothing is ingested. One
    that cannot end is given up.
    """
    spec = read_lake_spec(settings)
    person = _person(spec, arguments, settings)
    eraser = Eraser(spark=spark, spec=spec, settings=settings, arguments=arguments, person=person).with_names()
    if is_stand_in_taken(spark, spec, person, settings):
        raise ContractError(
            f"key {STAND_IN} is a real one among the {person.spec.role}s of this lake; erased people have it as "
            f"their stand-in"
        )
    if arguments.options.get("give_up"):
        return _give_up(eraser)
    landing = eraser.search_landing(eraser.landing_parts({}))
    found, is_meant = eraser.look(landing), bool(arguments.options.get("yes"))
    said = [f"{place}: {count} {what}" for (place, what), count in found.items() if count]
    has_work = bool(said)
    if not is_meant or not has_work:
        print(format_table(_HEAD[:-1], [(place, what, count) for (place, what), count in found.items()]))
        said += [f"{reader}: has to catch up first, or be forgotten" for reader in eraser.readers_behind()]
        said += [f"cannot be searched, so nothing could begin: {file}" for file in problems_of(landing)]
        said += _stopped_by(spec, settings)
        said.append("nothing was changed; do it with --yes" if has_work else f"nothing names this {person.spec.role}")
        return _result(arguments, found, said, is_done=False)
    findings, notes, proof = eraser.erase(found, landing)
    said += [f"the proof is {proof}", *notes]
    print(format_table(_HEAD, [(each.place, each.what, each.found, each.left) for each in findings]))
    return replace(_result(arguments, found, said, is_done=True), tables=eraser.outcomes(found))


def _give_up(eraser: Eraser) -> JobResult:
    check_cut_off(eraser)
    if not eraser.arguments.options.get("yes"):
        said = ["would end the erasure where it is, name what is left, and let ingest go on; do it with --yes"]
        return _result(eraser.arguments, {}, said, is_done=False)
    findings, notes, record = give_up(eraser)
    print(format_table(_HEAD, [(each.place, each.what, each.found, each.left) for each in findings]))
    left = {(each.place, each.what): each.left for each in findings}
    said = [f"{place}: {count} {what} left" for (place, what), count in left.items() if count]
    return _result(eraser.arguments, left, [*said, f"what is left is in {record}", *notes], is_done=True)


def _stopped_by(spec: LakeSpec, settings: Settings) -> list[str]:
    """Of a plan: why it could not be carried out now, if so."""
    try:
        check_beforehand(spec, settings)
    except TerminalError as error:
        return [f"nothing could begin: {error}"]
    return []


def _person(spec: LakeSpec, arguments: JobArguments, settings: Settings) -> Person:
    if not spec.people:
        raise ContractError(f"lake {spec.lake} declares no people; add them to its spec (docs/erasure.md)")
    given = [(each, str(id_)) for each in spec.people if (id_ := arguments.options.get(each.role)) not in (None, "")]
    if len(given) != 1:
        raise ContractError(f"name one person: {' or '.join(f'--{each.role} ID' for each in spec.people)}")
    each, id_ = given[0]
    if each.key and spec.columns_by_name[each.key].type is ColumnType.BIGINT:
        if not re.fullmatch(r"-?[0-9]{1,19}", id_):
            raise ContractError(f"--{each.role} {show(id_)}: {each.key} is a whole number")
        id_ = str(int(id_))
    if id_ == str(STAND_IN):
        raise ContractError(f"--{each.role} {id_}: that is the stand-in for everybody who was erased before")
    pending = Erasures(settings).pending() or Erasures(settings).given_up(each.role, id_)
    if pending and (pending.role, pending.id) != (each.role, id_):
        raise ContractError(f"the erasure of another {pending.role} was cut off; run that one again first")
    return Person(spec=each, id=id_, names=pending.names if pending else ())


def _result(
    arguments: JobArguments, found: dict[tuple[str, str], int], messages: list[str], *, is_done: bool
) -> JobResult:
    return JobResult(
        job=arguments.job,
        status=DONE if is_done else NOTHING_TO_DO,
        clock=format_clock(arguments.clock),
        counters={"findings": sum(found.values())},
        messages=tuple(messages),
    )
