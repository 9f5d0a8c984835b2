"""Answers of made-up archives, for tests of what a resolver makes of them."""

from __future__ import annotations

from typing import Final

from ibi.identifier.label import parse
from ibi.identifier.language_preference import LanguagePreference
from ibi.identifier.verbs import read_modifiers
from ibi.model.archive_record import UrlKey
from ibi.model.item import ContentType, State
from ibi.model.label_pair import Forms
from ibi.model.relation import Relation
from ibi.resolver.ports.outbound import ArchiveReply, NoReply
from ibi.resolver.ports.store import Owner
from ibi.wire.question import Question
from ibi.wire.url_list import Related, UrlList

ITEM: Final = Forms.of("sid.inpe.br/mtc-m18/2009/07.21.14.43")
NEXT: Final = Forms.of("sid.inpe.br/mtc-m18/2012/07.12.18.08")
OTHER: Final = Forms.of("iconet.com.br/banon/2003/01.02.03.04")
SERVICE: Final = Forms.of("iconet.com.br/banon/1998/01.01.01.01")
KEY: Final = UrlKey("1427244889-5349022633744855")


def url_of(archive: str, name: str = "doc") -> str:
    """Return a URL on an archive."""
    return f"http://{archive}.example/{name}"


def related(archive: str, state: State | None, forms: Forms = ITEM, name: str = "doc") -> Related:
    """Return a related item that an archive has; without a state, one that it only knows of."""
    if state is None:
        return Related(forms)
    return Related(forms, url_of(archive, name), ContentType.DATA, state, "2009-07-21T14:43:31Z")


def listing(
    archive: str,
    offered: dict[str, Related] | None = None,
    *,
    next_edition: Forms | None = None,
    deleted: str = "",
) -> ArchiveReply:
    """Return the answer of an archive that knows the item."""
    named = {Relation.parse(name): each for name, each in (offered or {}).items()}
    listed = UrlList(
        f"{archive}.example",
        SERVICE,
        forms=ITEM,
        deleted=deleted,
        next_edition=next_edition,
        key=KEY if named else None,
        related=named,
    )
    return ArchiveReply(archive, listed, 0.01)


def original(archive: str) -> ArchiveReply:
    """Claim the Original."""
    return listing(archive, {"": related(archive, State.ORIGINAL)})


def copy(archive: str) -> ArchiveReply:
    """Have a Copy."""
    return listing(archive, {"": related(archive, State.COPY)})


def deleted(archive: str) -> ArchiveReply:
    """Have had it."""
    return listing(archive, deleted="2020-01-01T00:00:00Z")


def barren(archive: str) -> ArchiveReply:
    """Know the item, and have nothing of what was asked."""
    return listing(archive)


def unknown(archive: str) -> ArchiveReply:
    """Have no such item."""
    return ArchiveReply(archive, None, 0.01)


def leads(archive: str, forms: Forms = NEXT) -> ArchiveReply:
    """Know a next edition."""
    return listing(archive, next_edition=forms)


def silent(archive: str) -> NoReply:
    """Say nothing."""
    return NoReply(archive, "it did not answer in time")


def owned_by(archive: str, *, settled: bool = False) -> Owner:
    """Return the owner on record."""
    return Owner(archive, 1, settled)


def question(modifiers: str = "", *, required: bool = False, languages: str = "") -> Question:
    """Ask for the item."""
    return Question(
        parse(str(ITEM.label)),
        read_modifiers(modifiers)[0],
        original_required=required,
        preference=LanguagePreference.parse(languages),
    )
