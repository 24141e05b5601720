"""Every command of README and docs is followed by a test or left out for a reason, and all of them can be typed.

What needs no lake is done here: each command line of a job is read by the job's own parser, each target, DAG and
program exists. tests/e2e/test_documents.py runs what can be run, in its order.
"""

from __future__ import annotations

import re
import shlex
from typing import Never

import pytest
import typer

from local_stack.__main__ import COMMANDS
from spark_jobs.command import app, tables
from spark_jobs.contracts.dag_ids import DAG_IDS, KINDS
from spark_jobs.contracts.settings import PROJECT_ROOT
from spark_jobs.entrypoint import parse_arguments
from tests.house.test_make import TARGETS
from tests.support.documents import PAGES, groups, inline, lakehouse_words, words_of
from tests.support.followed import CODES, FOLLOWED, LEFT_OUT, OWN_VALUES, why_left_out

COMMANDS_OF = {page: [(group, each) for group in groups(page) for each in group.commands] for page in PAGES}
EVERY = [each for commands in COMMANDS_OF.values() for each in commands]


def test_the_pages_have_commands() -> None:
    assert len(EVERY) > 100
    assert len({group.page for group, _ in EVERY}) > 20


def test_every_command_is_followed_or_left_out_for_a_reason() -> None:
    unknown = [
        f"{group.place} [{group.chapter}] {command}"
        for group, command in EVERY
        if group.chapter not in FOLLOWED.get(group.page, ()) and not why_left_out(group.page, group.chapter, command)
    ]
    assert unknown == [], "add the chapter to tests/support/followed.py"


def test_what_the_lists_name_is_in_the_pages() -> None:
    chapters = {(group.page, group.chapter) for group, _ in EVERY}
    assert {(page, chapter) for page, listed in FOLLOWED.items() for chapter in listed} <= chapters
    for (page, chapter), reasons in LEFT_OUT.items():
        commands = [command for group, command in EVERY if (group.page, group.chapter) == (page, chapter)]
        assert commands, (page, chapter)
        assert [start for start in reasons if not any(each.startswith(start) for each in commands)] == []
        assert chapter not in FOLLOWED.get(page, ()) or "" not in reasons
        assert all(len(reason) > 8 for reason in reasons.values())
    text = "\n".join(command for _, command in EVERY)
    assert [example for example in OWN_VALUES if example not in text] == []
    assert [command for command in CODES if command not in {each for _, each in EVERY}] == []
    for page, listed in FOLLOWED.items():
        for chapter in listed:
            run = [c for g, c in COMMANDS_OF[page] if g.chapter == chapter and not why_left_out(page, chapter, c)]
            assert run, f"{page}: {chapter} has no command that runs"


def test_a_test_that_a_reason_names_exists() -> None:
    reasons = "\n".join(why for of_chapter in LEFT_OUT.values() for why in of_chapter.values())
    named = set(re.findall(r"tests/[\w/.]+", reasons))
    assert named
    assert [path for path in named if not (PROJECT_ROOT / path).exists()] == []


@pytest.mark.parametrize("page", [page for page in PAGES if COMMANDS_OF[page]])
def test_a_group_for_a_shell_has_commands_alone(page: str) -> None:
    """What a command prints is in a group of its own, and has no placeholder that a reader has to fill in."""
    for group, command in COMMANDS_OF[page]:
        assert "…" not in command, group.place
        assert not re.search(r"\[-|<\w+>", command), f"{group.place}: options in brackets cannot be typed"
        assert shlex.split(command), group.place


@pytest.mark.parametrize("page", PAGES)
def test_every_command_line_of_a_job_is_one_that_the_job_takes(page: str) -> None:
    found = [command for _, command in COMMANDS_OF[page]] + [each for each in inline(page) if "<" not in each]
    for command in found:
        words = words_of(command)
        if not words or words == ["--help"]:
            continue
        parse_arguments(words)


def test_every_command_line_of_lakehouse_is_one_that_it_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Read as they are typed, by the command's own parser; what they would do is not done."""

    def end(*_: object, **__: object) -> Never:
        raise typer.Exit(0)

    for module, name in ((app, "carry_out"), (tables, "carry_out"), (tables, "_show")):
        monkeypatch.setattr(module, name, end)
    typed = [words for _, command in EVERY if (words := lakehouse_words(command))]
    assert len(typed) > 40
    assert [(words, capsys.readouterr().err) for words in typed if app.run(words)] == []
    assert app.run(["quarantine", "replay", "--recrod", "0123"]) == 2


def test_every_target_program_and_dag_exists() -> None:
    dags = {*KINDS, *DAG_IDS}
    seen: set[str] = set()
    for group, command in EVERY:
        if found := re.match(r"make ([\w-]+)", command):
            assert found[1] in TARGETS, group.place
            seen.add("make")
        if found := re.search(r"-m local_stack (\S+)", command):
            assert found[1] in COMMANDS, group.place
        if found := re.search(r"--dag-id (\S+)", command):
            assert found[1].removeprefix("shop_") in dags, group.place
            seen.add("dag")
    assert seen == {"make", "dag"}


def test_whoever_follows_the_pages_follows_these() -> None:
    text = (PROJECT_ROOT / "tests" / "e2e" / "test_documents.py").read_text(encoding="utf-8")
    assert 'parametrize("page", FOLLOWED)' in text
