"""A client of a minting service on another machine."""

from __future__ import annotations

import time
import uuid
from http import HTTPStatus
from typing import Any, Final

import msgspec
import urllib3

from ibi.errors import BusyError, MinterUnreachableError, MintingRequestError, printable
from ibi.identifier.ibip import Ibip
from ibi.identifier.label import Label
from ibi.identifier.repository_name import RepositoryName
from ibi.minting.label_binding import MOST_A_REQUEST, nanoseconds_of
from ibi.minting.rules.granularity import check_count
from ibi.minting.rules.label_generator import Minted

TRIES: Final = 3
TIMEOUT: Final = 30.0
"""Seconds in which the labels must have come, if the caller sets no time-out."""
LARGEST_ANSWER: Final = 8 * 1024 * 1024
"""The largest answer that is read, in bytes."""
LONGEST_REASON: Final = 300
"""The longest part of a foreign error message that is repeated, in characters."""


_LATER: Final = (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS)
_TROUBLES: Final = ("urn:ibi:problem:clock", "urn:ibi:problem:ledger", "urn:ibi:problem:stopping")


class _Label(msgspec.Struct):
    rep: str | None = None
    ibip: str | None = None


class _Answer(msgspec.Struct):
    labels: list[_Label]


class _Problem(msgspec.Struct):
    type: str = ""
    title: str = ""
    detail: str = ""
    retry_after: int = 0


class RemoteMinter:
    """Mints by means of a minting service; may be a member of a pool."""

    def __init__(self, address: str, token: str) -> None:
        """Take the address of the service, such as http://mint.example.org:8810, and a token."""
        if not address.startswith(("http://", "https://")):
            raise MinterUnreachableError(address, "expected an address with http:// or https://")
        if not token.isascii() or not token.isprintable():
            raise MinterUnreachableError(address, "the token for it is not one")
        self._address = address.rstrip("/")
        self._token = token
        self._http = urllib3.PoolManager(maxsize=16, retries=False)

    def mint(self, timeout: float | None = None) -> Minted:
        """Return one new label."""
        return self.mint_many(1, timeout)[0]

    def mint_many(self, count: int, timeout: float | None = None) -> list[Minted]:
        """Return new labels, within `timeout` seconds. Labels of a lost answer are never used."""
        check_count(count)
        deadline = time.monotonic() + (TIMEOUT if timeout is None else max(timeout, 0.1))
        labels: list[Minted] = []
        while len(labels) < count:
            labels += self._mint(min(count - len(labels), MOST_A_REQUEST), deadline)
        return labels

    def _mint(self, count: int, deadline: float) -> list[Minted]:
        status, body = self._post(msgspec.json.encode({"count": count}), deadline)
        if status != HTTPStatus.CREATED:
            raise self._refusal(status, body)
        try:
            answer = msgspec.json.decode(body, type=_Answer)
            labels = [_minted(label) for label in answer.labels]
        except ValueError:
            raise MinterUnreachableError(self._address, "its answer makes no sense") from None
        if len(labels) != count:
            reason = f"it sent {len(labels)} labels instead of {count}"
            raise MinterUnreachableError(self._address, reason)
        return labels

    def _post(self, body: bytes, deadline: float) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {self._token}"}
        reason = "it did not answer in time"
        for attempt in range(TRIES):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            if attempt == 1:
                # Whether the first request was served is unknown. The key makes further attempts
                # safe; it costs the service a durable step, so the first attempt has none.
                headers["Idempotency-Key"] = uuid.uuid4().hex
            try:
                answer = self._http.request(
                    "POST",
                    f"{self._address}/api/v1/labels",
                    body=body,
                    headers=headers,
                    timeout=left,
                    redirect=False,
                    preload_content=False,
                )
                with answer:
                    return answer.status, answer.read(LARGEST_ANSWER)
            except (urllib3.exceptions.HTTPError, OSError) as failure:
                reason = _plain(failure)
        raise MinterUnreachableError(self._address, reason)

    def _refusal(self, status: int, body: bytes) -> Exception:
        try:
            problem = msgspec.json.decode(body, type=_Problem)
        except ValueError:
            problem = _Problem()
        # A proxy before the service may also answer so; problems of the service itself say more.
        if status in _LATER and not problem.type.startswith(_TROUBLES):
            return BusyError(max(1, problem.retry_after))
        # The text of a foreign program is printed to a terminal or a log.
        said = printable((problem.detail or problem.title)[:LONGEST_REASON])
        said = said or f"it answered {status}"
        if status == HTTPStatus.BAD_REQUEST:
            return MintingRequestError(said)
        return MinterUnreachableError(self._address, said.rstrip("."))

    def close(self) -> None:
        """Close the connections."""
        self._http.clear()


def _minted(label: _Label) -> Minted:
    read: list[Label] = []
    if label.rep is not None:
        read.append(RepositoryName.parse(label.rep))
    if label.ibip is not None:
        read.append(Ibip.parse(label.ibip))
    instants: set[Any] = {nanoseconds_of(each.instant) for each in read}
    if len(instants) != 1 or None in instants:
        msg = "the labels of one item carry one instant"
        raise ValueError(msg)
    return Minted(label.rep, label.ibip, instants.pop())


def _plain(failure: Exception) -> str:
    if isinstance(failure, urllib3.exceptions.NewConnectionError):
        return "there is no connection to it"
    if isinstance(failure, urllib3.exceptions.TimeoutError):
        return "it did not answer in time"
    return str(failure).rstrip(".") or type(failure).__name__
