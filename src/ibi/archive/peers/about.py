"""Asks the archive at an address to describe itself."""

from __future__ import annotations

from contextlib import closing
from http import HTTPStatus
from typing import Final

import msgspec
import urllib3

from ibi.errors import ArchiveRequestError, ArchiveUnreachableError, Sentence, shown
from ibi.foundation.http_client.api_client import reason_of
from ibi.foundation.http_client.guarded_pool import guarded_pool
from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.wire.addresses import is_web_address

_LARGEST_ANSWER: Final = 1 << 16
"""Bytes of the largest answer that is read."""
_TIMEOUT: Final = urllib3.Timeout(connect=5, read=10)


class ServiceLabels(msgspec.Struct, frozen=True):
    """The labels of an archive service."""

    rep: str = ""
    ibip: str = ""


class About(msgspec.Struct, frozen=True):
    """What an archive publishes about itself."""

    service: ServiceLabels
    key: str
    """The public key of its hand-overs."""
    instance: str = ""
    """The identity of its ledger; earlier versions publish none."""
    name: str = ""


def ask_about(address: str, guard: OutboundGuard) -> About:
    """Return the description of the archive at an address; ArchiveError if there is none."""
    if not is_web_address(address):
        msg = Sentence(
            "%(address)s is not the address of an archive: expected http://host[:port].",
            address=shown(address),
        )
        raise ArchiveRequestError(msg)
    base = address.rstrip("/")
    with closing(guarded_pool(base, guard, 1)) as pool:
        try:
            answer = pool.urlopen(
                "GET", "/api/v1/archive", redirect=False, preload_content=False, timeout=_TIMEOUT
            )
            with closing(answer):
                body = answer.read(_LARGEST_ANSWER)
        except urllib3.exceptions.HTTPError as failure:
            raise ArchiveUnreachableError(base, reason_of(failure)) from failure
    try:
        about = msgspec.json.decode(body, type=About)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise ArchiveUnreachableError(base, Sentence("it publishes no key")) from None
    if answer.status != HTTPStatus.OK:
        raise ArchiveUnreachableError(
            base, Sentence("it answered %(status)s", status=answer.status)
        )
    return about
