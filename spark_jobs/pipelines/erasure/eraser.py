"""The steps of an erasure, and the look at every place before and after them."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.errors import (
    ConsumersBehindError,
    ContractError,
    ErasureUnfinishedError,
    TransientError,
)
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.marts.definitions import check_definitions
from spark_jobs.marts.engine import Engine
from spark_jobs.marts.modes.registry import refresh_mart
from spark_jobs.marts.refresh import RefreshRequest
from spark_jobs.pipelines.definitions import check_tables
from spark_jobs.pipelines.erasure.rows import erase_in_log, erase_in_table, erase_in_tombstones
from spark_jobs.pipelines.erasure.search import Places, Search
from spark_jobs.pipelines.erasure.trials import check_beforehand, check_writable
from spark_jobs.pipelines.erasure.unreached import find_unreached, forget_versions, remove_versions
from spark_jobs.pipelines.ingestion.run import IngestOutcome, ingest_new
from spark_jobs.pipelines.merge.engine import Merge
from spark_jobs.pipelines.merge.tables import targets_of
from spark_jobs.pipelines.serving import Served, serve_marts
from spark_jobs.quality.holds import Holds
from spark_jobs.sources.delivery import LEDGER_KEY
from spark_jobs.sources.discovery import checkpoints, read_ledger
from spark_jobs.sources.erasure import FileFinding, edit_files, edited_ledger, problems_of
from spark_jobs.sources.file_scan import LedgerEntry
from spark_jobs.sources.landing import pack_ledger, unpack_ledger
from spark_jobs.storage.change_feed import drop_changes
from spark_jobs.storage.erasures import Erasures, Finding, Pending
from spark_jobs.storage.layouts import all_layouts, quarantine_layout
from spark_jobs.storage.lease import hold_tables, hold_whole
from spark_jobs.storage.recovery import settled_timeline
from spark_jobs.storage.savepoints import SavepointRecords
from spark_jobs.storage.segment_index import drop_indexes
from spark_jobs.storage.services.purge import finish_plans, purge
from spark_jobs.storage.serving.address import FILE, parse_address
from spark_jobs.storage.serving.store import ServingStore
from spark_jobs.storage.writer import commit

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Eraser(Search):
    """The erasure of one person from one lake."""

    def check_readers(self) -> None:
        """Raise ConsumersBehindError when a reader would miss what it has not read."""
        if behind := self.readers_behind():
            raise ConsumersBehindError(readers=behind)

    @property
    def held(self) -> tuple[str, ...]:
        """The tables whose leases it holds from its first step to its last; each mart's own when it is its turn."""
        return (
            self.context.spec.log,
            self.context.spec.quarantine,
            *self._merged_and_loaded,
            *self.context.spec.tombstones,
        )

    def erase(self, found: Places, landing: Sequence[FileFinding]) -> tuple[list[Finding], list[str], str]:
        """Every step, each of which does what is still to do; then look again, in every file.

        Before the first one all that they will write is tried.

        Returns:
            What was found and is left, by place; what was not reached; and the path of the proof.

        Raises:
            TransientError: something still names the person; run it again.
        """
        job, settings = self.context.job, self.context.settings
        with hold_whole(self.held, services_of=self.context.spec.table_names, job=job, settings=settings):
            self._check(problems_of(landing))
            check_writable(self, landing, self._store())
            for layout in all_layouts(self.context.spec):
                if layout.name in self.touched:
                    finish_plans(self.context.spark, layout, settings)
            eraser, found = self._erase_delivered(found)
            eraser._erase_in_tables()
            eraser._refresh_marts()
            eraser._purge()
            eraser._serve()
            findings, clock = eraser.prove(found), format_clock(self.context.clock)
            old, notes = remove_versions(eraser)
            notes += find_unreached(self.context.spec, settings)
            proof = Erasures(settings).finish(self.person.spec.role, clock, [*findings, *old], notes)
            notes += forget_versions(settings)
            return [*findings, *old], notes, proof

    def _check(self, landing_problems: Sequence[str]) -> None:
        """Raise unless it may begin, or go on: one at a time, no reader misses anything, every file can be read."""
        check_beforehand(self.context.spec, self.context.settings)
        person, pending = self.person, Erasures(self.context.settings).pending()
        if pending and (pending.role, pending.id) != (person.spec.role, person.id):
            raise ErasureUnfinishedError(role=pending.role)
        if not pending:  # else its own commits may be new to readers that had read everything
            self.check_readers()
            touched = [mart for mart in self.context.spec.marts if mart.name in self.touched]
            check_definitions(touched, self.context.spec, self.context.settings)
            check_tables(self.context.spec, self.context.settings)
        if landing_problems:
            reasons = "; ".join(landing_problems)
            raise ContractError(f"cannot be searched: {reasons}; repair or remove them, then run it again")

    def _erase_delivered(self, found: Places) -> tuple[Eraser, Places]:
        """Quarantine, log and landing files, and again while what was delivered meanwhile names the person.

        What is ingested may have a name of the person that was not known: the eraser that is returned knows it.
        """
        ledger, is_named = self._know_files(), True
        while is_named:
            eraser = self.with_names()
            found = eraser._begin(found, ledger)
            eraser._let_savepoints_go()
            eraser._edit_delivered(ledger)
            # Now all files are what the ledger says, also after an erasure that was cut off.
            taken = ingest_new(self.context)
            is_new = taken.has_more or any(outcome.is_committed for outcome in taken.outcomes)
            ledger, is_named = _ledger_of(taken), is_new and eraser.with_names().is_named_in_ingested
        return eraser, found

    def _know_files(self) -> Mapping[str, LedgerEntry]:
        """Take in all that was delivered, so that every file is known by its bytes, also one that got a new name.

        Not when an erasure was cut off: files that were edited half-way would be read as others. What was known of them
        then was written down, and it is in the log's commit when their editing had begun.
        """
        if pending := Erasures(self.context.settings).pending():
            return {**unpack_ledger(pending.ledger), **read_ledger(self.timeline(self.context.spec.log))}
        while (taken := ingest_new(self.context)).has_more:
            log.info("ingesting what was delivered: %d records", taken.counters["records_read"])
        return _ledger_of(taken)

    def _begin(self, found: Places, ledger: Mapping[str, LedgerEntry]) -> Places:
        """Write down whom, and what there was; of an erasure that was cut off, what there was when it first began."""
        begun = Erasures(self.context.settings).pending()
        before = {(place, what): count for place, what, count in begun.found} if begun else {}
        most = {place: max(count, before.get(place, 0)) for place, count in {**before, **found}.items()}
        kept = tuple((place, what, count) for (place, what), count in most.items())
        person = self.person
        Erasures(self.context.settings).begin(
            Pending(role=person.spec.role, id=person.id, names=person.names, found=kept, ledger=pack_ledger(ledger))
        )
        return most

    def _let_savepoints_go(self) -> None:
        records = SavepointRecords(self.context.settings)
        for record in records.all():
            if set(record.tables) & set(self.touched):
                log.info("savepoint %s: deleted", record.id)
                records.release(self.context.spark, record)

    def _edit_delivered(self, ledger: Mapping[str, LedgerEntry]) -> None:
        """Quarantine, then log, then landing files.

        The log's commit says what was read of the files as they will be: before they are, whoever looks reads them
        again from the start and finds every event there.
        """
        log.info("erasing in %s and %s", self.context.spec.quarantine, self.context.spec.log)
        with self.quarantined() as rows_df:
            if rows_df is not None and not rows_df.isEmpty():
                settled_timeline(self.context.spark, self.context.spec.quarantine, self.context.settings)
                commit(rows_df, quarantine_layout(self.context.spec), metadata={}, settings=self.context.settings)
        parts = self.landing_parts(ledger)
        found = {file.path: file for file in self.search_landing(parts) if file.taken_in}
        edited = edited_ledger(ledger, found.values())
        about_df = self._rows_about(self.context.spec.log)
        if about_df is not None and (edited != ledger or not about_df.isEmpty()):
            metadata = {**checkpoints(self.timeline(self.context.spec.log)), LEDGER_KEY: pack_ledger(edited)}
            erase_in_log(self.context.spark, self.context.spec, self.person, metadata, self.context.settings)
        log.info("erasing in %d landing files", len(found))
        named = [part for part in parts if part.path in found]
        done = edit_files(self.context.spark, self.context.spec, self.person, self.context.settings.landing_path, named)
        if problems := problems_of(done):
            raise TransientError(f"{'; '.join(problems)}; correct that and run the erasure again")

    def _erase_in_tables(self) -> None:
        """The tables themselves, then what is new in the log, the stand-in's own row with it.

        The row index goes first: where two of its rows have a value of one order, it takes the greater one, and the
        stand-in is of the same order as the key that it replaces.
        """
        drop_indexes(self.context.spec, self.context.settings)
        for layout in all_layouts(self.context.spec):
            is_own = layout.name in self.touched and layout.name in self._merged_and_loaded
            if is_own and erase_in_table(
                self.context.spark, self.context.spec, layout, self.person, self.context.settings
            ):
                log.info("erased in %s", layout.name)
        erase_in_tombstones(self.context.spark, self.context.spec, self.person, self.context.settings)
        Merge(context=self.context, chosen=self.context.spec.tables).run().raise_failed()

    @property
    def _merged_and_loaded(self) -> tuple[str, ...]:
        """Tables whose rows are not computed from others."""
        return (*targets_of(self.context.spec.tables), *(load.name for load in self.context.spec.loads))

    def _refresh_marts(self) -> None:
        for mart in self._marts():
            request = RefreshRequest(moves_cut=True, is_full=self._needs_all(mart))
            refresh_mart(Engine(context=replace(self.context, interval=None), request=request), mart)

    def _needs_all(self, mart: MartSpec) -> bool:
        """True for marts that take the rows of an append-only table as new: rewritten events would count twice.

        And for those whose scope is of the person: nothing says that the old scope of a rewritten event changed.
        """
        words = [self.person.spec.key, *self.person.spec.columns, "row_values" * bool(self.person.spec.tables)]
        own = re.compile(rf"\b({'|'.join(filter(None, words))})\b")
        if any(self.context.spec.is_append_only(read.table) and own.search(read.scope) for read in mart.reads):
            return True
        adding = self.context.spec.mart(mart.cache) if mart.cache else mart
        return adding.mode.traits.adds_up and any(self.context.spec.is_append_only(read.table) for read in adding.reads)

    def _purge(self) -> None:
        marts = [name for name in self.touched if name in self.context.spec.mart_names]
        layouts = {layout.name: layout for layout in all_layouts(self.context.spec)}
        with hold_tables(marts, job=self.context.job, settings=self.context.settings):
            for at, table in enumerate(self.touched, start=1):
                if self.timeline(table).writes:
                    purge(self.context.spark, layouts[table], self.context.settings, self.context.clock)
                drop_changes(table, self.context.settings)
                log.info("%s: older states are gone (%d of %d tables)", table, at, len(self.touched))

    def _serve(self) -> None:
        """Serve the touched marts and tables that the store has."""
        if (store := self._store()) is None:
            return
        tables = (table for table in self.context.spec.tables if table.name in self.touched)
        known: tuple[Served, ...] = (*self._marts(), *tables)
        if served := [each for each in known if store.served(each.name)]:
            held = Holds(self.context.settings).held()
            serve_marts(self.context, served, store, held)
        store.vacuum()

    def _store(self) -> ServingStore | None:
        """The serving store; None when the lake serves no mart."""
        is_file = not self.context.settings.serving_url
        if is_file and (
            "://" in self.context.settings.base_path or not Path(self.context.settings.table_path(FILE)).exists()
        ):
            return None
        return ServingStore(parse_address(self.context.settings), wait_seconds=self.context.settings.lease_wait_seconds)

    def _marts(self) -> list[MartSpec]:
        """Those among the touched that have ever been computed; a cache comes with its stitch mart."""
        return [
            mart
            for mart in self.context.spec.marts
            if mart.name in self.touched
            and mart.name not in self.context.spec.caches
            and self.timeline(mart.name).writes
        ]


def _ledger_of(taken: IngestOutcome) -> Mapping[str, LedgerEntry]:
    """What is known of the landing files after a look at what was delivered."""
    return unpack_ledger(taken.checkpoints.get(LEDGER_KEY))
