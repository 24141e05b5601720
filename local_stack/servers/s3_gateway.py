"""A second S3 server (versitygw), over a folder: its checks of keys and conditions share no code with moto's."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from local_stack.console import say
from local_stack.errors import DownloadError, SetupError
from local_stack.install.cache import cache_path
from local_stack.install.folder_lock import one_at_a_time
from local_stack.servers.ports import free_port
from local_stack.servers.services import LOOPBACK, RunFolder, Service, wait_for_server

NAME = "s3"
VERSION = "v1.8.0"
REGION = "us-east-1"
START_SECONDS = 60.0
_MODULE = "github.com/versity/versitygw/cmd/versitygw"


def install_gateway(environ: Mapping[str, str] = os.environ) -> Path:
    """The program, built once into the user's cache with Go.

    Raises:
        SetupError: there is no Go, or the cache cannot be written.
        DownloadError: it could not be fetched and built.
    """
    folder = cache_path(environ) / f"versitygw-{VERSION}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(folder):
            if not (folder / "versitygw").exists():
                _build(folder, environ)
    except OSError as error:
        raise SetupError(f"{folder} cannot be written ({error.strerror}); set LAKEHOUSE_CACHE_PATH") from error
    return folder / "versitygw"


def start_gateway(folder: RunFolder, program: Path, *, environ: Mapping[str, str] = os.environ) -> Mapping[str, str]:
    """Start it over a new folder of its own; gives the variables by which AWS clients find it, once it answers."""
    home, port = folder.path / NAME, free_port()
    shutil.rmtree(home, ignore_errors=True)  # of an earlier run, which cannot be running: the folder has one owner
    (home / "data").mkdir(parents=True)
    keys = {"id": secrets.token_hex(10), "secret": secrets.token_hex(20)}
    credentials = home / "credentials"
    with os.fdopen(os.open(credentials, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(f"[default]\naws_access_key_id = {keys['id']}\naws_secret_access_key = {keys['secret']}\n")
    variables = {**environ, "ROOT_ACCESS_KEY_ID": keys["id"], "ROOT_SECRET_ACCESS_KEY": keys["secret"]}
    command = [str(program), "--port", f"{LOOPBACK}:{port}", "--region", REGION, "--quiet", "posix", str(home / "data")]
    server: Service = folder.start(NAME, command, environment=variables, port=port, cwd=home)
    address = wait_for_server(server, what="the S3 gateway", seconds=START_SECONDS)
    return {
        "AWS_ENDPOINT_URL": f"http://{address}",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        # One file of keys; Java's older SDK calls the variable by another name.
        "AWS_SHARED_CREDENTIALS_FILE": str(credentials),
        "AWS_CREDENTIAL_PROFILES_FILE": str(credentials),
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ALLOW_HTTP": "true",
    }


def _build(folder: Path, environ: Mapping[str, str]) -> None:
    go = shutil.which("go")
    if go is None:
        raise SetupError("the S3 gateway is built with Go, which is not on PATH; install it (Debian: golang-go)")
    say(f"s3: building versitygw {VERSION}; this takes minutes, once")
    log = folder / "build.log"
    with log.open("wb") as stream:
        command = [go, "install", f"{_MODULE}@{VERSION}"]
        variables = {**environ, "GOBIN": str(folder)}
        done = subprocess.run(command, env=variables, cwd=folder, stdout=stream, stderr=subprocess.STDOUT)
    if done.returncode:
        raise DownloadError(f"versitygw {VERSION} could not be built; look at {log}, and try again")
