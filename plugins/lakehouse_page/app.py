"""The routes of the lake page: a lake, a table, a run, the quarantine, search; all but one only look.

The one that does not starts a run of a DAG, from a form that another route shows (:mod:`lakehouse_page.triggers`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import Depends, FastAPI, Form, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lakehouse_page.access import check_may_view, may_read_assets, may_see_records, may_view
from lakehouse_page.lakes import ShownLake, ShownLakes
from lakehouse_page.links import announcements_of
from lakehouse_page.pictures import draw_graph, draw_timeline, histogram, words_of
from lakehouse_page.runbooks import find_runbook
from lakehouse_page.search import Found, find
from lakehouse_page.triggers import (
    Trigger,
    check_may_trigger,
    check_signed,
    is_paused,
    may_trigger,
    sign,
    start,
    triggers_of,
)
from lakehouse_page.words import ago, at, lag_of, size, span
from spark_jobs.contracts.errors import ContractError, LakehouseError
from spark_jobs.contracts.settings import Settings
from spark_jobs.lake_docs.look import BASE
from spark_jobs.lake_spec.descriptions import comments_of, described
from spark_jobs.lake_spec.naming import columns_of_people
from spark_jobs.lake_spec.specs import LakeSpec
from spark_jobs.overview.findings import all_findings, findings_of_reading
from spark_jobs.overview.lake import overview_of, read_lake
from spark_jobs.overview.quarantine import quarantine_overview
from spark_jobs.overview.runs import run_overview
from spark_jobs.overview.states import state_of
from spark_jobs.overview.tables import table_detail
from spark_jobs.sql_analysis.expectation_sql import implied
from spark_jobs.sql_analysis.lineage import lineage_of
from spark_jobs.storage.lake_specs import resolve_lake_spec

PREFIX = "/lakehouse"
_HERE = Path(__file__).parent
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'self'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_STEPS, _RUNS = 200, 20
"""Bars of a timeline, and rows of its last runs."""


def make_app(lakes: ShownLakes | None = None) -> FastAPI:
    """The app that is mounted at ``PREFIX``. Every route needs a session and a role that may see assets."""
    app = FastAPI(
        title="Lake page", dependencies=[Depends(may_read_assets)], docs_url=None, redoc_url=None, openapi_url=None
    )
    pages = _Pages(lakes or ShownLakes())
    app.add_api_route("/", pages.lakes, response_class=HTMLResponse, response_model=None)
    app.add_api_route("/style.css", _style, response_model=None)
    app.add_api_route("/lakes/{lake}", pages.lake, response_class=HTMLResponse, response_model=None)
    app.add_api_route("/lakes/{lake}/doctor", pages.doctor, response_class=HTMLResponse, response_model=None)
    app.add_api_route("/lakes/{lake}/search", pages.search, response_class=HTMLResponse, response_model=None)
    app.add_api_route("/lakes/{lake}/quarantine", pages.quarantine, response_class=HTMLResponse, response_model=None)
    app.add_api_route("/lakes/{lake}/tables/{table}", pages.table, response_class=HTMLResponse, response_model=None)
    app.add_api_route("/lakes/{lake}/tables/{table}/{run}", pages.run, response_class=HTMLResponse, response_model=None)
    trigger = "/lakes/{lake}/tables/{table}/trigger/{kind}"
    app.add_api_route(trigger, pages.trigger, response_class=HTMLResponse, response_model=None)
    app.add_api_route(trigger, pages.start, methods=["POST"], response_model=None)
    app.add_api_route("/runbooks/{name}", pages.runbook, response_class=HTMLResponse, response_model=None)
    app.middleware("http")(_with_headers)
    return app


async def _with_headers(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await answer(request)
    response.headers.update(_HEADERS)
    return response


def _style() -> Response:
    return Response(BASE + (_HERE / "style.css").read_text(encoding="utf-8"), media_type="text/css")


class _Pages:
    """Each method answers one route; Airflow's dependencies have let the user in."""

    def __init__(self, lakes: ShownLakes) -> None:
        self._lakes = lakes
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        words = {"size": size, "span": span, "at": at, "words_of": words_of}
        self._templates.filters.update(words)
        self._templates.globals.update({"ago": ago, "state_of": state_of, "lag_of": lag_of, "histogram": histogram})

    def lakes(self, request: Request, user: GetUserDep) -> Response:
        seen = [lake for lake in self._lakes.all() if may_view(request, user, lake.dag_id("ingest"))]
        if len(seen) == 1 and not seen[0].problem:
            return RedirectResponse(f"{_base(request)}/lakes/{seen[0].name}")
        return self._page(request, "lakes.html", lakes=seen)

    def lake(self, request: Request, user: GetUserDep, lake: str) -> Response:
        shown, spec, settings = self._open(request, user, lake)
        reading = read_lake(spec, settings, datetime.now(UTC))
        seen, findings = overview_of(reading), findings_of_reading(reading)
        return self._page(
            request, "lake.html", shown=shown, seen=seen, graph=draw_graph(seen), findings=findings, tables=seen.by_name
        )

    def doctor(self, request: Request, user: GetUserDep, lake: str) -> Response:
        shown, spec, settings = self._open(request, user, lake)
        reading = read_lake(spec, settings, datetime.now(UTC), keeps_listings=True)
        findings = list(all_findings(reading, reading.layouts))
        return self._page(
            request, "doctor.html", shown=shown, now=reading.now, findings=findings, tables=reading.layouts
        )

    def runbook(self, request: Request, name: str) -> Response:
        text = find_runbook(name, _base(request))
        if text is None:
            raise HTTPException(404, "no such runbook")
        return self._page(request, "runbook.html", name=name, text=text)

    def table(self, request: Request, user: GetUserDep, lake: str, table: str) -> Response:
        shown, spec, settings = self._open(request, user, lake)
        if table not in spec.table_names:
            raise HTTPException(404, f"lake {spec.lake} has no such table")
        now = datetime.now(UTC)
        reading = read_lake(spec, settings, now)
        detail = table_detail(reading, table, most_steps=_STEPS)
        people = columns_of_people(spec, table)
        return self._page(
            request,
            "table.html",
            shown=shown,
            detail=detail,
            triggers=[each for each in triggers_of(spec, table) if may_trigger(request, user, shown.dag_id(each.kind))],
            now=now,
            findings=[each for each in findings_of_reading(reading) if each.is_of((table,))],
            bars=draw_timeline(detail.commits),
            runs=[each for each in reversed(detail.commits) if each.rows or each.bytes][:_RUNS],
            people=people,
            about=described(spec, table),
            comments=comments_of(spec, table),
            lineage=lineage_of(spec, table),
            hides_partitions=detail.table.layout.partition in people,
            expectations=[*(each for each in spec.expectations if each.table == table), *implied(spec, table)],
            failures=_failures(detail.commits),
            all_sizes=[size_ for each in detail.partitions for size_ in (*each.base, *each.logs)],
        )

    def run(self, request: Request, user: GetUserDep, lake: str, table: str, run: str) -> Response:
        shown, spec, settings = self._open(request, user, lake)
        try:
            found = run_overview(spec, settings, run, table=table)
        except ContractError as error:
            raise HTTPException(404, str(error)) from error
        announced = announcements_of(spec.lake, table, (found.commit.instant,)).get(found.commit.instant)
        if announced and not may_view(request, user, announced.dag_id):
            announced = None
        task = found.commit.task
        if task and not may_view(request, user, task.dag_id):
            task = None
        return self._page(
            request, "run.html", shown=shown, found=found, announced=announced, task=task, airflow=_airflow(request)
        )

    def trigger(self, request: Request, user: GetUserDep, lake: str, table: str, kind: str) -> Response:
        """What would be started, with the form that starts it."""
        shown, trigger, dag_id = self._trigger(request, user, lake, table, kind)
        return self._page(
            request,
            "trigger.html",
            shown=shown,
            table=table,
            trigger=trigger,
            dag_id=dag_id,
            paused=is_paused(dag_id),
            signed=sign(user, f"{shown.name}/{table}/{kind}"),
            airflow=_airflow(request),
        )

    def start(
        self,
        request: Request,
        user: GetUserDep,
        lake: str,
        table: str,
        kind: str,
        signed: Annotated[str, Form()] = "",
    ) -> Response:
        """Start it, and lead to the run in Airflow."""
        shown, trigger, dag_id = self._trigger(request, user, lake, table, kind)
        check_signed(user, f"{shown.name}/{table}/{kind}", signed)
        run_id = start(request, user, dag_id, trigger)
        return RedirectResponse(f"{_airflow(request)}/dags/{quote(dag_id, '')}/runs/{quote(run_id, '')}", 303)

    def _trigger(
        self, request: Request, user: GetUserDep, lake: str, table: str, kind: str
    ) -> tuple[ShownLake, Trigger, str]:
        """One that the table has, when the user may start it."""
        shown, spec, _ = self._open(request, user, lake)
        found = triggers_of(spec, table) if table in spec.table_names else ()
        trigger = next((each for each in found if each.kind == kind), None)
        if trigger is None:
            raise HTTPException(404, f"nothing of {table} can be started by that name")
        dag_id = shown.dag_id(kind)
        check_may_trigger(request, user, dag_id)
        return shown, trigger, dag_id

    def quarantine(self, request: Request, user: GetUserDep, lake: str) -> Response:
        shown, spec, settings = self._open(request, user, lake)
        may_see = may_see_records(user)
        found = quarantine_overview(spec, settings, with_records=may_see)
        return self._page(request, "quarantine.html", shown=shown, spec=spec, found=found, may_see=may_see)

    def search(self, request: Request, user: GetUserDep, lake: str, q: str = "") -> Response:
        shown, spec, settings = self._open(request, user, lake)
        found: list[Found] = find(spec, settings, q)
        return self._page(request, "search.html", shown=shown, q=q, found=found)

    def _open(self, request: Request, user: GetUserDep, name: str) -> tuple[ShownLake, LakeSpec, Settings]:
        """The lake of this name, when the user may see its DAG."""
        lake = self._lakes.find(name)
        if lake is None:
            raise HTTPException(404, "no such lake")
        check_may_view(request, user, lake.dag_id("ingest"))
        if lake.spec is None or lake.settings is None:
            raise HTTPException(503, lake.problem)
        try:
            return lake, resolve_lake_spec(lake.spec, lake.settings), lake.settings
        except LakehouseError as error:
            raise HTTPException(503, str(error)) from error

    def _page(self, request: Request, template: str, **values: Any) -> Response:
        text = self._templates.get_template(template).render(base=_base(request), **values)
        return HTMLResponse(text)


def _base(request: Request) -> str:
    """The path of the page's root as the browser knows it, without a slash at its end."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def _airflow(request: Request) -> str:
    """The path of Airflow's own pages, without a slash at its end."""
    return _base(request).removesuffix(PREFIX)


def _failures(commits: Any) -> dict[str, int]:
    """How many of the shown commits each expectation failed in."""
    counts: dict[str, int] = {}
    for commit in commits:
        for result in commit.outcome.not_held if commit.outcome else ():
            counts[result.expectation] = counts.get(result.expectation, 0) + 1
    return counts
