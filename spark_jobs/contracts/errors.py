"""One error tree: terminal errors must not be retried, transient ones may be. Each message says what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Self

from spark_jobs.contracts.names import spell
from spark_jobs.contracts.places import DocumentPlace, Steps


class LakehouseError(Exception):
    """Base of every error this project raises on purpose; the message is one sentence a person can act on.

    It is one line whatever it quotes.
    """

    exit_code = 2
    place: DocumentPlace | None = None
    """Of what is wrong with a file: where."""

    def __init__(self, message: str = "") -> None:
        super().__init__(spell(message))


class TransientError(LakehouseError):
    """Trying again later may help; the command line exits with 1."""

    exit_code = 1


class TerminalError(LakehouseError):
    """Trying again will not help until a person changes something; the command line exits with 2."""


class ContractError(TerminalError):
    """A spec, an argument or a value breaks its contract.

    ``at`` is the way from the entry that is refused to what is wrong in it, () for the entry as a whole: whoever read
    the entry knows its place. ``lacks`` are a kind and a name of which there is none: it is no mistake of its own when
    that is there and could not be read.
    """

    def __init__(self, message: str = "", *, at: Steps = (), lacks: tuple[str, str] | None = None) -> None:
        self.at, self.lacks = at, lacks
        super().__init__(message)

    @property
    def each(self) -> tuple[ContractError, ...]:
        """What is wrong, one by one."""
        return (self,)

    def inside(self, *steps: object) -> Self:
        """The same error, placed in an entry that has the refused one at ``steps``."""
        for error in self.each:
            error.at = (*steps, *error.at)
        return self


class ManyMistakesError(ContractError):
    """Several things are wrong with an entry or a file: ``each`` of them; the message has the first."""

    def __init__(self, errors: Sequence[ContractError]) -> None:
        self._errors = tuple(errors)
        super().__init__(f"{errors[0]} (and {len(errors) - 1} more)")

    @property
    def each(self) -> tuple[ContractError, ...]:
        return self._errors


def raise_all(errors: Iterable[LakehouseError]) -> None:
    """Raise the errors as one; an error of the environment among them goes first, as what it is."""
    found = list(errors)
    contracts = [error for error in found if isinstance(error, ContractError)]
    if others := [error for error in found if not isinstance(error, ContractError)]:
        raise others[0]
    if len(contracts) == 1:
        raise contracts[0]
    if contracts:
        raise ManyMistakesError(contracts)


class SettingsError(TerminalError):
    """The environment is wrong: a missing Java, a path that cannot be written, an unreachable server."""


class MessagesLostError(TerminalError):
    """Kafka has messages no more that were never read; ``lost`` says of each topic which."""

    def __init__(self, *, lost: Mapping[str, str]) -> None:
        self.lost = lost
        super().__init__(
            f"nothing was read: {'; '.join(lost.values())}; bring them back, or go on without what is lost: "
            f"ingest --accept-loss {','.join(lost)}"
        )


class TableVersionError(TerminalError):
    """A table on disk has another table version than the one every writer declares."""

    def __init__(self, *, table: str, found: str, declared: int) -> None:
        self.table, self.found, self.declared = table, found, declared
        super().__init__(
            f"{table}: the table on disk has Hudi table version {found}, this project writes version {declared}; "
            f"move the table away or migrate it before the next run"
        )


class TableTypeError(TerminalError):
    """A table on disk is of another type than its lake spec says."""

    def __init__(self, *, table: str, found: str, declared: str) -> None:
        self.table, self.found, self.declared = table, found, declared
        super().__init__(
            f"{table}: the table on disk is {found}, its lake spec says {declared}; "
            f"put the old type back, or move the table away and fill it again"
        )


class TableBusyError(TransientError):
    """Another writer holds the lease of a table."""

    def __init__(self, *, table: str, holder: str, waited_seconds: float) -> None:
        self.table, self.holder, self.waited_seconds = table, holder, waited_seconds
        super().__init__(
            f"{table}: another writer holds the table ({holder}, after {waited_seconds:.0f} s); run again later"
        )


class LeaseLostError(TransientError):
    """The lease of a table ended while its holder was still at work: it was paused, or cut off from ZooKeeper."""

    def __init__(self, *, table: str) -> None:
        self.table = table
        super().__init__(f"{table}: the lease was lost while the table was written; run the job again")


class CommitLostError(TransientError):
    """A write reported success but its commit is not on the timeline."""

    def __init__(self, *, table: str, run_key: str) -> None:
        self.table, self.run_key = table, run_key
        super().__init__(f"{table}: the commit of run {run_key} is not on the timeline; run the job again")


class RestoreUnfinishedError(TerminalError):
    """A restore was cut off, perhaps within a table: Hudi accepts no write to that before the restore has ended."""

    def __init__(self, *, table: str, begun: str, savepoint: str = "") -> None:
        self.table, self.begun, self.savepoint = table, begun, savepoint
        super().__init__(
            f"{table}: a restore that began at {begun} was cut off; run the same restore once more: "
            + (f"restore --to {savepoint} --yes" if savepoint else "doctor check says how")
        )


class ErasureUnfinishedError(TerminalError):
    """An erasure was cut off; until it is run again nothing may be ingested."""

    def __init__(self, *, role: str) -> None:
        self.role = role
        super().__init__(f"the erasure of one {role} was cut off; run the same erase with --yes again, or --give-up")


class CatalogConflictError(TerminalError):
    """A catalog has entries of the names of the lake's tables that are not the lake's."""

    def __init__(self, *, database: str, names: list[str]) -> None:
        self.database, self.names = database, names
        super().__init__(
            f"catalog database {database}: {', '.join(names)} are not this lake's and were left as they are; "
            f"rename or drop them, or give the lake another database (LAKEHOUSE_CATALOG_DATABASE)"
        )


class ConsumersBehindError(TerminalError):
    """Registered readers have not read what is about to go."""

    def __init__(self, *, readers: list[str]) -> None:
        self.readers = readers
        super().__init__(
            f"{', '.join(readers)}: would miss what they have not read; let them read on, or forget them "
            f"(consumers forget NAME)"
        )


class StalePlanError(TerminalError):
    """A plan is of another state of the lake or of its files."""

    def __init__(self, *, plan: str, reason: str) -> None:
        self.plan, self.reason = plan, reason
        super().__init__(f"{plan} is stale, nothing was changed: {reason}; make a new one with: plan")


class UnbalancedError(TerminalError):
    """A run cannot account for every row that it read."""

    def __init__(self, *, table: str, read: int, counted: str) -> None:
        self.table, self.read = table, read
        super().__init__(
            f"{table}: {read:,} rows were read, and {counted} do not add up to them; run the job again, and when "
            f"that does not help look at the lake with doctor check"
        )
