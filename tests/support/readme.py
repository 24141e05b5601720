"""What README's chapters have people write into the shipped lake, taken from their text."""

from __future__ import annotations

import re
from pathlib import Path

from spark_jobs.contracts.settings import PROJECT_ROOT


def blocks(chapter: str) -> list[str]:
    """The indented blocks of a chapter's numbered steps, without their indent."""
    text = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^## {re.escape(chapter)}\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    parts = re.findall(r"(?:^ {7}.*\n|(?<=\n)\n(?= {7}))+", found, re.MULTILINE)
    return [re.sub(r"^ {7}", "", part, flags=re.MULTILINE).strip("\n") + "\n" for part in parts]


def ruled_lake(folder: Path) -> Path:
    """The shipped lake spec in ``folder`` with the rule that chapter "Add a rule" adds, in the file that it names."""
    text = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")
    (chapter,) = re.findall(r"^## Add a rule\n(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    (name,) = re.findall(r"for example into `(\w+\.yaml)`", chapter)
    (rule,) = blocks("Add a rule")
    include = PROJECT_ROOT / "include"
    (folder / "expectations").mkdir(parents=True)
    for file in (include / "expectations").iterdir():
        (folder / "expectations" / file.name).write_bytes(file.read_bytes())
    with (folder / "expectations" / name).open("a", encoding="utf-8") as stream:
        stream.write(rule)
    spec = folder / "sales.yaml"
    text = (include / "lakes" / "sales.yaml").read_text(encoding="utf-8")
    text = text.replace("../expectations", str(folder / "expectations")).replace("../", f"{include}/")
    spec.write_text(text, encoding="utf-8")
    return spec


def connected_lake(folder: Path) -> Path:
    """The shipped lake spec in ``folder`` with what the chapter adds: topics, a table, and a mart with its SQL."""
    topics, table, mart, sql = blocks("Connect your database")
    include = PROJECT_ROOT / "include"
    (folder / "marts").mkdir(parents=True)
    for file in (include / "marts").iterdir():
        (folder / "marts" / file.name).write_bytes(file.read_bytes())
    (folder / "marts" / "customer_orders.yaml").write_text(mart, encoding="utf-8")
    (folder / "marts" / "customer_orders.sql").write_text(sql, encoding="utf-8")
    text = (include / "lakes" / "sales.yaml").read_text(encoding="utf-8")
    text = re.sub(r"^  topics: .*\n", f"  {topics}", text, count=1, flags=re.MULTILINE)
    text = text.replace("\ntables:\n", f"\ntables:\n  {table}", 1)
    spec = folder / "sales.yaml"
    text = text.replace("../marts", str(folder / "marts")).replace("../", f"{include}/")
    spec.write_text(text, encoding="utf-8")
    return spec
