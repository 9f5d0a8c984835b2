"""Readers at addresses of their own on this machine: the whole of 127.0.0.0/8 belongs to it."""

from __future__ import annotations

from http.client import HTTPConnection
from typing import Final
from urllib.parse import urlsplit

from tests.support.clients.http import Answer
from tests.support.waiting import PATIENCE

HTML: Final = "text/html,application/xhtml+xml,*/*;q=0.8"


def read_from(
    source: str, address: str, target: str, method: str = "GET", **headers: str
) -> Answer:
    """Ask a server from an address; `target` may be a whole URL of it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    place = urlsplit(address).netloc
    connection = HTTPConnection(place, timeout=PATIENCE, source_address=(source, 0))
    try:
        connection.request(method, target.removeprefix(address), headers=named)
        answer = connection.getresponse()
        found = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, found, answer.read())
    finally:
        connection.close()
