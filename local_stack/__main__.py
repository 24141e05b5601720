"""Command line of the local stack."""

from __future__ import annotations

import argparse
import importlib
import sys
from dataclasses import dataclass

PYTHON = (3, 11)
"""The one Python that the lock files are made for."""


@dataclass(frozen=True)
class Command:
    """A module of this package with ``run(argv) -> int``, imported only when its command is given."""

    module: str
    summary: str
    prefix: tuple[str, ...] = ()
    """What ``run`` gets before the words of the command line, where one module serves several commands."""


COMMANDS = {
    "setup": Command("install.installation", "make .venv/, find or install Java 17, fetch the jars"),
    "java-home": Command("install.java", "print the JAVA_HOME to use"),
    "serve": Command("servers.serve", "run one server: Spark Connect, a Hive metastore, a cluster's master or worker"),
    "secrets": Command(
        "install.secrets_folder", "make the secrets that docker-compose.yaml reads and that are missing"
    ),
    "bucket": Command("servers.bucket", "make a bucket on the S3 server, unless it is there"),
    "dist": Command("install.wheels", "build the wheels of the library and of the Airflow provider into dist/"),
    "sbom": Command("install.sbom", "write the list of every package and jar, with the day each was released"),
    "dashboards": Command("install.superset_dashboards", "write Superset's dashboards as the ZIP that it imports"),
    "demo": Command("demos.demo", "run the whole pipeline through Airflow on generated data and check the result"),
    "company": Command("demos.company", "a company's databases, files and sales in one lake; every step is checked"),
    "cloud": Command("demos.cloud", "the same on an S3 server, with a Hive metastore, Trino, Glue and Athena's client"),
    "live": Command("demos.live", "follow statements from a real database through Debezium and Kafka into the lake"),
    "up": Command("demos.updown", "the same, with Airflow's pages left running", ("up",)),
    "down": Command("demos.updown", "stop what `up` left running", ("down",)),
    "airflow": Command("servers.airflow_command", "Airflow's own command line for what `up` left running"),
}


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 trying again may help, 2 it will not."""
    if sys.version_info[:2] != PYTHON:
        return _fail(f"Python 3.11 is needed, this is {sys.version.split()[0]}; try: make setup PYTHON=python3.11", 2)
    options = _parser().parse_args(argv)
    command = COMMANDS[options.command]
    from spark_jobs.contracts.errors import LakehouseError

    try:
        return int(importlib.import_module(f"local_stack.{command.module}").run([*command.prefix, *options.words]))
    except LakehouseError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail(f"{options.command} was interrupted", 130)


def _parser() -> argparse.ArgumentParser:
    """The outer level only: everything after the command, ``--help`` too, belongs to the command."""
    listing = "\n".join(f"  {name:<10} {command.summary}" for name, command in COMMANDS.items())
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="python -m local_stack",
        description=__doc__,
        epilog=f"commands:\n{listing}\n\n`python -m local_stack COMMAND --help` lists a command's options.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of the commands below")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="the command's own options")
    return parser


def _fail(sentence: str, code: int) -> int:
    print(f"error: {sentence}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
