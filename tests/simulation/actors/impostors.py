"""Impostors: they announce archives that are not theirs, and accesses that never happened."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ibi.archive.rules.announcement import new_registration_key
from ibi.identifier.persistent_url import PersistentUrl
from ibi.model.archive_record import ArchiveRecord
from ibi.model.item import ContentType
from ibi.model.relation import Relation
from ibi.wire import responses
from ibi.wire.requests import Acknowledgment, InclusionRequest, UrlRequest, encode
from ibi.wire.url_list import UrlList
from tests.simulation.programs.archive_transport import as_archive, as_resolver
from tests.simulation.scenarios import events
from tests.simulation.world.network import UnreachableError

if TYPE_CHECKING:
    from tests.simulation.judge.ground_truth import AcknowledgedItem
    from tests.simulation.programs.archive_host import ArchiveHost
    from tests.simulation.world.machines import Host
    from tests.simulation.world.world import World

T = TypeVar("T")

_PATIENCE: Final = 60.0
_ADDRESS: Final = "evil.example.com"
_IP: Final = "203.0.113.6"


class Impostors:
    """All impostors of a world."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def _call(
        self, address: str, what: str, deliver: Callable[[Host], Coroutine[Any, Any, T]]
    ) -> T:
        return await self._world.network.call("stranger", address, what, deliver, _PATIENCE)

    def forge_inclusion(self, event: events.ForgeInclusion) -> None:
        """Send an inclusion request for an archive with a random key."""
        at, host = self._world.resolvers[event.resolver], self._world.archives[event.archive]
        if host.service is None:
            return
        key = new_registration_key(self._world.seeded.stream("stranger").randrange)
        record = ArchiveRecord(_ADDRESS, host.service.label, _IP, "ibi-0.1", "e@example.com")
        query = encode(InclusionRequest(record, key))
        self._world.trace.log("people", f"a stranger says to {at.name} that he is {host.name}")
        self._world.outside.spawn(self._claim(at.address, query))

    async def _claim(self, address: str, query: str) -> None:
        with suppress(UnreachableError):
            await self._call(
                address, "inclusionRequest", lambda host: as_resolver(host).include(query, _IP)
            )

    def forge_acknowledgment(self, event: events.ForgeAcknowledgment) -> None:
        """Acknowledge one access to an item with the key of another, or more than one."""
        host = self._world.archives[event.archive]
        judge = self._world.judge
        here = [each for label, each in judge.items.items() if host.name in judge.holdings[label]]
        if len(here) > 1:
            one, other = (here[(event.item + number) % len(here)] for number in range(2))
            self._world.trace.log("people", f"a stranger pretends to {host.name} that many read")
            accesses = 1 if event.item % 2 else 5
            self._world.outside.spawn(self._acknowledge_other(host, one, other, accesses))

    async def _acknowledge_other(
        self, host: ArchiveHost, one: AcknowledgedItem, other: AcknowledgedItem, accesses: int
    ) -> None:
        request = UrlRequest((_IP,), one.label)
        with suppress(UnreachableError):
            listed = await self._ask(host, encode(request))
            mine = listed.related.get(Relation()) if isinstance(listed, UrlList) else None
            if not isinstance(listed, UrlList) or listed.key is None or mine is None:
                return
            said = Acknowledgment(
                clients=(_IP,),
                content=mine.content or ContentType.DATA,
                url=mine.url.replace(one.label.spelling, other.label.spelling),
                persistent_url=PersistentUrl(other.label).at("http://r1.example.net"),
                key=listed.key,
                state=mine.state,
                accesses=accesses,
            )
            await self._ask(host, encode(said))

    async def _ask(self, host: ArchiveHost, query: str) -> responses.Response | None:
        assert host.service is not None
        service = host.service.label.spelling
        status, body, _ = await self._call(
            host.address,
            "a forged message",
            lambda found: as_archive(found).answer_resolver(service, query, is_true=False),
        )
        return responses.decode(body) if status == HTTPStatus.OK else None
