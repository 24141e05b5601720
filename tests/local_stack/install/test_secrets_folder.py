"""`make secrets`: made once, in a folder that is its owner's alone, never shown."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from local_stack.errors import SetupError
from local_stack.install.secrets_folder import CHOSEN, DERIVED, make_secrets, run


def texts(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in folder.iterdir()}


def test_every_secret_is_made_once(tmp_path: Path):
    folder = tmp_path / "secrets"
    assert set(make_secrets(folder)) == CHOSEN.keys() | DERIVED.keys() == texts(folder).keys()
    before = texts(folder)
    assert make_secrets(folder) == []
    assert texts(folder) == before
    assert len({before[name] for name in CHOSEN}) == len(CHOSEN)


def test_a_lost_one_is_rebuilt_and_what_follows_from_it_follows(tmp_path: Path):
    make_secrets(tmp_path)
    before = texts(tmp_path)
    (tmp_path / "mariadb_password").unlink()
    assert make_secrets(tmp_path) == ["mariadb_password", "airflow_connections.json"]
    after = texts(tmp_path)
    connection = json.loads(after["airflow_connections.json"])["lakehouse_serving"]
    assert connection["password"] == after["mariadb_password"] != before["mariadb_password"]


def test_the_folder_is_its_owners_and_the_files_can_be_read_in_a_container(tmp_path: Path):
    """A container's user is another one than the owner, and is given the file without the folder."""
    folder = tmp_path / "secrets"
    make_secrets(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o444}


def test_readers_of_the_lake_may_read_and_its_writers_may_not_remove_the_bucket(tmp_path: Path):
    make_secrets(tmp_path)
    made = texts(tmp_path)
    users = json.loads(made["s3_users.json"])["accessAccounts"]
    assert {user["role"] for user in users.values()} == {"user"}, "an admin passes every policy"
    assert made["s3_key_id"] not in users
    allowed = {
        statement["Principal"]["AWS"][0]: set(statement["Action"])
        for statement in json.loads(made["s3_bucket_policy.json"])["Statement"]
    }
    assert allowed.keys() == users.keys()
    reader, writer = allowed[made["s3_reader_key_id"]], allowed[made["s3_writer_key_id"]]
    assert not [action for action in reader if not action.startswith(("s3:Get", "s3:List"))]
    assert reader < writer
    assert not [action for action in writer if "Bucket" in action and not action.startswith(("s3:Get", "s3:List"))]
    assert made["s3_reader_key"] in made["s3_reader_credentials"]
    assert made["s3_writer_key"] in made["s3_credentials"]
    assert made["s3_key"] in made["s3_root_credentials"]


def test_two_runs_never_choose_the_same(tmp_path: Path):
    make_secrets(tmp_path / "a")
    make_secrets(tmp_path / "b")
    assert not set(texts(tmp_path / "a").values()) & set(texts(tmp_path / "b").values())


def test_nothing_secret_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["--folder", str(tmp_path)]) == 0
    printed = "".join(capsys.readouterr())
    assert "admin_password" in printed
    assert not [name for name, text in texts(tmp_path).items() if text.strip() in printed]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match=r"secrets cannot be written to .*file.*give another --folder"):
        make_secrets(tmp_path / "file")
