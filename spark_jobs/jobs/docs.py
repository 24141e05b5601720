"""docs: the lake's tables, columns, owners, expectations and lineage as a static site."""

from __future__ import annotations

from pathlib import Path

from spark_jobs.context import Job, JobContext, never
from spark_jobs.contracts.names import show_path
from spark_jobs.contracts.results import DONE, JobResult
from spark_jobs.job_options.docs import DocsOptions
from spark_jobs.lake_docs.facts import facts_of
from spark_jobs.lake_docs.site import pages_of, write_site
from spark_jobs.overview.models import TableKind


def run(context: JobContext[DocsOptions]) -> JobResult:
    """Write the site; reads the spec and the timelines, and no row of any table.

    Raises:
        ContractError: the folder has other files, or cannot be written.
    """
    folder = Path(context.options.to)
    doc = facts_of(context.spec, context.settings, context.clock)
    pages = pages_of(doc)
    write_site(pages, folder)
    print(f"docs of lake {context.spec.lake}: {len(doc.tables)} tables; open {show_path(folder / 'index.html')}")
    undescribed = [table.name for table in doc.tables if table.kind in _DECLARED and not table.about.description]
    messages = (f"without a description: {', '.join(undescribed)}",) if undescribed else ()
    return context.result(DONE, counters={"tables": len(doc.tables), "pages": len(pages)}, messages=messages)


_DECLARED = (TableKind.TABLE, TableKind.MART, TableKind.LOAD)

JOB = Job(options=DocsOptions, run=run, needs_spark=never)
