"""The key of another archive, as it tells it itself, over HTTP."""

from __future__ import annotations

from contextlib import closing
from http import HTTPStatus
from typing import Final

import msgspec
import urllib3

from ibi.adapters.guarded_pool import guarded_pool
from ibi.adapters.outbound_guard import OutboundGuard
from ibi.adapters.remote_api import reason_of
from ibi.errors import ArchiveRequestError, ArchiveUnreachableError, shown
from ibi.metadata.web_address import is_web_address

_LARGEST: Final = 1 << 16
"""Bytes of an answer."""


class _Labels(msgspec.Struct):
    rep: str = ""
    ibip: str = ""


class _About(msgspec.Struct):
    service: _Labels
    key: str


def ask_key(address: str, guard: OutboundGuard) -> tuple[str, str]:
    """Return the label of an archive's service, and its key."""
    if not is_web_address(address):
        msg = f"{shown(address)} is not the address of an archive: expected http://host[:port]."
        raise ArchiveRequestError(msg)
    base = address.rstrip("/")
    with closing(guarded_pool(base, guard, 1)) as pool:
        try:
            answer = pool.urlopen("GET", "/api/v1/archive", redirect=False, preload_content=False)
            with closing(answer):
                body = answer.read(_LARGEST)
        except urllib3.exceptions.HTTPError as failure:
            raise ArchiveUnreachableError(base, reason_of(failure)) from failure
    try:
        about = msgspec.json.decode(body, type=_About)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise ArchiveUnreachableError(base, "it tells no key") from None
    if answer.status != HTTPStatus.OK:
        raise ArchiveUnreachableError(base, f"it answered {answer.status}")
    return about.service.rep or about.service.ibip, about.key
