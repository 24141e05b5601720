"""YARN on this machine: a resource manager and one node, with files of the machine as its file system."""

from __future__ import annotations

import json
import os
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from local_stack.errors import SetupError
from local_stack.install.installation import fetch_when_wrong
from local_stack.install.jars import YARN_JARS
from local_stack.servers.ports import free_port
from local_stack.servers.services import LOOPBACK, POLL_SECONDS, RunFolder, Service, wait_for_server
from local_stack.servers.spark_class import build_spark_class

START_SECONDS = 120.0
_SERVER = "org.apache.hadoop.yarn.server."
_MANAGER = f"{_SERVER}resourcemanager.ResourceManager"
_NODE = f"{_SERVER}nodemanager.NodeManager"
_OPENED = tuple(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang", "net", "util"))
_ADDRESSES = {
    "resourcemanager": ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address"),
    "nodemanager": ("address", "localizer.address", "webapp.address"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Yarn:
    """A running one: ``conf`` is the folder for HADOOP_CONF_DIR, ``pages`` the address of its pages."""

    conf: Path
    pages: str

    def counts(self) -> dict[str, int]:
        """Numbers as YARN gives them, such as ``appsRunning``, ``appsKilled`` and ``activeNodes``; 0 is left out."""
        with urllib.request.urlopen(f"http://{self.pages}/ws/v1/cluster/metrics", timeout=30) as answer:
            metrics = json.load(answer)
        return {name: value for name, value in metrics.items() if value and name.startswith(("apps", "active"))}


def start_yarn(folder: RunFolder, *, memory_mb: int = 6144, environ: Mapping[str, str] = os.environ) -> Yarn:
    """Start both, for this machine alone, and wait until the node has joined; the first call fetches YARN's jars.

    Raises:
        DownloadError: the jars cannot be had.
        SetupError: a server ended, or hangs.
    """
    fetch_when_wrong(YARN_JARS)
    conf, ports = folder.path / "conf", _ports()
    conf.mkdir()
    _write(conf / "core-site.xml", {"fs.defaultFS": "file:///", "hadoop.tmp.dir": str(folder.path / "tmp")})
    _write(conf / "yarn-site.xml", _settings(folder.path, ports, memory_mb))
    manager = _start(folder, _MANAGER, conf, ports["resourcemanager.webapp.address"], environ)
    yarn = Yarn(conf=conf, pages=wait_for_server(manager, what="YARN's resource manager", seconds=START_SECONDS))
    node = _start(folder, _NODE, conf, ports["nodemanager.webapp.address"], environ)
    _wait_for_node(yarn, node)
    return yarn


def _wait_for_node(yarn: Yarn, node: Service) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not yarn.counts().get("activeNodes"):
        if not node.is_alive or time.monotonic() > deadline:
            raise SetupError(f"YARN's node did not join; its log {node.log} says why: {node.tail(1)}")
        time.sleep(POLL_SECONDS)


def _start(folder: RunFolder, server: str, conf: Path, port: int, environ: Mapping[str, str]) -> Service:
    jars = [str(conf), *(str(YARN_JARS.folder / name) for name in YARN_JARS.file_names)]
    options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", *_OPENED]
    name = server.rpartition(".")[2].lower()
    # PySpark has some of these classes too, of a kind that does not fit the others.
    program = build_spark_class(
        name, [server], cwd=folder.path, port=port, options=options, goes_first=jars, environ=environ
    )
    return program.start(folder)


def _ports() -> dict[str, int]:
    return {f"{server}.{name}": free_port() for server, names in _ADDRESSES.items() for name in names}


def _settings(home: Path, ports: Mapping[str, int], memory_mb: int) -> dict[str, str]:
    return {
        **{f"yarn.{name}": f"{LOOPBACK}:{port}" for name, port in ports.items()},
        "yarn.resourcemanager.scheduler.class": f"{_SERVER}resourcemanager.scheduler.fifo.FifoScheduler",
        "yarn.nodemanager.hostname": LOOPBACK,
        "yarn.nodemanager.local-dirs": str(home / "local"),
        "yarn.nodemanager.log-dirs": str(home / "logs" / "containers"),
        "yarn.nodemanager.resource.memory-mb": str(memory_mb),
        "yarn.nodemanager.resource.cpu-vcores": "4",
        "yarn.scheduler.minimum-allocation-mb": "256",
        # A container's Python is no business of these checks, and a disk that is nearly full is the machine's own.
        "yarn.nodemanager.pmem-check-enabled": "false",
        "yarn.nodemanager.vmem-check-enabled": "false",
        "yarn.nodemanager.disk-health-checker.enable": "false",
        # Which is looked at once all the same, and from nine tenths on no driver would start.
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
    }


def _write(path: Path, settings: Mapping[str, str]) -> None:
    rows = [
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>"
        for name, value in settings.items()
    ]
    path.write_text("\n".join(["<configuration>", *rows, "</configuration>"]), encoding="utf-8")
