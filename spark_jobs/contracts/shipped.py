"""The lake's files inside the zip that is sent to a driver elsewhere: the specs and SQL that a job reads when it runs.

They have the same paths in the zip as in the project folder, so the defaults of the settings are true in both. Readers
need files, so a process that runs from the zip unpacks them once, into a folder of its own.
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
