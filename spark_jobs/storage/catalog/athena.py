"""Statements run by Amazon Athena, one after another."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from spark_jobs.contracts.errors import SettingsError, TransientError
from spark_jobs.contracts.settings import Settings

log = logging.getLogger(__name__)


def run_statements(statements: Sequence[str], settings: Settings) -> None:
    """Run them in order; region, credentials and endpoint come from where every AWS client takes them.

    Raises:
        SettingsError: Athena refuses one, or there are no credentials or no place for results.
        TransientError: it does not answer.
    """
    from botocore.exceptions import BotoCoreError, NoCredentialsError, NoRegionError
    from pyathena import connect
    from pyathena.error import Error

    try:
        with (
            connect(work_group=settings.athena_workgroup, s3_staging_dir=settings.athena_results or None) as connection,
            connection.cursor() as cursor,
        ):
            for number, statement in enumerate(statements, 1):
                cursor.execute(statement)
                log.info("athena: statement %d of %d done, query %s", number, len(statements), cursor.query_id)
    except (NoCredentialsError, NoRegionError) as error:
        raise SettingsError(f"Athena cannot be asked ({error}); give the job a role and AWS_DEFAULT_REGION") from error
    except BotoCoreError as error:
        raise TransientError(f"Athena does not answer ({error}); run again") from error
    except (Error, AssertionError) as error:
        raise SettingsError(
            f"Athena refused a statement ({error}); look at the workgroup, LAKEHOUSE_ATHENA_RESULTS and the role's "
            f"rights"
        ) from error
