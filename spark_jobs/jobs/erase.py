"""erase: one person taken out of the whole lake, its older states and landing files included; a plan, then a proof."""

from __future__ import annotations

import re
from dataclasses import replace

from spark_jobs.context import Job, JobContext
from spark_jobs.contracts.errors import ContractError, TerminalError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.results import DONE, NOTHING_TO_DO, JobResult
from spark_jobs.contracts.settings import Settings
from spark_jobs.contracts.text_table import format_table
from spark_jobs.job_options.erase import EraseOptions
from spark_jobs.lake_spec.people import STAND_IN, Person
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.lake_spec.tables import ColumnType
from spark_jobs.pipelines.erasure.eraser import Eraser
from spark_jobs.pipelines.erasure.giving_up import check_cut_off, give_up
from spark_jobs.pipelines.erasure.rows import is_stand_in_used
from spark_jobs.pipelines.erasure.trials import check_beforehand
from spark_jobs.sources.erasure import problems_of
from spark_jobs.storage.erasures import Erasures

_HEAD = ("place", "what names them", "found", "left")
"""Of a proof; a plan has no last column."""


def check(context: JobContext[EraseOptions]) -> None:
    """Raise unless the options name one person that can be erased, and the lake is in a state in which that can end."""
    spec, settings = context.spec, context.settings
    _person(context)
    if context.options.yes and not context.options.give_up:
        check_beforehand(spec, settings)


def run(context: JobContext[EraseOptions]) -> JobResult:
    """Show where the person is named, and erase them there when ``--yes`` says so; then look everywhere again.

    Nothing brings them back but new deliveries. A run that was killed is run again; until then nothing is ingested. One
    that cannot end is given up.
    """
    spark, settings = context.spark, context.settings
    spec = context.spec
    person = _person(context)
    eraser = Eraser(context=context, person=person).with_names()
    if is_stand_in_used(spark, spec, person, settings):
        raise ContractError(
            f"key {STAND_IN} is a real one among the {person.spec.role}s of this lake; erased people have it as "
            f"their stand-in"
        )
    if context.options.give_up:
        return _give_up(context, eraser)
    landing = eraser.search_landing(eraser.landing_parts({}))
    found, is_meant = eraser.look(landing), context.options.yes
    messages = [f"{place}: {count} {what}" for (place, what), count in found.items() if count]
    has_work = bool(messages)
    if not is_meant or not has_work:
        print(format_table(_HEAD[:-1], [(place, what, count) for (place, what), count in found.items()]))
        messages += [f"{reader}: has to catch up first, or be forgotten" for reader in eraser.readers_behind()]
        messages += [f"cannot be searched, so nothing could begin: {file}" for file in problems_of(landing)]
        messages += _stopped_by(spec, settings)
        messages.append(
            "nothing was changed; do it with --yes" if has_work else f"nothing names this {person.spec.role}"
        )
        return _result(context, found, messages, is_done=False)
    findings, notes, proof = eraser.erase(found, landing)
    messages += [f"the proof is {proof}", *notes]
    print(format_table(_HEAD, [(each.place, each.what, each.found, each.left) for each in findings]))
    return replace(_result(context, found, messages, is_done=True), tables=eraser.outcomes(found))


def _give_up(context: JobContext[EraseOptions], eraser: Eraser) -> JobResult:
    check_cut_off(eraser)
    if not context.options.yes:
        messages = ["would end the erasure where it is, name what is left, and let ingest go on; do it with --yes"]
        return _result(context, {}, messages, is_done=False)
    findings, notes, record = give_up(eraser)
    print(format_table(_HEAD, [(each.place, each.what, each.found, each.left) for each in findings]))
    left = {(each.place, each.what): each.left for each in findings}
    messages = [f"{place}: {count} {what} left" for (place, what), count in left.items() if count]
    return _result(context, left, [*messages, f"what is left is in {record}", *notes], is_done=True)


def _stopped_by(spec: LakeSpec, settings: Settings) -> list[str]:
    """Of a plan: why it could not be carried out now, if so."""
    try:
        check_beforehand(spec, settings)
    except TerminalError as error:
        return [f"nothing could begin: {error}"]
    return []


def _person(context: JobContext[EraseOptions]) -> Person:
    spec, settings = context.spec, context.settings
    if not spec.people:
        raise ContractError(f"lake {spec.lake} declares no people; add them to its spec (docs/erasure.md)")
    given = [(each, context.options.people[each.role]) for each in spec.people if each.role in context.options.people]
    if len(given) != 1:
        raise ContractError(f"name one person: {' or '.join(f'--{each.role} ID' for each in spec.people)}")
    each, id_ = given[0]
    if each.key and spec.columns_by_name[each.key].type is ColumnType.BIGINT:
        if not re.fullmatch(r"-?[0-9]{1,19}", id_):
            raise ContractError(f"--{each.role} {show(id_)}: {each.key} is a whole number")
        id_ = str(int(id_))
    if id_ == str(STAND_IN):
        raise ContractError(f"--{each.role} {id_}: that is the stand-in of erased people")
    pending = Erasures(settings).pending() or Erasures(settings).given_up(each.role, id_)
    if pending and (pending.role, pending.id) != (each.role, id_):
        raise ContractError(f"the erasure of another {pending.role} was cut off; run that one again first")
    return Person(spec=each, id=id_, names=pending.names if pending else ())


def _result(
    context: JobContext[EraseOptions], found: dict[tuple[str, str], int], messages: list[str], *, is_done: bool
) -> JobResult:
    return context.result(
        DONE if is_done else NOTHING_TO_DO,
        counters={"findings": sum(found.values())},
        messages=tuple(messages),
    )


JOB = Job(options=EraseOptions, run=run, check=check)
