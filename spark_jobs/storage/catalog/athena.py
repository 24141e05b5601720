"""Runs statements in Amazon Athena, one after another, and queries."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from spark_jobs.contracts.errors import SettingsError, TransientError
from spark_jobs.contracts.settings import Settings

DEFAULT_WORKGROUP = "primary"
"""The one that every account has."""

log = logging.getLogger(__name__)


def run_statements(statements: Sequence[str], settings: Settings) -> None:
    """Run them in order; region, credentials and endpoint come from where every AWS client takes them.

    Raises:
        SettingsError: Athena refuses one, or there are no credentials or no place for results.
        TransientError: it does not answer.
    """
    with _cursor(settings) as cursor:
        for number, statement in enumerate(statements, 1):
            cursor.execute(statement)
            log.info("athena: statement %d of %d done, query %s", number, len(statements), cursor.query_id)


def query(sql: str, *, schema: str, settings: Settings) -> list[Mapping[str, Any]]:
    """The rows of a SELECT by their columns; names without a database are looked up in ``schema``.

    Raises:
        as :func:`run_statements`.
    """
    with _cursor(settings, schema_name=schema) as cursor:
        cursor.execute(sql)
        log.info("athena: query %s done", cursor.query_id)
        names = [column[0] for column in cursor.description or []]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@contextmanager
def _cursor(settings: Settings, **options: Any) -> Iterator[Any]:
    from botocore.exceptions import BotoCoreError, NoCredentialsError, NoRegionError
    from pyathena import connect
    from pyathena.error import Error

    workgroup = settings.athena_workgroup or DEFAULT_WORKGROUP
    try:
        with (
            connect(work_group=workgroup, s3_staging_dir=settings.athena_results or None, **options) as connection,
            connection.cursor() as cursor,
        ):
            yield cursor
    except (NoCredentialsError, NoRegionError) as error:
        raise SettingsError(f"Athena cannot be called ({error}); give the job a role and AWS_DEFAULT_REGION") from error
    except BotoCoreError as error:
        raise TransientError(f"Athena does not answer ({error}); run again") from error
    except (Error, AssertionError) as error:
        raise SettingsError(
            f"Athena refused a statement ({error}); look at the workgroup, LAKEHOUSE_ATHENA_RESULTS and the role's "
            f"rights"
        ) from error
