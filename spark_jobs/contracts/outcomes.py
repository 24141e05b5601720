"""How a run of a job ended, in one line of JSON: for whoever cannot see its exit code and its output."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from spark_jobs.contracts.errors import ContractError


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """``exit_code`` of the command line, and its one line: the result as JSON after 0, else what went wrong."""

    exit_code: int
    line: str

    def __post_init__(self) -> None:
        if self.exit_code not in (0, 1, 2):
            raise ContractError(f"exit code {self.exit_code!r} of a job is none of 0, 1 and 2")
        if not isinstance(self.line, str) or not self.line.strip():
            raise ContractError(f"the outcome of a job says something, not {self.line!r}")

    def to_json(self) -> str:
        """One line of JSON with the fields of this class."""
        return json.dumps(asdict(self), separators=(",", ":"), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> JobOutcome:
        """Read what :meth:`to_json` wrote; ContractError when it is something else."""
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise ContractError(f"not the outcome of a job: {text[:200]!r} ({error})") from error
