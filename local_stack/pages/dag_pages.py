"""docs/dags.md from the DAG files' own docstrings, which Airflow shows as their pages; nothing is imported for it."""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path

from local_stack.console import say
from local_stack.errors import SetupError
from local_stack.layout import PROJECT_ROOT
from spark_jobs.contracts.dag_ids import DAG_IDS

DAGS = PROJECT_ROOT / "dags"
PAGE = PROJECT_ROOT / "docs" / "dags.md"
HEAD = """# DAGs

<!-- Made by `python -m local_stack.pages.dag_pages` from the docstrings in dags/; change those. -->

    landing zone ─ ingest_sales ─(sales_log)─> split_sales ─(tables, how far the log is split)─┬─> fast_layer
                                                                                               └─> stitch_layer
    once a day, in a new lake at once: slow_layer     by a person or a backfill: recompute
    by a person: snapshot ─(sales_log)                after a changed definition: apply_changes, undo_changes

These are the ids of the lake `sales`, and of a lake that is alone. Among several lakes those of another one begin with
its name: `shop_ingest`, `shop_split`, `shop_fast_layer` ([lakes.md](lakes.md)).
"""


def run(argv: list[str]) -> int:
    """Write the page."""
    prog = "python -m local_stack.pages.dag_pages"
    argparse.ArgumentParser(allow_abbrev=False, prog=prog, description=__doc__).parse_args(argv)
    PAGE.write_text(build_page(DAGS), encoding="utf-8")
    say(f"dag-pages: wrote {PAGE.relative_to(PROJECT_ROOT)}")
    return 0


def build_page(folder: Path) -> str:
    """The page: a section for each DAG file, in the order in which data flows, others after them by name."""
    order = DAG_IDS
    files = sorted(
        folder.glob("*.py"), key=lambda file: (order.index(file.stem) if file.stem in order else 99, file.stem)
    )
    return "\n".join([HEAD, *(_section(file) for file in files)])


def _section(file: Path) -> str:
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    if not text:
        raise SetupError(f"{file} has no docstring; write what the DAG does, it is its page in Airflow")
    title, _, rest = text.partition("\n")
    return f"## {file.stem}\n\n**{title.removeprefix('### ')}**\n{rest}\n"


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
