"""Where the library finds the files that come with it: lake specs, SQL, rules, profiles of engines.

In a checkout they are in the project's ``include/``, in an environment in the package's, where the wheel has them. In
the zip that is sent to a driver elsewhere they have the same names. Readers need files, so a process that runs from the
zip unpacks them once, into a folder of its own.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
import zlib
from functools import cache
from pathlib import Path

from spark_jobs.contracts.errors import SettingsError

FOLDER = "include"
_LIBRARY = Path(__file__).resolve().parents[1]
CHECKOUT: Path | None = _LIBRARY.parent if (_LIBRARY.parent / "local_stack").is_dir() else None
"""The project's folder, where the library runs from one; None where it is installed, and in the zip."""
SHIPPED = (CHECKOUT or _LIBRARY) / FOLDER
"""The folder of these files."""


@cache
def unpack_shipped(archive: Path) -> Path:
    """A folder that has what ``archive`` holds below ``include/``; it is removed when the process ends.

    Raises:
        SettingsError: the zip is damaged or has no such files, or there is no place for them.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            names = [name for name in packed.namelist() if name.startswith(f"{FOLDER}/")]
            if not names:
                raise SettingsError(f"{archive} holds no lake spec; build the zip again (docs/cluster.md)")
            folder = Path(tempfile.mkdtemp(prefix="lakehouse-include-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            packed.extractall(folder, names)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise SettingsError(f"{archive} is damaged ({error}); build the zip again (docs/cluster.md)") from error
    except OSError as error:
        raise SettingsError(
            f"the lake's files cannot be unpacked ({error}); set TMPDIR to a writable folder"
        ) from error
    return folder
