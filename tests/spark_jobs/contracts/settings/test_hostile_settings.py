"""Whatever is in the environment, settings are read, or refused on one line that repeats no secret."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_jobs.contracts.errors import ContractError, SettingsError, TerminalError
from spark_jobs.contracts.settings import PREFIX, Settings
from tests.support.hostile_names import HOSTILE, is_clear

VARIABLES = [PREFIX + setting.name.upper() for setting in fields(Settings)]
CANARY = "canary"
NAMES = (
    *("CATALOG", "CATALOG_DATABASE", "ATHENA_RESULTS", "LOCK_SERVERS", "S3_ENCRYPTION", "SPARK_REMOTE"),
    *("DRIVER_MEMORY", "MAX_EVENTS", "WRITE_THREADS"),
)
"""Settings that are a name, an address or a number. Others are paths, of which any that can be printed may be meant."""
LEGAL_WORKGROUPS = {"path up", "parent", "leading dot", "leading dash", "option", "comment", "upper case"}


@pytest.mark.parametrize("variable", [PREFIX + name for name in NAMES])
def test_a_name_that_is_none_is_refused(variable):
    for name in HOSTILE.values():
        with pytest.raises((SettingsError, ContractError)) as caught:
            Settings.from_environment({variable: name})
        assert is_clear(str(caught.value), most=250), name
        assert variable in str(caught.value)


@pytest.mark.parametrize("what", sorted(HOSTILE.keys() - LEGAL_WORKGROUPS))
def test_a_workgroup_has_the_letters_that_athena_takes(what):
    with pytest.raises(SettingsError, match="LAKEHOUSE_ATHENA_WORKGROUP") as caught:
        Settings(athena_workgroup=HOSTILE[what])
    assert is_clear(str(caught.value), most=250)


@pytest.mark.parametrize("character", list(" %#*?[]{}'\"`\\\n\t\0\u202e\u200b"))
def test_a_base_path_is_one_that_every_engine_can_read(character):
    with pytest.raises(SettingsError, match="LAKEHOUSE_BASE_PATH"):
        Settings(base_path=f"/data/a{character}b")


def test_a_path_with_steps_back_is_the_one_it_leads_to():
    assert Settings.from_environment({"LAKEHOUSE_BASE_PATH": "/data/x/../lake/."}).base_path == "/data/lake"


@pytest.mark.parametrize("digits", ["\u0661\u0662", "\u00b2", "9" * 5000, "+5", "1_000", " 7", "7\n"])
def test_digits_are_those_of_a_keyboard(digits):
    with pytest.raises(SettingsError, match="LAKEHOUSE_MAX_EVENTS"):
        Settings.from_environment({"LAKEHOUSE_MAX_EVENTS": digits})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SPARK_REMOTE", f"http://host:15002/;token={CANARY}"),
        ("SPARK_REMOTE", f"http://me:{CANARY}@host"),
        ("CATALOG", f"thrift://me:{CANARY}@host:9083"),
    ],
)
def test_an_address_that_is_refused_is_shown_without_its_secret(variable, value):
    with pytest.raises(SettingsError, match="host") as caught:
        Settings.from_environment({PREFIX + variable: value})
    assert CANARY not in str(caught.value)


def test_settings_do_not_show_their_secrets():
    shown = repr(Settings(spark_remote=f"sc://host:15002/;token={CANARY}", serving_url=f"mysql://me:{CANARY}@host/db"))
    assert CANARY not in shown


@given(st.sampled_from(VARIABLES), st.text() | st.sampled_from(list(HOSTILE.values())))
def test_no_value_makes_another_error_than_ours(variable, value):
    with suppress(TerminalError):
        Settings.from_environment({variable: value})
