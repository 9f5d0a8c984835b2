"""A cached redirect in few bytes: a million of them fit into memory.

The first reader is answered from it like all later ones, and the acknowledgments of all of them are
made from it. The facts that the redirects to one archive have in common are stored once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import msgspec

from ibi.identifier.label import parse
from ibi.model.archive_record import UrlKey
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.resolver.rules.acknowledgment import Referral
from ibi.resolver.rules.decision import Redirect
from ibi.resolver.rules.redirect_lease import ENDED, Lease
from ibi.resolver.rules.resolution import Resolution
from ibi.wire.question import Question
from ibi.wire.requests import UrlRequest

_MAX_TERMS: Final = 4096
"""Terms that are kept in memory for reuse."""


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Facts that many redirects have in common. Equal terms are the same object."""

    resolver: str
    """The address below which the persistent URLs are."""
    archive: str
    """The id of the archive whose URL it is."""
    content: ContentType
    state: State | None


@dataclass(frozen=True, slots=True)
class AskedFor:
    """A question for more than an item alone, or one that was answered after a hop."""

    question: Question
    last: Question
    only_for: tuple[str, ...]
    """The only clients that may get the answer; empty if all may."""
    is_last_personal: bool = False
    """Whether the archive of the URL has it for some readers only, and got `only_for`."""


class CachedRedirect(msgspec.Struct, gc=False, eq=False):
    """A URL that readers are sent to, until its lease ends.

    It is part of no reference cycle, so that the garbage collector need not visit a million of
    them.
    """

    lease: Lease
    terms: Terms
    path: bytes
    """The path of the persistent URL to cite: a slash, the canonical label, and the rest of the
    question."""
    url: bytes
    """The URL as the archive listed it."""
    asked: AskedFor | None
    """None if the item alone was asked for, and answered without a hop."""

    @classmethod
    def of(cls, resolution: Resolution, outcome: Redirect, resolver: str) -> CachedRedirect:
        """Make the redirect of a resolution that leads to a URL."""
        related = outcome.served.related
        content = related.content or ContentType.DATA
        terms = _terms(resolver, outcome.answer.archive, content, related.state)
        path = resolution.question.persistent_url.at("").encode()
        asked = None
        if not is_plain(resolution):
            last = resolution.last.question
            asked = AskedFor(
                resolution.question, last, resolution.only_for, resolution.last.personal
            )
        return cls(ENDED, terms, path, related.url.encode(), asked)

    @property
    def only_for(self) -> tuple[str, ...]:
        """The only clients that may get the redirect; empty if all may."""
        return () if self.asked is None else self.asked.only_for

    def clients(self, disclosed: tuple[str, ...]) -> tuple[str, ...]:
        """Return the addresses of a reader that the archive of the URL gets."""
        asked = self.asked
        return asked.only_for if asked is not None and asked.is_last_personal else disclosed

    @property
    def depends_on_reader(self) -> bool:
        """Whether readers of other languages may be sent elsewhere."""
        return self.asked is not None and self.asked.question.depends_on_reader

    def spelled(self, received: bytes) -> bytes:
        """Return the path and query of a request, empty if they are those to cite."""
        return b"" if received == self.path else received

    def persistent_url(self, received: bytes = b"") -> str:
        """Return the persistent URL that a reader asked for, by its path and query as received.

        Without them it is the one to cite.
        """
        return self.terms.resolver + (received or self.path).decode()

    def request(self, clients: tuple[str, ...]) -> UrlRequest:
        """Return the request by which the archive finds the URL again."""
        if self.asked is not None:
            return self.asked.last.request(clients)
        return UrlRequest(clients, parse(self.path[1:].decode(), strict=True))

    def referral(
        self,
        clients: tuple[str, ...],
        received: bytes = b"",
        key: UrlKey | None = None,
        forms: Forms | None = None,
    ) -> Referral:
        """Return the referral of a reader who was sent to the URL (Table 6.11).

        `received` is the path and query of the request; if it is empty, those to cite.
        Without a key, the key and the forms come later, with a fresh list.
        """
        return Referral(
            archive=self.terms.archive,
            request=self.request(clients),
            content=self.terms.content,
            url=self.url.decode(),
            state=self.terms.state,
            forms=forms,
            persistent_url=self.persistent_url(received),
            key=key,
        )


def is_plain(resolution: Resolution) -> bool:
    """Return whether an item alone was asked for, for any client, and answered without a hop."""
    question = resolution.question
    return (
        len(resolution.steps) == 1
        and question.search == (question.label.canonical, (), False, "")
        and not question.original_required
        and not resolution.only_for
    )


def first_referral(
    known: CachedRedirect, resolution: Resolution, clients: tuple[str, ...], received: bytes
) -> Referral:
    """Return the referral of the reader for whose request the archive was asked.

    A key is valid for the clients of its request only: a reader who joined the search of another
    one needs another key.
    """
    outcome, last = resolution.outcome, resolution.last
    assert isinstance(outcome, Redirect)  # noqa: S101  # only redirects are cached
    listed, served = outcome.answer.listed, outcome.served
    assert listed is not None  # noqa: S101  # the chosen answer has a list
    forms = served.related.forms if served.relation.steps else listed.forms
    key = last.key if last.request.clients == clients else None
    return known.referral(clients, received, key, forms)


_terms = lru_cache(maxsize=_MAX_TERMS)(Terms)
