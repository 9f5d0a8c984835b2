"""Reports to another archive that this one has a Copy of its item."""

from __future__ import annotations

from typing import Final

import msgspec
import urllib3

from ibi.archive.peers.about import ask_about
from ibi.archive.peers.included_archives import LONGEST_NAME
from ibi.errors import ArchiveError, printable
from ibi.foundation.http_client.guarded_pool import guarded_pool
from ibi.foundation.http_client.ssrf_guard import OutboundGuard
from ibi.identifier.label import Label

PATH: Final = "/api/v1/copies/reports"
_CONNECTIONS: Final = 8
"""Connections that are kept open to one archive, for concurrent threads."""
_LARGEST_ANSWER: Final = 1 << 16
"""Bytes of an answer that are read."""
_TIMEOUT: Final = urllib3.Timeout(connect=5, read=10)


class CopyReporter:
    """Sends reports; several threads may share one."""

    def __init__(self, own: str, guard: OutboundGuard) -> None:
        """Report the Copies of the archive whose address is `own`."""
        self._own = own
        self._guard = guard
        self._names: dict[str, str] = {}
        self._pools: dict[str, urllib3.HTTPConnectionPool] = {}

    def __call__(self, address: str, label: Label) -> str:
        """Send a report and return the name of the other archive, empty if it does not say.

        A report that is lost is sent again a week later; earlier versions refuse it.
        """
        body = msgspec.json.encode({"item": label.spelling, "address": self._own})
        headers = {"Content-Type": "application/json", "User-Agent": "ibi"}
        try:
            answer = self._pool(address).urlopen(
                "POST",
                PATH,
                body=body,
                headers=headers,
                redirect=False,
                timeout=_TIMEOUT,
                preload_content=False,
            )
            answer.read(_LARGEST_ANSWER)
            answer.close()  # if it was read to its end, its connection is in the pool already
            return self._name(address)
        except (ArchiveError, urllib3.exceptions.HTTPError):
            return ""

    def _pool(self, address: str) -> urllib3.HTTPConnectionPool:
        if address not in self._pools:
            self._pools[address] = guarded_pool(address, self._guard, _CONNECTIONS)
        return self._pools[address]

    def _name(self, address: str) -> str:
        if address not in self._names:
            self._names[address] = printable(ask_about(address, self._guard).name)[:LONGEST_NAME]
        return self._names[address]
