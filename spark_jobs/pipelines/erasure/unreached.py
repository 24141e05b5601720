"""What an erasure does not reach, or only with rights that not every lake gives: named in its proof."""

from __future__ import annotations

from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.pipelines.erasure.search import Search
from spark_jobs.storage import change_feed, erasures, segment_index
from spark_jobs.storage.erasures import Finding
from spark_jobs.storage.s3 import is_s3
from spark_jobs.storage.s3_leases import open_client
from spark_jobs.storage.s3_versions import OldVersions, remove_old_versions
from spark_jobs.storage.undeclared_tables import find_other_folders

_WHAT = "old versions of objects"


def remove_versions(search: Search) -> tuple[list[Finding], list[str]]:
    """Delete what a bucket with versions keeps of the files that were replaced or removed; gives what was left."""
    settings = search.context.settings
    beside = (f"{change_feed.FOLDER}", f"{segment_index.FOLDER}")
    places = [settings.landing_path, *map(settings.table_path, (*search.touched, *beside))]
    done = _remove(places)
    findings = [Finding(place=each.path, what=_WHAT, found=each.found, left=max(each.left, 0)) for each in done]
    return [each for each in findings if each.found], _notes(done)


def forget_versions(settings: Settings) -> list[str]:
    """The same of the erasure's own notes, which name the person; gives what was left."""
    return _notes(_remove([settings.table_path(erasures.FOLDER)]))


def find_unreached(spec: LakeSpec, settings: Settings) -> list[str]:
    """What keeps what was delivered or copied, and is not the lake's."""
    notes = []
    if settings.kafka_servers:
        topics = ", ".join(spec.source.topics)
        notes.append(
            f"Kafka keeps the messages of {topics} until their retention ends: delete them there too (docs/erasure.md)"
        )
    if others := find_other_folders(spec, settings):
        notes.append(f"not searched, because they are no tables of the lake: {', '.join(others)}")
    return notes


def _remove(paths: list[str]) -> list[OldVersions]:
    there = [path for path in paths if is_s3(path)]
    return remove_old_versions(open_client(), there) if there else []


def _notes(done: list[OldVersions]) -> list[str]:
    return [
        f"{each.path}: {'unknown many' if each.left < 0 else each.left} {_WHAT} were not deleted ({each.reason}): "
        f"whoever may (s3:ListBucketVersions, s3:DeleteObjectVersion) has to, or the bucket's lifecycle rules do"
        for each in done
        if each.left
    ]
