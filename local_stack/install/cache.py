"""The folder outside the tree in which big downloads are kept for every checkout."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from local_stack.errors import SetupError
from local_stack.install.folder_lock import one_at_a_time

CACHE_VARIABLE = "LAKEHOUSE_CACHE_PATH"


def cache_path(environ: Mapping[str, str] = os.environ) -> Path:
    """``LAKEHOUSE_CACHE_PATH``, or a folder of the user's cache."""
    base = environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(environ.get(CACHE_VARIABLE) or Path(base) / "sales-lakehouse").absolute()


@contextmanager
def filling_cache(environ: Mapping[str, str] = os.environ) -> Iterator[Path]:
    """The folder, for one process at a time; SetupError when it cannot be written."""
    cache = cache_path(environ)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(cache):
            yield cache
    except OSError as error:
        raise SetupError(f"{cache} cannot be filled ({error}); make room, or set {CACHE_VARIABLE}") from error
