"""Options of the job ``metrics``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.options import JobOptions, Option

DEFAULT_ADDRESS = "127.0.0.1:9464"
_MOST_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsOptions(JobOptions):
    """Whether it answers Prometheus or looks once, and where."""

    takes_any_clock: ClassVar[bool] = True
    reads_landing: ClassVar[bool] = True

    listen: Annotated[
        str, Option("answer Prometheus at this address until stopped; it asks for no login", metavar="HOST:PORT")
    ] = DEFAULT_ADDRESS
    once: Annotated[bool, Option("look once, and print what Prometheus would read")] = False
    output: Annotated[
        str, Option("with --once: write it to this file, as node_exporter takes it, in one step", metavar="FILE")
    ] = ""

    def __post_init__(self) -> None:
        JobOptions.__post_init__(self)
        host, port = self.address
        if not host or not 0 <= port <= _MOST_PORT:
            raise ContractError(f"--listen {show(self.listen)} must look like {DEFAULT_ADDRESS}")
        if self.once and self.listen != DEFAULT_ADDRESS:
            raise ContractError("--once answers no one, so --listen means nothing beside it; leave one of them out")
        if self.output and not self.once:
            raise ContractError("--output is for a single look; give --once too")

    @property
    def address(self) -> tuple[str, int]:
        """Host and port; -1 for what is no port."""
        host, _, port = self.listen.rpartition(":")
        return host.removeprefix("[").removesuffix("]"), int(port) if port.isdecimal() and port.isascii() else -1
