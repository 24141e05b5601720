"""Real PostgreSQL and MariaDB servers in temporary folders, ended by their process id, or with who started them.

They are reached by a socket in the folder, and on the loopback interface where they were given a port; then they also
keep the log of changes that connectors read. Debian's packages `postgresql` and `mariadb-server` have the programs.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path

import sqlalchemy as sa

from local_stack.errors import SetupError
from local_stack.servers.services import LOOPBACK

USER = "writer"
PASSWORD = "correct horse/battery@staple"
"""Has what a URL must escape."""
START_SECONDS = 120.0
_PR_SET_PDEATHSIG = 1
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

    def __init__(self, *, port: int = 0) -> None:
        self.port = port
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

    @property
    def _environment(self) -> dict[str, str]:
        """Temporary files in its own folder: a MariaDB that starts removes those of all others from a shared one."""
        return {**os.environ, "TMPDIR": str(self.folder)}

    def program(self, name: str) -> str:
        """The path of one of its programs; SetupError when it is not installed."""
        folders = [os.environ.get("PATH", ""), *map(str, sorted(_expand(_FOLDERS), reverse=True))]
        found = shutil.which(name, path=os.pathsep.join(folders))
        if found is None:
            raise SetupError(f"no {name} on this machine; install it: apt-get install {self.package}")
        return found

    def run(self, *command: str, environ: Mapping[str, str] | None = None) -> None:
        """Run a program of the server to its end, as the server's account; ``environ`` are further variables."""
        variables = {**self._environment, **(environ or {})}
        done = subprocess.run(command, cwd=self.folder, env=variables, user=self.user, capture_output=True, text=True)
        if done.returncode:
            raise SetupError(f"{self.name}: {Path(command[0]).name} failed: {(done.stderr or done.stdout).strip()}")

    def start(self) -> None:
        """Start it and wait until it answers; SetupError when it ends or hangs."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                cwd=self.folder,
                env=self._environment,
                user=self.user,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=_end_with_the_parent,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._is_answering():
            if time.monotonic() > deadline:
                raise SetupError(f"{self.name} did not answer in {START_SECONDS:.0f} s; look at {self.folder}/log")
            time.sleep(0.1)

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

    def admin(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        """Run a statement, with values for its ``%s``, as the user in a session of its own; gives its rows."""
        engine = sa.create_engine(self.url(self.first_database), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            result = connection.exec_driver_sql(statement, values or None)
            return [tuple(row) for row in result] if result.returns_rows else []

    @abstractmethod
    def make(self) -> None:
        """Create the data folder."""

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
        if self._process is None or self._process.poll() is not None:
            tail = (self.folder / "log").read_text(errors="replace")[-2000:]
            raise SetupError(f"{self.name} ended while starting: {tail}")
        try:
            self.admin("SELECT 1")
        except sa.exc.OperationalError:
            return False
        return True


class PostgreSQL(Server):
    """PostgreSQL as its package brings it, with passwords required."""

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
        if self.port:
            options |= {"listen_addresses": LOOPBACK, "port": str(self.port), "wal_level": "logical"}
        return [
            self.program("postgres"),
            *("-D", "data"),
            *(part for name, value in options.items() for part in ("-c", f"{name}={value}")),
        ]

    def url(self, database: str, *, password: str = PASSWORD, address: str = "") -> str:
        url = sa.URL.create("postgresql+psycopg2", username=USER, password=password, database=database)
        socket = {"host": str(self.folder), **({"port": str(self.port)} if self.port else {})}
        url = _at(url, address) if address else url.set(query=socket)
        return url.render_as_string(hide_password=False)

    def kill_sessions(self, database: str) -> int:
        sessions = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        return len(self.admin(sessions, database))


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
            statement
            for host in ("localhost", f"'{LOOPBACK}'")
            for statement in (
                f"CREATE USER IF NOT EXISTS {USER}@{host} IDENTIFIED BY '{PASSWORD}';",
                f"GRANT ALL ON *.* TO {USER}@{host} WITH GRANT OPTION;",
            )
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
        network = ["--skip-networking"]
        if self.port:
            network = [f"--bind-address={LOOPBACK}", f"--port={self.port}", "--server-id=1"]
            network += ["--log-bin=binlog", "--binlog-format=ROW", "--binlog-row-image=FULL"]
        account = [f"--user={self.user}"] if self.user else []
        return [
            self.program("mariadbd"),
            "--no-defaults",
            *network,
            *(f"--{name}={value}" for name, value in options.items()),
            *account,
        ]

    def url(self, database: str, *, password: str = PASSWORD, address: str = "") -> str:
        url = sa.URL.create("mysql+pymysql", username=USER, password=password, database=database)
        # No one listens in on a socket; PyMySQL would read all certificates of the machine for each connection.
        by_socket = {"unix_socket": f"{self.folder}/socket", "ssl_disabled": "true"}
        url = _at(url, address) if address else url.set(host="localhost", query=by_socket)
        return url.render_as_string(hide_password=False)

    def kill_sessions(self, database: str) -> int:
        sessions = self.admin("SELECT id FROM information_schema.processlist WHERE db = %s", database)
        for (number,) in sessions:
            self.admin(f"KILL {number}")
        return len(sessions)


def _at(url: sa.URL, address: str) -> sa.URL:
    host, _, port = address.partition(":")
    return url.set(host=host, port=int(port))


def _end_with_the_parent() -> None:
    """Called in the new process: Linux ends it when the one that started it is killed and cannot do it itself."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


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
