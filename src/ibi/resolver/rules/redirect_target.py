"""The URL that a reader is sent to, which must be a URL of the archive that answered."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from ibi.identifier.verbs import GetMetadata
from ibi.model.item import ContentType
from ibi.model.registration import RegisteredArchive
from ibi.resolver.ports.outbound import ArchiveReply, NoReply
from ibi.resolver.rules.acknowledgment import is_ours
from ibi.resolver.rules.decision import Decision, Hop, Redirect, Unserved


def marked(answer: ArchiveReply, archive: RegisteredArchive) -> ArchiveReply:
    """Return an answer that is marked personal if it is for one client only.

    Our archives mark it themselves. Answers of others are taken for personal if they offer metadata
    that were not asked for.
    """
    if answer.personal or answer.listed is None or is_ours(archive):
        return answer
    unasked = any(
        related.content is ContentType.METADATA
        and not any(isinstance(step, GetMetadata) for step in relation.steps)
        for relation, related in answer.listed.related.items()
    )
    return replace(answer, personal=unasked)


def personal_answers(decision: Decision) -> tuple[str, ...]:
    """Return the archives because of whose answers another reader may get another decision."""
    answers: tuple[ArchiveReply, ...] = ()
    match decision:
        case Redirect(answer=answer) | Hop(answer=answer):
            answers = (answer,)
        case Unserved(answers=answers):
            pass
    return tuple(answer.archive for answer in answers if answer.personal)


# Browsers disagree about the host of unusual URLs, so only this strict form is accepted: no user,
# no backslash, no blank. RFC 3986, 3.2: authority = host [":" port].
_AUTHORITY: Final = re.compile(
    r"(https?)://([A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?(?=[/?#]|$)"
)
_UNFIT: Final = re.compile(r"[^!-\[\]^_`a-z{|}~]")
_PORTS: Final = {"http": "80", "https": "443"}

OFF_HOST: Final = "it gave a URL that is not on its own host"


def is_permitted(url: str, archive: RegisteredArchive) -> bool:
    """Return whether a URL is on the archive, or on a host that its registration allows."""
    match = _AUTHORITY.match(url)
    if match is None or _UNFIT.search(url):
        return False
    scheme, host, port = match[1], match[2].lower(), match[3] or _PORTS[match[1]]
    return any(
        (host, port) == _place(place, scheme)
        for place in (archive.address, *archive.hosts)
        if place
    )


def _place(text: str, scheme: str) -> tuple[str, str]:
    host, colon, port = text.lower().rpartition(":")
    if not colon or port.endswith("]"):  # the colons of an IPv6 address alone
        return text.lower(), _PORTS[scheme]
    return host, port


def vetted(answer: ArchiveReply, archive: RegisteredArchive) -> ArchiveReply | NoReply:
    """Return an answer without the URLs on other hosts, and with a fault if there are any.

    If no permitted URL remains, the result is NoReply.
    """
    listed = answer.listed
    if listed is None or all(
        is_permitted(each.url, archive) for each in listed.related.values() if each.url
    ):
        return answer
    if not any(is_permitted(each.url, archive) for each in listed.related.values() if each.url):
        return NoReply(answer.archive, OFF_HOST, answer.seconds, alive=True)
    related = {
        relation: each if is_permitted(each.url, archive) else replace(each, url="")
        for relation, each in listed.related.items()
    }
    return replace(answer, listed=replace(listed, related=related), fault=OFF_HOST)


def with_pairs(url: str, pairs: Iterable[str]) -> str:
    """Append the pairs of a persistent URL that are passed on to the item's URL."""
    added = "&".join(pairs)
    if not added:
        return url
    address, mark, fragment = url.partition("#")
    return f"{address}{'&' if '?' in address else '?'}{added}{mark}{fragment}"
