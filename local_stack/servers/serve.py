"""Run one server of the stack in this process's place, as containers do; its output comes to this terminal."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from local_stack.servers.cluster import ClusterPlace, build_master, build_worker
from local_stack.servers.connect_server import NAME as CONNECT
from local_stack.servers.connect_server import build_connect_server
from local_stack.servers.metastore import NAME as METASTORE
from local_stack.servers.metastore import build_metastore
from local_stack.servers.services import LOOPBACK, Program, run_path


def run(argv: list[str]) -> int:
    """Become the server that the words name; SetupError when it cannot be started."""
    options = parse(argv)
    folder = run_path(os.environ) / options.server
    folder.mkdir(parents=True, exist_ok=True)
    program = build(options, folder)
    if options.server == CONNECT:
        print(f"LAKEHOUSE_SPARK_REMOTE=sc://{LOOPBACK}:{program.port}", flush=True)
    program.become()


def parse(argv: list[str]) -> argparse.Namespace:
    """What the words say; ends the program on wrong ones."""
    parser = argparse.ArgumentParser(allow_abbrev=False, prog="python -m local_stack serve", description=__doc__)
    servers = parser.add_subparsers(dest="server", required=True, metavar="SERVER")
    summary = "the Spark Connect server that jobs share, on LAKEHOUSE_CONNECT_PORT; its address is the first line"
    servers.add_parser(CONNECT, allow_abbrev=False, help=summary, description=summary)
    summary = "a Hive metastore with its database below LAKEHOUSE_RUN_PATH; it listens on every interface"
    metastore = servers.add_parser(METASTORE, allow_abbrev=False, help=summary, description=summary)
    _add_port(metastore, 9083)
    master = servers.add_parser("master", allow_abbrev=False, help="the master of a standalone Spark cluster")
    _add_place(master, 7077)
    worker = servers.add_parser("worker", allow_abbrev=False, help="a worker of a standalone Spark cluster")
    _add_place(worker, 7078)
    worker.add_argument("--master", required=True, metavar="URL", help="spark://host:port of the master")
    worker.add_argument("--cores", type=int, default=2, metavar="N", help="that it has to give (default 2)")
    worker.add_argument("--memory", default="2g", metavar="SIZE", help="that it has to give (default 2g)")
    return parser.parse_args(argv)


def build(options: argparse.Namespace, folder: Path) -> Program:
    """The program that ``options`` name."""
    if options.server == CONNECT:
        return build_connect_server(folder)
    if options.server == METASTORE:
        return build_metastore(folder, port=options.port)
    place = ClusterPlace(host=options.host, port=options.port)
    if options.server == "master":
        return build_master(folder, place)
    return build_worker(folder, options.master, place, cores=options.cores, memory=options.memory)


def _add_place(parser: argparse.ArgumentParser, port: int) -> None:
    parser.add_argument("--host", default=LOOPBACK, help=f"name by which the others reach it (default {LOOPBACK})")
    _add_port(parser, port)


def _add_port(parser: argparse.ArgumentParser, port: int) -> None:
    parser.add_argument("--port", type=int, default=port, metavar="N", help=f"default {port}")
