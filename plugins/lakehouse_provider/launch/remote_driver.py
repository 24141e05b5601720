"""Waits for a driver that spark-submit started on a cluster: a process of its own, run by the operator.

``run … -- spark-submit …`` runs as long as the cluster's driver, then ends as that driver would have ended here:
with its last line and its exit code. ``kill …`` ends the driver of a task that was stopped or killed. Options of both:

- ``--yarn SPARK-CLASS --tag TAG``: applications with that tag, by YARN's own client (``yarn``, or Spark's copy of it);
- ``--pod NAMESPACE:NAME --master URL --submit SPARK-SUBMIT``: that pod, by ``spark-submit --kill``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence

from lakehouse_provider.launch.outcome import log_line, report_outcome

TRANSIENT = 1
_APPLICATION = re.compile(r"\bapplication_\d+_\d+\b")
_YARN_CLIENT = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"


def run(words: argparse.Namespace) -> int:
    """Submit, wait, and report the outcome. A driver without one is stopped, in case that it still runs."""
    code, applications = _submit(words.line)
    outcome = report_outcome(words.results)
    if outcome is not None:
        return outcome
    place = f"its log: kubectl logs -n {' '.join(words.pod.split(':'))}" if words.pod else _yarn_logs(applications)
    if applications or words.pod:
        kill(words)
    log_line(f"try again: spark-submit ended with code {code} and the driver left no result; {place}")
    return TRANSIENT


def kill(words: argparse.Namespace) -> int:
    """End the driver, wherever it is; nothing happens when there is none."""
    if words.pod:
        return subprocess.run([words.submit, "--kill", words.pod, "--master", words.master]).returncode
    client = _yarn_client(words.yarn)
    states = ("-appStates", "NEW,NEW_SAVING,SUBMITTED,ACCEPTED,RUNNING")
    listed = subprocess.run([*client, "-list", "-appTags", words.tag, *states], stdout=subprocess.PIPE, text=True)
    running = sorted(set(_APPLICATION.findall(listed.stdout)))
    if running:
        return subprocess.run([*client, "-kill", *running]).returncode
    return listed.returncode


def _submit(line: Sequence[str]) -> tuple[int, list[str]]:
    """The exit code of spark-submit, and the applications of YARN that it named; its output is passed on."""
    # The driver's Python is to find what was sent, not what this machine has: YARN's client would hand this path on.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    applications: dict[str, None] = {}
    with subprocess.Popen(
        line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for text in _lines(process.stdout):
            log_line(text)
            applications.update(dict.fromkeys(_APPLICATION.findall(text)))
    return process.returncode, list(applications)


def _lines(stream: Iterable[str] | None) -> Iterable[str]:
    return (text.rstrip("\n") for text in stream or ())


def _yarn_logs(applications: Sequence[str]) -> str:
    if not applications:
        return "it was not started; the lines above say why"
    return f"its log: yarn logs -applicationId {applications[-1]}"


def _yarn_client(spark_class: str) -> list[str]:
    program = shutil.which("yarn")
    return [program, "application"] if program else [spark_class, _YARN_CLIENT, "application"]


def main(argv: Sequence[str]) -> int:
    """Run the command line and give the exit code."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="remote_driver")
    commands = parser.add_subparsers(required=True)
    for name, what in (("run", run), ("kill", kill)):
        command = commands.add_parser(name, allow_abbrev=False)
        command.set_defaults(what=what)
        for option in ("--yarn", "--tag", "--pod", "--master", "--submit"):
            command.add_argument(option, default="")
        if name == "run":
            command.add_argument("--results", required=True)
    own, _, line = (list(part) for part in _parted(argv))
    words = parser.parse_args(own, argparse.Namespace(line=line))
    code: int = words.what(words)
    return code


def _parted(argv: Sequence[str]) -> tuple[Sequence[str], Sequence[str], Sequence[str]]:
    at = argv.index("--") if "--" in argv else len(argv)
    return argv[:at], argv[at : at + 1], argv[at + 1 :]


if __name__ == "__main__":
    # A killed task no longer reads the log. Python would end with code 1, as if the driver had ended by itself; a death
    # by the signal is what makes the launcher end the driver.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main(sys.argv[1:]))
