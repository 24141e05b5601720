"""An erasure that was cut off and cannot end, given up: what is erased stays so, what is left is named, ingest goes on.

Files that were edited have other hashes than the log knows, and those that were not are not yet what it says. So a
commit of the log records what each file is now, as far as it was read, and none is read again. (A file that was
replaced by one with other events since the erasure began counts as read: deliver such events under another name.)
"""

from __future__ import annotations

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.pipelines.erasure.eraser import Eraser
from spark_jobs.pipelines.erasure.unreached import find_unreached
from spark_jobs.pipelines.log_metadata import commit_log_metadata
from spark_jobs.sources.delivery import LEDGER_KEY
from spark_jobs.sources.discovery import read_ledger
from spark_jobs.sources.landing import pack_ledger
from spark_jobs.sources.landing_files import files_as_they_are
from spark_jobs.storage.erasures import Erasures, Finding
from spark_jobs.storage.kept_rows import check_nothing_kept
from spark_jobs.storage.lease import hold_whole
from spark_jobs.storage.recovery import settled_timeline

NOTE = "given up before its end: the places with something left still name the person"


def check_cut_off(eraser: Eraser) -> None:
    """Raise ContractError unless an erasure of this person was cut off."""
    if Erasures(eraser.context.settings).pending() is None:
        raise ContractError(
            f"no erasure of a {eraser.person.spec.role} was cut off, so there is none to give up; leave --give-up out"
        )


def give_up(eraser: Eraser) -> tuple[list[Finding], list[str], str]:
    """End it where it is; gives what is left, by place, what was not reached, and the path of the record.

    Nothing is rewritten: savepoints that were deleted stay deleted. Run again later, an erasure of the person begins
    from its start and finds what is left.
    """
    settings, spec, person = eraser.context.settings, eraser.context.spec, eraser.person
    job, erasures = eraser.context.job, Erasures(settings)
    with hold_whole(eraser.held, services_of=(spec.log,), job=job, settings=settings):
        check_cut_off(eraser)
        check_nothing_kept(settings)  # committed again, they would say of the landing files what is so no more
        pending = erasures.pending()
        _record_files(eraser)
        found = {(place, what): count for place, what, count in pending.found} if pending else {}
        findings, clock = eraser.look_again(found), format_clock(eraser.context.clock)
        notes = [NOTE, *find_unreached(spec, settings)]
        return findings, notes, erasures.finish(person.spec.role, clock, findings, notes, is_given_up=True)


def _record_files(eraser: Eraser) -> None:
    """A commit of the log without a row, which has the hashes that the landing files have now."""
    spec, settings = eraser.context.spec, eraser.context.settings
    timeline = settled_timeline(eraser.context.spark, spec.log, settings)
    ledger = read_ledger(timeline)
    paths = [part.path for part in eraser.landing_parts(ledger)]
    now = files_as_they_are(eraser.context.spark, settings.landing_path, ledger, paths)
    if timeline.last is None or now == ledger:
        return
    commit_log_metadata(eraser.context, {LEDGER_KEY: pack_ledger(now)}, timeline)
