"""What all tests share: sessions, database servers, how tests are spread over processes, Hypothesis without a clock."""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings as hypothesis_settings

from local_stack.servers.databases import MariaDB, PostgreSQL, Server, running
from local_stack.servers.ports import free_port
from tests.run import recorder, shared_spark, spreading
from tests.support.aws import S3_SERVERS, running_s3
from tests.support.local_rows import keep_local_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.lakes import Lake

# The same examples on every machine; `--hypothesis-profile=explore` looks for new ones.
hypothesis_settings.register_profile("repeatable", deadline=None, derandomize=True, print_blob=True)
hypothesis_settings.register_profile("explore", deadline=None, print_blob=True)
hypothesis_settings.load_profile("repeatable")


def _settings() -> Iterator[str]:
    return (name for name in os.environ if name.startswith(("AWS_", "LAKEHOUSE_")))


_SETTINGS = frozenset(_settings())
"""Names of the variables that were set before the first test."""


def pytest_configure(config: pytest.Config) -> None:
    """Measure the run when its results are kept."""
    recorder.register(config)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Let the garbage collector leave alone what is imported: it takes a third of collecting and a fifth of tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave modules alone of which a run of other tests than those of `make check` selects none."""
    is_beyond = os.environ.get(recorder.NAME, "check") != "check"
    is_module = collection_path.match("test_*.py")
    return (is_beyond and is_module and spreading.is_in_check_alone(collection_path)) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Check slices, and spread the tests over the processes of a run."""
    spreading.check_slices(items)
    spreading.check_marks(items)
    spreading.sort_by_level(items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
    """Fail a module that leaves settings in the environment, where the next module's servers would find them."""
    result = yield
    if nextitem is None or nextitem.path != item.path:
        left = sorted({*_settings()} - _SETTINGS)
        for name in left:
            del os.environ[name]
        assert not left, f"{item.path.name} left {', '.join(left)} in the environment"
    return result


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> spreading.ModuleScheduling:
    """Spread whole modules over the processes."""
    return spreading.ModuleScheduling(config, log)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session with the settings every job has: in the Spark that the run's processes share, or of this process."""
    with pytest.MonkeyPatch.context() as patch:
        keep_local_rows(patch)
        if shared_spark.is_offered():
            yield shared_spark.attach()
            return
        session = shared_spark.open_test_session("2g")
        yield session
        session.stop()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A real PostgreSQL; each test takes a database of its own."""
    with running(PostgreSQL(port=free_port())) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb() -> Iterator[Server]:
    """A real MariaDB; each test takes a database of its own."""
    with running(MariaDB(port=free_port())) as server:
        yield server


@pytest.fixture(scope="session", params=S3_SERVERS)
def s3_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """A real S3 server with a bucket; tests keep to folders of their own."""
    with running_s3(request.param, tmp_path_factory.mktemp("s3")) as variables:
        yield variables


@pytest.fixture
def s3(s3_server: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """The variables by which clients find the S3 server, set for this test."""
    for name, value in s3_server.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    """An empty lake with three tables and an empty landing folder."""
    from tests.support.lakes import make_narrow_lake

    return make_narrow_lake(spark, tmp_path)
