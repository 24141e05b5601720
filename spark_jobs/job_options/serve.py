"""Options of the job ``serve``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from spark_jobs.contracts.options import JobOptions, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions(JobOptions):
    """Which marts are copied; both options may be given several times, or have several names with commas.

    Tables that the lake spec serves come with every layer, unless marts are named.
    """

    layer: Annotated[
        tuple[str, ...], Option("fast, stitch, slow; several with commas", metavar="LAYER", is_repeated=True)
    ]
    mart: Annotated[tuple[str, ...], Option("only this mart of the layer", metavar="MART", is_repeated=True)] = ()
