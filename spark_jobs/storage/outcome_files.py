"""The outcome of a job as a file, for a driver that runs where its output is not seen (ADR 15).

``python -m spark_jobs.storage.outcome_files URI`` prints what is there, and removes it: nothing when there is no file.
"""

from __future__ import annotations

import logging
import sys

from spark_jobs.contracts.errors import ContractError, LakehouseError, SettingsError, TransientError
from spark_jobs.contracts.outcomes import JobOutcome
from spark_jobs.storage.filesystem import Filesystem

log = logging.getLogger(__name__)


def write_outcome(uri: str, outcome: JobOutcome) -> None:
    """Write it whole or not at all.

    Raises:
        SettingsError: the place cannot be written; the message says what it takes.
        TransientError: the storage failed.
    """
    files, name = _place(uri)
    try:
        files.write(name, outcome.to_json().encode())
    except LakehouseError:
        raise
    except OSError as error:
        raise TransientError(f"the result could not be written to {uri} ({error}); run the job again") from error


def take_outcome(uri: str) -> JobOutcome | None:
    """What :func:`write_outcome` wrote, which is removed then; None when there is nothing.

    Raises:
        ContractError: something else is there; it is left.
        SettingsError: the place cannot be read.
        TransientError: the storage failed.
    """
    files, name = _place(uri)
    try:
        content = files.read(name)
        if content is None:
            return None
        outcome = JobOutcome.from_json(content.decode())
        _remove(files, name, uri)
    except UnicodeDecodeError as error:
        raise ContractError(f"{uri} is not the outcome of a job ({error}); look at it") from error
    except PermissionError as error:
        raise SettingsError(f"{uri} cannot be read and removed ({error}); give the one who submits both") from error
    except OSError as error:
        raise TransientError(f"the result at {uri} could not be read ({error}); run the job again") from error
    return outcome


def _remove(files: Filesystem, name: str, uri: str) -> None:
    """Remove what was read. When the storage fails at that, how the job ended is known all the same.

    It is not read again: the file of another attempt has another name.
    """
    try:
        files.delete(name)
    except PermissionError:
        raise
    except OSError as error:
        log.warning("%s was read and could not be removed (%s); remove it by hand", uri, error)


def _place(uri: str) -> tuple[Filesystem, str]:
    folder, _, name = uri.rpartition("/")
    if not folder or not name:
        raise SettingsError(f"result path {uri!r} names no file in a folder; give for example s3a://bucket/folder/name")
    return Filesystem(folder), name


def main(uri: str) -> int:
    """Take the outcome and print it as it was written; exit codes as those of a job."""
    try:
        outcome = take_outcome(uri)
    except LakehouseError as error:
        print(f"{'try again' if error.exit_code == 1 else 'error'}: {error}", file=sys.stderr)
        return error.exit_code
    if outcome:
        print(outcome.to_json(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
