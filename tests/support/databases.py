"""Real PostgreSQL and MariaDB servers in temporary folders: reached by a socket in the folder, ended by their pid.

Debian's packages `postgresql` and `mariadb-server` have the programs. A server that is missing fails the tests: none
is left out.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.support.processes import end_with_the_tests, wait_until

USER = "writer"
PASSWORD = "correct horse/battery@staple"
"""Has what a URL must escape."""
_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/sbin", "/usr/local/sbin")


class Server(ABC):
    """A database server with one user, who may do everything, and databases made on demand."""

    name: str
    package: str
    account: str
    """Who runs it when the tests are root: servers refuse to be root."""
    orderly: signal.Signals
    abrupt: signal.Signals
    first_database: str
    """The one that is there from the beginning."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"{self.name}-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)

    @cached_property
    def user(self) -> str | None:
        """The account to change to, or None to stay who we are."""
        if os.geteuid() != 0:
            return None
        known = {entry.pw_name for entry in pwd.getpwall()}
        return self.account if self.account in known else "nobody"

    def program(self, name: str) -> str:
        """The path of one of its programs; the test fails, in one line, when it is not installed."""
        folders = [os.environ.get("PATH", ""), *map(str, sorted(_expand(_FOLDERS), reverse=True))]
        found = shutil.which(name, path=os.pathsep.join(folders))
        if found is None:
            pytest.fail(f"no {name} on this machine; install it: apt-get install {self.package}", pytrace=False)
        return found

    def run(self, *command: str) -> None:
        """Run a program of the server to its end, as the server's account."""
        done = subprocess.run(command, cwd=self.folder, user=self.user, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self) -> None:
        """Start it and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                cwd=self.folder,
                user=self.user,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=end_with_the_tests,
            )
        wait_until(self._is_answering, f"{self.name} answers")

    def stop(self) -> None:
        """Shut it down in order, whoever is connected."""
        self._end(self.orderly)

    def crash(self) -> None:
        """End it at once: it has to recover when it starts again."""
        self._end(self.abrupt)

    def _end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait()
            self._process = None

    def new_database(self) -> str:
        """Make an empty database and give its name."""
        name = f"serving_{next(self._numbers)}"
        self.admin(f"CREATE DATABASE {name}")
        return name

    def admin(self, statement: str) -> list[tuple[object, ...]]:
        """Run a statement as the user outside every test's session; gives its rows."""
        engine = sa.create_engine(self.url(self.first_database), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            result = connection.exec_driver_sql(statement)
            return [tuple(row) for row in result] if result.returns_rows else []

    @abstractmethod
    def make(self) -> None:
        """Lay the data folder out."""

    @abstractmethod
    def command(self) -> Sequence[str]:
        """The server's own command line."""

    @abstractmethod
    def url(self, database: str, *, password: str = PASSWORD, address: str = "") -> str:
        """The URL of a database, by the socket or by ``host:port``."""

    @abstractmethod
    def kill_sessions(self, database: str) -> int:
        """End the sessions on a database from outside; gives how many there were."""

    def _is_answering(self) -> bool:
        process = self._process
        assert process is not None
        assert process.poll() is None, (self.folder / "log").read_text(errors="replace")[-2000:]
        try:
            self.admin("SELECT 1")
        except sa.exc.OperationalError:
            return False
        return True


class PostgreSQL(Server):
    """PostgreSQL as its package brings it, with passwords asked for."""

    name, package, account, first_database = "postgresql", "postgresql", "postgres", "postgres"
    orderly, abrupt = signal.SIGINT, signal.SIGQUIT

    def make(self) -> None:
        (self.folder / "password").write_text(PASSWORD)
        options = [
            "-D",
            "data",
            "-U",
            USER,
            "--pwfile=password",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--no-locale",
        ]
        self.run(self.program("initdb"), *options)

    def command(self) -> Sequence[str]:
        options = {"listen_addresses": "", "unix_socket_directories": str(self.folder), "fsync": "off"}
        return [
            self.program("postgres"),
            *("-D", "data"),
            *(part for name, value in options.items() for part in ("-c", f"{name}={value}")),
        ]

    def url(self, database: str, *, password: str = PASSWORD, address: str = "") -> str:
        url = sa.URL.create("postgresql+psycopg2", username=USER, password=password, database=database)
        url = _at(url, address) if address else url.set(query={"host": str(self.folder)})
        return url.render_as_string(hide_password=False)

    def kill_sessions(self, database: str) -> int:
        sessions = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
        return len(self.admin(sessions))


class MariaDB(Server):
    """MariaDB as its package brings it."""

    name, package, account, first_database = "mariadb", "mariadb-server", "mysql", "mysql"
    orderly, abrupt = signal.SIGTERM, signal.SIGKILL

    def make(self) -> None:
        self.run(
            self.program("mariadb-install-db"),
            "--no-defaults",
            f"--datadir={self.folder}/data",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
        )
        users = [
            f"CREATE USER IF NOT EXISTS {USER}@localhost IDENTIFIED BY '{PASSWORD}';",
            f"GRANT ALL ON *.* TO {USER}@localhost WITH GRANT OPTION;",
        ]
        (self.folder / "users.sql").write_text("\n".join(users))

    def command(self) -> Sequence[str]:
        folder = self.folder
        options = {
            "datadir": folder / "data",
            "socket": folder / "socket",
            "pid-file": folder / "pid",
            "init-file": folder / "users.sql",
        }
        account = [f"--user={self.user}"] if self.user else []
        return [
            self.program("mariadbd"),
            "--no-defaults",
            "--skip-networking",
            *(f"--{name}={value}" for name, value in options.items()),
            *account,
        ]

    def url(self, database: str, *, password: str = PASSWORD, address: str = "") -> str:
        url = sa.URL.create("mysql+pymysql", username=USER, password=password, database=database)
        url = (
            _at(url, address) if address else url.set(host="localhost", query={"unix_socket": f"{self.folder}/socket"})
        )
        return url.render_as_string(hide_password=False)

    def kill_sessions(self, database: str) -> int:
        sessions = self.admin(f"SELECT id FROM information_schema.processlist WHERE db = '{database}'")
        for (number,) in sessions:
            self.admin(f"KILL {number}")
        return len(sessions)


def _at(url: sa.URL, address: str) -> sa.URL:
    host, _, port = address.partition(":")
    return url.set(host=host, port=int(port))


def _expand(patterns: Sequence[str]) -> list[Path]:
    return [found for pattern in patterns for found in Path("/").glob(pattern[1:])]


@contextmanager
def running(server: Server) -> Iterator[Server]:
    """The server, made and started; stopped and removed at the end."""
    try:
        if server.user:
            os.chown(server.folder, pwd.getpwnam(server.user).pw_uid, -1)
        server.make()
        server.start()
        yield server
    finally:
        server.crash()
        shutil.rmtree(server.folder)
