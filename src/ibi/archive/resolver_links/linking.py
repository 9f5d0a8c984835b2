"""Links and unlinks an archive by the word of a person, and notes that in the history."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from ibi.archive.archive import Archive
from ibi.archive.resolver_links.announcer import Announcer, Links
from ibi.archive.rules.announcement import Link, new_registration_key, resolver_address
from ibi.identifier.label import parse
from ibi.model.archive_record import RegistrationKey
from ibi.wire.requests import DEFAULT_SERVICE


class Linking:
    """The links of one archive, for people."""

    def __init__(
        self,
        archive: Archive,
        links: Links,
        announcer: Announcer,
        check_linkable: Callable[[], None],
    ) -> None:
        """`check_linkable` raises if the archive lacks facts that resolvers need."""
        self._archive = archive
        self._links = links
        self._announcer = announcer
        self._check_linkable = check_linkable

    def all(self) -> list[Link]:
        """Return all links."""
        return self._links.all()

    def link(self, resolver: str, key: str, service: str, who: str) -> Link:
        """Link the archive to a resolver, or renew the link; return it with its key.

        Without a key the known one stays, or a new one is made.
        """
        self._check_linkable()
        address = resolver_address(resolver)
        known = {link.resolver: link for link in self._links.all()}
        kept = known.get(address)
        if key:
            chosen = RegistrationKey(key)
        else:
            chosen = kept.key if kept else new_registration_key(secrets.randbelow)
        link = Link(
            address,
            chosen,
            parse(service) if service else DEFAULT_SERVICE,
            since=self._archive.clock.wall(),
            secret=kept.secret if kept else "",
        )
        self._announcer.link(link)
        self._archive.note("link", who, {"resolver": address})
        return link

    def unlink(self, resolver: str, who: str) -> None:
        """Leave a resolver; raise UnknownError if there is no link to it."""
        address = resolver_address(resolver)
        self._announcer.unlink(address)
        self._archive.note("unlink", who, {"resolver": address})
