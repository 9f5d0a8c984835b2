"""A real resolver for tests: `ibi resolver init` and `serve`, in a temporary folder."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Final
from urllib.parse import quote, urlencode

from tests.support.clients.http import Answer
from tests.support.doubles.archive import ArchiveDouble
from tests.support.processes.environment import own_environment
from tests.support.processes.fork_server import run
from tests.support.servers.program import ProgramServer

SERVICE: Final = "J8LNKB5R7W/3FUQHC5"
"""The label of the resolver service (004, section 4.1)."""
ADMINISTRATOR: Final = "admin@example.org"
ARCHIVE_SECONDS: Final = 30.0
"""Seconds that a resolver waits for an archive: many, for a busy machine.

A test of archives that never answer sets fewer.
"""


class ResolverServer(ProgramServer):
    """A resolver in a process of its own, in whose folder everything lies.

    Archives may be on this machine, as those of tests are.
    """

    part = "resolver"

    def __init__(self, folder: Path, *options: str, rate: int = 1_000_000) -> None:
        """Make the resolver; a test asks more in a second than people do."""
        super().__init__(folder, "resolver.log")
        given = ["--address", self.address, "--listen", self.place]
        given += ["--name", "Resolvedor de prova", "--allow-network", "127.0.0.0/8"]
        self.made = self._make(*given, *options)
        self.token = self.made["token"]
        self.set(requests_a_second=rate, messages_a_second=rate, archive_seconds=ARCHIVE_SECONDS)

    def ibi(self, *arguments: str) -> CompletedProcess[str]:
        """Run a command on this resolver, as somebody at its machine does."""
        given = ["resolver", *arguments, "--data", str(self.data)]
        return run(given, own_environment(self.folder))

    def register(self, service: str, **wanted: object) -> str:
        """Register an archive, and return its key."""
        wanted.setdefault("administrator", ADMINISTRATOR)
        answer = self.api("POST", "archives", {"service_ibi": service, **wanted})
        assert answer.status == 201, answer.body
        return str(answer.json()["registration_key"])

    def announce(
        self, archive: ArchiveDouble, key: str, subject: str = "inclusionRequest"
    ) -> Answer:
        """Say in the name of an archive that it is on, or off (004, Table 5.2)."""
        pairs = {
            "servicesubject": subject,
            "archiveaddress": archive.address,
            "archiveserviceibi": archive.service,
            "archiveip": "127.0.0.1",
            "archiveprotocol": "HTTP",
            "archiveplatformversion": archive.platform,
            "archiveadmemailaddress": ADMINISTRATOR,
            "registrationkey": key,
        }
        return self.get(f"/{SERVICE}?{urlencode(pairs, quote_via=quote)}")

    def include(self, archive: ArchiveDouble, **wanted: object) -> str:
        """Register an archive and have it included; return its key."""
        key = self.register(archive.service, **wanted)
        answer = self.announce(archive, key)
        assert b"included" in answer.body, answer.body
        return key

    def archives(self) -> dict[str, dict[str, Any]]:
        """Return what its operator sees of the archives, by service."""
        found = self.api("GET", "archives").json()["archives"]
        return {archive["service_ibi"]: archive for archive in found}
