"""A text is parsed once for all users of its tree, so whoever works with the tree leaves it as it was."""

from __future__ import annotations

from pathlib import Path

from spark_jobs.contracts.settings import Settings
from spark_jobs.spec_files.lake_check import check_lake
from spark_jobs.spec_files.rules_file import load_rules
from spark_jobs.spec_files.spec_file import load_lake_spec
from spark_jobs.sql_analysis.mart_sql import analyse_mart
from spark_jobs.sql_analysis.mart_sql_text import parse_sql, sql_tokens
from spark_jobs.sql_analysis.portable_sql import names_read, parse_portable

SETTINGS = Settings()
SPEC = load_lake_spec(SETTINGS.lake_spec)


def test_the_tree_of_each_mart_is_as_it_was_parsed_after_all_that_is_done_with_it():
    before = {mart.name: parse_sql(mart.sql) for mart in SPEC.marts}
    analyse_mart.cache_clear()
    assert check_lake(Path(SETTINGS.lake_spec), SETTINGS.rules_path).mistakes == ()
    book = load_rules(SETTINGS.rules_path)
    for mart in SPEC.marts:
        query = analyse_mart(mart, SPEC, book)
        tables = {read.table: f"of_{read.table}" for read in mart.reads}
        assert query.sql(tables, time_zone="UTC", months={"2026-01": book.versions[0].version})
        if query.groups:
            assert query.partial_sql(tables, time_zone="UTC")
        assert all(query.used_columns(table, ["sale_id"]) is not None for table in tables)
        assert parse_sql(mart.sql) is before[mart.name]
        assert repr(before[mart.name]) == repr(parse_sql.__wrapped__(mart.sql))


def test_a_portable_query_and_words_are_kept_too():
    text = "WITH a AS (SELECT sale_id FROM sales) SELECT sale_id AS x FROM a"
    query = parse_portable(text, what="a view")
    assert names_read(query) == {"sales"}
    assert parse_portable(text, what="a view") is query
    assert repr(query) == repr(parse_sql.__wrapped__(text))
    assert [token.text for token in sql_tokens(text)][:3] == ["WITH", "a", "AS"]
    assert isinstance(sql_tokens(text), tuple)
