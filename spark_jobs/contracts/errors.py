"""One error tree: terminal errors must not be retried, transient ones may be. Each message says what to do next."""

from __future__ import annotations


class LakehouseError(Exception):
    """Base of every error this project raises on purpose; the message is one sentence a person can act on."""

    exit_code = 2


class TransientError(LakehouseError):
    """Trying again later may help; the command line exits with 1."""

    exit_code = 1


class TerminalError(LakehouseError):
    """Trying again will not help until a person changes something; the command line exits with 2."""


class ContractError(TerminalError):
    """A spec, an argument or a value breaks its contract."""


class SettingsError(TerminalError):
    """The environment is wrong: a missing Java, a path that cannot be written, an unreachable server."""


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
            f"put the old type back, or move the table away and split the log again"
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
    """A table was being taken back when its driver died: Hudi lets nobody write it before that is done."""

    def __init__(self, *, table: str, instant: str) -> None:
        self.table, self.instant = table, instant
        super().__init__(
            f"{table}: a restore that began at {instant} was cut off; run the same restore once more (savepoint list "
            f"shows to what)"
        )


class ErasureUnfinishedError(TerminalError):
    """An erasure was cut off; until it is run again nothing may be taken in."""

    def __init__(self, *, role: str) -> None:
        self.role = role
        super().__init__(f"the erasure of one {role} was cut off; run the same erase command with --yes once more")


class CatalogConflictError(TerminalError):
    """A catalog has entries of the names of the lake's tables that are not the lake's."""

    def __init__(self, *, database: str, names: list[str]) -> None:
        self.database, self.names = database, names
        super().__init__(
            f"catalog database {database}: {', '.join(names)} are somebody else's and were left; rename or drop them, "
            f"or give the lake another database (LAKEHOUSE_CATALOG_DATABASE)"
        )


class ConsumersBehindError(TerminalError):
    """Registered readers have not read what is about to go."""

    def __init__(self, *, readers: list[str]) -> None:
        self.readers = readers
        super().__init__(
            f"{', '.join(readers)}: would miss what they have not read; let them read on, or forget them "
            f"(consumers forget NAME)"
        )
