"""A client of the HTTP services of `ibi`, with a token."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import urllib3
from urllib3 import HTTPResponse
from urllib3.connection import HTTPConnection

from tests.support.waiting import PATIENCE

LABELS: Final = "/api/v1/labels"
PROBLEM: Final = "application/problem+json"


_MAX_IDLE: Final = 1.0
"""Seconds after which a connection is not used again: a service closes it after five, perhaps just
when the next request is on its way."""


class _Connection(HTTPConnection):
    """A connection that counts as lost after a pause."""

    _answered = math.inf

    @property
    def is_connected(self) -> bool:
        return super().is_connected and time.monotonic() < self._answered + _MAX_IDLE

    def getresponse(self) -> HTTPResponse:  # type: ignore[override]  # urllib3's own
        answer = super().getresponse()
        self._answered = time.monotonic()
        return answer


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection


@dataclass(frozen=True)
class Answer:
    """What a service answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401  # whatever it is
        """Read the body."""
        assert self.headers["content-type"] in {"application/json", PROBLEM}
        return json.loads(self.body)

    def labels(self) -> list[str]:
        """Return the repository names that were minted."""
        assert self.status == 201, self.body
        return [label["rep"] for label in self.json()["labels"]]


class Client:
    """Somebody with a token."""

    def __init__(self, address: str, token: str) -> None:
        """Ask the service at an address."""
        self.address = address
        self.token = token
        self._http = urllib3.PoolManager(maxsize=4, retries=False)
        self._http.pool_classes_by_scheme = {"http": _Pool}

    def ask(  # noqa: PLR0913  # the parts of a request
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        key: str | None = None,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request; a body that is not of bytes is sent as JSON."""
        sent = dict(headers or {})
        if chosen := self.token if token is None else token:
            sent.setdefault("Authorization", f"Bearer {chosen}")
        if key is not None:
            sent["Idempotency-Key"] = key
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        answer = self._http.request(
            method,
            self.address + path,
            body=data,
            headers=sent,
            timeout=PATIENCE,
            redirect=False,
        )
        return Answer(answer.status, answer.headers, answer.data)

    def mint(self, body: object = None, *, key: str | None = None) -> Answer:
        """Ask for labels."""
        return self.ask("POST", LABELS, body, key=key)

    def state(self) -> dict[str, Any]:
        """Ask how the minter fares."""
        state: dict[str, Any] = self.ask("GET", "/api/v1/subsystem").json()
        return state

    def close(self) -> None:
        """Hang up."""
        self._http.clear()
