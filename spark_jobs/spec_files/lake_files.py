"""The files of a lake: its spec, and the marts and expectations in the folders that the spec names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show
from spark_jobs.contracts.places import DocumentPlace, Entries
from spark_jobs.lake_spec.expectations import Expectation
from spark_jobs.lake_spec.marts import MartSpec
from spark_jobs.spec_files.documents import mapping, read_document
from spark_jobs.spec_files.expectation_file import expectation_files, find_expectations
from spark_jobs.spec_files.mart_file import mart_files, read_mart
from spark_jobs.spec_files.mistakes import Mistakes


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeFiles:
    """What the files say: the spec's document, and the marts and expectations that are right.

    The document has the documents of ``marts`` and ``expectations`` by mart and table, so that all have places.
    """

    document: Entries
    marts: tuple[MartSpec, ...] = ()
    expectations: tuple[Expectation, ...] = ()


def read_lake_files(path: Path, found: Mistakes) -> LakeFiles | None:
    """What the files say; what is wrong with them is added to ``found``. None when the spec is no mapping."""
    document: Entries | None = None
    with found.of_file():
        read = read_document(path, what="lake spec", then="correct it or set LAKEHOUSE_LAKE_SPEC", found=found)
        with found.of(Entries(place=DocumentPlace(file=str(path)))):
            document = mapping(read, "the file")
    if document is None:
        return None
    marts, of_marts = _marts(document, path, found)
    expectations, of_tables = _expectations(document, path, found)
    document = document.having({"marts": of_marts, "expectations": of_tables})
    return LakeFiles(document=document, marts=marts, expectations=expectations)


def _marts(document: Entries, path: Path, found: Mistakes) -> tuple[tuple[MartSpec, ...], Entries]:
    marts, says = list[MartSpec](), Entries()
    with found.of_file(document, "marts", lost="tables"):
        for file in mart_files(folder) if (folder := _folder(document, "marts", path)) else ():
            mart, entry = read_mart(file, found)
            says = says.holding(file.stem, entry)
            if mart is None:
                found.leave_out("tables", file.stem)
            else:
                marts.append(mart)
    return tuple(marts), says


def _expectations(document: Entries, path: Path, found: Mistakes) -> tuple[tuple[Expectation, ...], Entries]:
    expectations, says = list[Expectation](), Entries()
    with found.of_file(document, "expectations"):
        for file in expectation_files(folder) if (folder := _folder(document, "expectations", path)) else ():
            right, entry = find_expectations(file, found)
            says = says.holding(file.stem, entry)
            expectations += right
    return tuple(expectations), says


def _folder(document: Entries, name: str, path: Path) -> Path | None:
    """The folder that an entry names, beside the spec file; None when there is no such entry."""
    folder = document.get(name)
    if folder is not None and not isinstance(folder, str):
        raise ContractError(f"{name} is {show(folder)}; give the folder of their files, beside this one", at=(name,))
    return path.parent / folder if folder else None
