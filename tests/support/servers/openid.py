"""A real OpenID provider for tests: `oidc-provider-mock`, in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from subprocess import DEVNULL, Popen
from time import monotonic, sleep
from urllib.parse import urlencode, urlsplit

import urllib3

from tests.support.servers.port_reservation import reserved_port
from tests.support.waiting import PATIENCE


class OpenIdServer:
    """A provider at which anybody may sign in under any name."""

    def __init__(self, port: int) -> None:
        """Answer at a port of this machine."""
        self.address = f"http://localhost:{port}"
        self._http = urllib3.PoolManager(retries=False)

    def describe(self, person: str, **claims: object) -> None:
        """Set the claims of a person."""
        answer = self._http.request("PUT", f"{self.address}/users/{person}", json=claims)
        assert answer.status in {200, 201, 204}, answer.data

    def sign_in(self, address: str, person: str) -> str:
        """Sign a person in at the address of an authorization; return where that leads back."""
        answer = self._http.request(
            "POST",
            address,
            body=urlencode({"sub": person}),
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            redirect=False,
        )
        assert answer.status == 302, answer.data
        return str(answer.headers["location"])


@contextmanager
def openid_server() -> Iterator[OpenIdServer]:
    """Run a provider while the block runs."""
    port = reserved_port()
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port)]
    with Popen(command, stdout=DEVNULL, stderr=DEVNULL) as process:  # noqa: S603  # our own command
        try:
            _await(port)
            yield OpenIdServer(port)
        finally:
            process.terminate()


def _await(port: int) -> None:
    until = monotonic() + 3 * PATIENCE  # it loads two web frameworks
    while True:
        connection = HTTPConnection("localhost", port, timeout=PATIENCE)
        try:
            connection.request("GET", "/.well-known/openid-configuration")
            connection.getresponse().read()
        except OSError:
            assert monotonic() < until
            sleep(0.05)
        else:
            return
        finally:
            connection.close()


def path_of(address: str) -> str:
    """Return path and query of an address."""
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}"
