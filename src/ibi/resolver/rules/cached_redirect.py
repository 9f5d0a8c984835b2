"""Where readers are sent who ask for an item, in few bytes: a million of these fit into memory.

The answer to the first reader is made from it as well as all that follow, and so is what the
archive is told of them. What the answers of one archive have in common is there once.
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
from ibi.resolver.rules.lease import ENDED, Lease
from ibi.resolver.rules.resolution import Resolution
from ibi.wire.question import Question
from ibi.wire.requests import UrlRequest

_MOST_TERMS: Final = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """What many answers have in common; there is one of a kind, and so they are told apart."""

    resolver: str
    """The address below which persistent URLs are."""
    archive: str
    """The id of the archive whose URL it is."""
    content: ContentType
    state: State | None


@dataclass(frozen=True, slots=True)
class AskedFor:
    """What was asked, where it was more than an item alone or led by way of others."""

    question: Question
    last: Question
    only_for: tuple[str, ...]
    """The clients for whom alone the answer is; none if it is for everybody."""


class CachedRedirect(msgspec.Struct, gc=False, eq=False):
    """A URL that readers are sent to, for as long as its lease runs.

    It is part of no cycle: the garbage collector need not look at a million of them.
    """

    lease: Lease
    terms: Terms
    path: bytes
    """Of the persistent URL: a slash, the canonical label, and what is asked of it."""
    url: bytes
    """As the archive listed it."""
    asked: AskedFor | None
    """None if the item alone was asked for, and found where it was asked for."""

    @classmethod
    def of(cls, resolution: Resolution, outcome: Redirect, resolver: str) -> CachedRedirect:
        """Keep what matters of a resolution that leads to a URL."""
        related = outcome.served.related
        content = related.content or ContentType.DATA
        terms = _terms(resolver, outcome.answer.archive, content, related.state)
        path = resolution.question.persistent_url.at("").encode()
        asked = None
        if not is_plain(resolution):
            last = resolution.last.question
            asked = AskedFor(resolution.question, last, resolution.only_for)
        return cls(ENDED, terms, path, related.url.encode(), asked)

    @property
    def only_for(self) -> tuple[str, ...]:
        """The clients for whom alone it is; none if it is for everybody."""
        return () if self.asked is None else self.asked.only_for

    @property
    def depends_on_reader(self) -> bool:
        """Whether readers of other languages may be sent elsewhere."""
        return self.asked is not None and self.asked.question.depends_on_reader

    @property
    def persistent_url(self) -> str:
        """The persistent URL that leads to it."""
        return self.terms.resolver + self.path.decode()

    def request(self, clients: tuple[str, ...]) -> UrlRequest:
        """Return what an archive is asked to find the URL again."""
        if self.asked is not None:
            return self.asked.last.request(clients)
        return UrlRequest(clients, parse(self.path[1:].decode(), strict=True))

    def referral(
        self,
        clients: tuple[str, ...],
        key: UrlKey | None = None,
        forms: Forms | None = None,
    ) -> Referral:
        """Return what the archive is told of a reader who was sent there (Table 6.11).

        Whoever comes without a key gets one with a fresh list, in which the forms stand too.
        """
        return Referral(
            archive=self.terms.archive,
            request=self.request(clients),
            content=self.terms.content,
            url=self.url.decode(),
            state=self.terms.state,
            forms=forms,
            persistent_url=self.persistent_url,
            key=key,
        )


def is_plain(resolution: Resolution) -> bool:
    """Tell whether an item alone was asked for, by anybody, and found where it was asked for."""
    question = resolution.question
    return (
        len(resolution.steps) == 1
        and question.search == (question.label.canonical, (), False, "")
        and not question.original_required
        and not resolution.only_for
    )


def first_referral(
    known: CachedRedirect, resolution: Resolution, clients: tuple[str, ...]
) -> Referral:
    """Return what an archive is told of the reader for whom it was asked.

    A key is good for whom it was asked for: who joined another's search needs another.
    """
    outcome, last = resolution.outcome, resolution.last
    assert isinstance(outcome, Redirect)  # noqa: S101  # it is known where it leads
    listed, served = outcome.answer.listed, outcome.served
    assert listed is not None  # noqa: S101  # it was chosen
    forms = served.related.forms if served.relation.steps else listed.forms
    return known.referral(clients, last.key if last.request.clients == clients else None, forms)


_terms = lru_cache(maxsize=_MOST_TERMS)(Terms)
