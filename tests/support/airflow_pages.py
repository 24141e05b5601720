"""Airflow's API server app with the plugins of this project, on the database of ``AIRFLOW_HOME``; and it served."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from threading import Thread
from typing import Any

from fastapi import FastAPI

from local_stack.servers.ports import free_port
from local_stack.servers.services import LOOPBACK
from spark_jobs.contracts.settings import PROJECT_ROOT


@contextmanager
def airflow_app() -> Iterator[FastAPI]:
    """What ``airflow api-server`` serves."""
    from airflow import plugins_manager, settings
    from airflow.api_fastapi import app as airflow_app

    before, settings.PLUGINS_FOLDER = settings.PLUGINS_FOLDER, str(PROJECT_ROOT / "plugins")
    _forget_plugins(plugins_manager)
    try:
        yield airflow_app.create_app("core")
    finally:
        settings.PLUGINS_FOLDER = before
        _forget_plugins(plugins_manager)


def _forget_plugins(plugins_manager: Any) -> None:
    for name in ("_get_plugins", "get_fastapi_plugins", "_get_ui_plugins"):
        getattr(plugins_manager, name).cache_clear()


def make_tables() -> None:
    """Make the tables of Airflow's database."""
    from airflow import settings
    from airflow.models import import_all_models
    from airflow.models.base import Base

    import_all_models()
    Base.metadata.create_all(settings.engine)


def add_dag(dag_id: str) -> None:
    """Let Airflow have a DAG as it has one whose file was parsed."""
    from airflow.models import DagModel
    from airflow.models.dagbundle import DagBundleModel
    from airflow.models.serialized_dag import SerializedDagModel
    from airflow.sdk import DAG
    from airflow.serialization.serialized_objects import LazyDeserializedDAG
    from airflow.utils.db import synchronize_log_template
    from airflow.utils.session import create_session

    synchronize_log_template()  # what a run's logs are called is a row that each run refers to
    with create_session() as session:
        session.merge(DagBundleModel(name="pages"))
        session.flush()
        facts = {"bundle_name": "pages", "is_paused": False, "is_stale": False, "max_active_tasks": 1}
        session.merge(DagModel(dag_id=dag_id, **facts))
    with create_session() as session:
        made = LazyDeserializedDAG.from_dag(DAG(dag_id, schedule=None))
        SerializedDagModel.write_dag(made, bundle_name="pages", session=session)


def session_of(app: FastAPI, role: str | None) -> str:
    """The token of a session of a user with this role."""
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

    user = SimpleAuthManagerUser(username="someone", role=role)
    return str(app.state.auth_manager.generate_jwt(user))


@contextmanager
def served_pages() -> Iterator[tuple[str, str]]:
    """The lake page on a port, until the block ends: its address, and a session that may see all of it.

    It reads settings and lake spec at each request.
    """
    import uvicorn

    from lakehouse_page.app import PREFIX, make_app
    from lakehouse_page.lakes import ShownLakes

    make_tables()
    with airflow_app() as airflow:
        app = FastAPI()
        app.mount(PREFIX, make_app(ShownLakes(clock=partial(next, count(0.0, 60.0)))))
        port = free_port()
        server = uvicorn.Server(uvicorn.Config(app, host=LOOPBACK, port=port, log_level="error"))
        thread = Thread(target=server.run, daemon=True)
        thread.start()
        try:
            yield f"http://{LOOPBACK}:{port}{PREFIX}", session_of(airflow, "OP")
        finally:
            server.should_exit = True
            thread.join()
