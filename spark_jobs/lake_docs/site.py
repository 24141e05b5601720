"""The docs of a lake as files: an index, a page for each table, two pictures, a stylesheet; nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from spark_jobs.contracts.arguments import format_clock
from spark_jobs.contracts.errors import ContractError
from spark_jobs.contracts.names import show_path
from spark_jobs.lake_docs.diagrams import entity_diagram, lineage_diagram
from spark_jobs.lake_docs.facts import ColumnDoc, LakeDoc, TableDoc
from spark_jobs.lake_docs.markup import Markup, element, facts_list, joined, table_of
from spark_jobs.lake_docs.relations import relations_of
from spark_jobs.lake_docs.style import NAME, SEARCH, STYLE
from spark_jobs.overview.models import TableKind
from spark_jobs.sql_analysis.lineage import ColumnInput

_MARK = ".lakehouse-docs"
"""In a folder that was written by this module: only such a one is written again."""
_ORDER = (
    (TableKind.MART, "Marts"),
    (TableKind.TABLE, "Tables"),
    (TableKind.LOAD, "Tables of whole files"),
    (TableKind.LOG, "Log"),
    (TableKind.QUARANTINE, "Quarantine"),
    (TableKind.HISTORY, "Histories"),
    (TableKind.DELETED, "Deleted rows"),
    (TableKind.CACHE, "Caches of marts"),
    (TableKind.RESULTS, "Results of quality"),
)


def pages_of(doc: LakeDoc) -> Mapping[str, str]:
    """The site's files by their names."""
    pages = {"index.html": _index(doc), "entities.html": _entities(doc), "lineage.html": _lineage(doc)}
    return {
        **pages,
        **{f"{table.name}.html": _of_table(doc, table) for table in doc.tables},
        NAME: STYLE,
    }


def write_site(pages: Mapping[str, str], folder: Path) -> None:
    """Write the files; those of an earlier site that are no more are removed.

    Raises:
        ContractError: the folder has files that are not of such a site, or cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = [path for path in folder.iterdir() if path.name != _MARK]
        mark = folder / _MARK
        known = {*mark.read_text(encoding="utf-8").split()} if mark.exists() else set()
        if strange := sorted(path.name for path in there if path.name not in known):
            raise ContractError(
                f"{show_path(folder)} has files that are no docs of a lake, such as {strange[0]}; give an empty folder "
                f"with --to"
            )
        mark.write_text("\n".join(sorted({*known, *pages})), encoding="utf-8")
        for name, text in pages.items():
            (folder / name).write_text(text, encoding="utf-8")
        for path in there:
            if path.name not in pages:
                path.unlink()
        mark.write_text("\n".join(sorted(pages)), encoding="utf-8")
    except OSError as error:
        raise ContractError(
            f"{show_path(folder)} cannot be written ({error.strerror}); give another folder with --to"
        ) from error


def _page(doc: LakeDoc, title: str, *content: object) -> str:
    links = (("index.html", "tables"), ("entities.html", "entities"), ("lineage.html", "lineage"))
    head = element(
        "head",
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", f"{title} · lake {doc.spec.lake}"),
        Markup(f'<link rel="stylesheet" href="{NAME}">'),
    )
    bar = element(
        "header",
        element("strong", f"lake {doc.spec.lake}"),
        element("nav", *(element("a", words, href=href) for href, words in links)),
    )
    foot = element("footer", f"as of {format_clock(doc.now)}")
    body = element("body", bar, element("main", element("h1", title), *content), foot)
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _index(doc: LakeDoc) -> str:
    about = doc.spec
    facts = facts_list((("owner", about.owner), ("tags", ", ".join(about.tags)), ("time zone", about.time_zone)))
    search = joined((
        element("label", "find a table or a column ", Markup('<input id="find" type="search">')),
        element("script", Markup(SEARCH)),
    ))  # fmt: skip
    return _page(doc, "Tables", *_paragraphs(about.description), facts, search, *_sections(doc))


def _sections(doc: LakeDoc) -> Iterator[Markup]:
    for kind, title in _ORDER:
        rows = [
            (
                _link(table.name),
                table.about.description or _words_of(table),
                table.about.owner,
                ", ".join(table.about.tags),
                element("span", ", ".join(column.name for column in table.columns), class_="soft"),
            )
            for table in doc.tables
            if table.kind is kind
        ]
        if rows:
            yield element("h2", title)
            yield table_of(("table", "what", "owner", "tags", "columns"), rows)


def _words_of(table: TableDoc) -> Markup:
    """In place of a description."""
    return element("span", f"{table.kind.value}, made of {', '.join(table.reads) or 'nothing yet'}", class_="soft")


def _entities(doc: LakeDoc) -> str:
    relations = relations_of(doc.spec)
    rows = [(_link(each.table), each.column, _link(each.target), each.says) for each in relations]
    listed = table_of(("table", "column", "names a row of", "by"), rows) or element("p", "The spec says of none.")
    return _page(doc, "Entities", entity_diagram(doc, relations), element("h2", "Relations"), listed)


def _lineage(doc: LakeDoc) -> str:
    return _page(doc, "Lineage", lineage_diagram(doc))


def _of_table(doc: LakeDoc, table: TableDoc) -> str:
    own = [column for column in table.columns if not column.is_technical]
    technical = [column for column in table.columns if column.is_technical]
    problem = [element("p", table.seen.problem, class_="problem")] if table.seen.problem else []
    facts = (("owner", table.about.owner), ("tags", ", ".join(table.about.tags)), *table.how.items())
    content: list[object] = [*problem, *_paragraphs(table.about.description), facts_list(facts)]
    listed = table_of(_HEAD, (_cells(doc, column) for column in own))
    content += [element("h2", "Columns"), listed or element("p", "None yet.")]
    if technical:
        summary = element("summary", f"technical columns: {len(technical)}")
        content.append(element("details", summary, table_of(_HEAD, (_cells(doc, column) for column in technical))))
    if table.expectations:
        rows = [(each.name, each.expected, each.action) for each in table.expectations]
        content += [element("h2", "Expectations"), table_of(("name", "expected of its rows", "when not"), rows)]
    read = [(what, _links(doc, names)) for what, names in (("made of", table.reads), ("read by", table.readers))]
    content += [element("h2", "Lineage"), facts_list(read), lineage_diagram(doc, table.name)]
    if table.sql:
        content += [element("h2", "SQL"), element("pre", table.sql, tabindex="0")]
    return _page(doc, table.name, *content)


_HEAD = ("column", "type", "what", "made of", "")


def _cells(doc: LakeDoc, column: ColumnDoc) -> tuple[object, ...]:
    marks = [word for word, is_so in (("key", column.is_key), ("names a person", column.is_personal)) if is_so]
    inputs: list[str] = [_input(doc, each) for each in column.made_of]
    inputs += [f"{column.source} at the source"] * bool(column.source and not column.made_of)
    return (column.name, column.type, column.comment, joined(inputs, ", "), ", ".join(marks))


def _input(doc: LakeDoc, each: ColumnInput) -> Markup:
    if each.is_source or each.table not in doc.names:
        return joined((f"{each.table}.{each.column} at the source",))
    return joined((_link(each.table), f".{each.column}"))


def _links(doc: LakeDoc, names: Sequence[str]) -> Markup:
    return joined((_link(name) if name in doc.names else name for name in names), ", ")


def _link(table: str) -> Markup:
    return element("a", table, href=f"{table}.html")


def _paragraphs(text: str) -> list[Markup]:
    return [element("p", part) for part in text.split("\n\n") if part.strip()]
