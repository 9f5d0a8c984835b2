"""An archive's answers to a resolver: Algorithms 1 and 2 of 004, section 7.2.

Pure functions of the items of the archive and of the request. They deviate from the print twice:
only the relations that the verbs can lead to are computed, instead of all and a filter; and a key
is issued only with a URL, as Section 8.2 prints it, because only a URL can be acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, TypeAlias

from ibi.archive.rules.access import MayRead, reads_from
from ibi.archive.rules.item_languages import own_languages
from ibi.archive.rules.relations import (
    ItemSource,
    RelatedItem,
    all_related,
    fitting,
    follow,
    held,
    reach,
)
from ibi.errors import MessageError
from ibi.identifier.instant import Instant
from ibi.identifier.verbs import GetLastEdition, GetTranslation, Verb
from ibi.model.archive_record import UrlKey
from ibi.model.clock import SECOND
from ibi.model.item import ContentType, Item, State
from ibi.model.label_pair import Forms
from ibi.model.relation import Relation
from ibi.wire.percent_encoding import path as in_url
from ibi.wire.requests import Acknowledgment, InclusionConfirmationRequest, Request, UrlRequest
from ibi.wire.responses import Confirmation, Notice
from ibi.wire.url_list import Related, UrlList

__all__ = [
    "Identity",
    "IssueKey",
    "ItemSource",
    "answer",
    "filtered",
    "relations_of",
    "respond",
    "url_list",
]


IssueKey: TypeAlias = Callable[[Sequence[Related]], UrlKey]
"""Issues a fresh key for the URLs of one answer."""


BY_PATH: Final = "by-path"
"""The query of the URL of a target file that was asked for by its path.

Only files have it that people do not get by the label alone: that leads them to a page."""


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of an archive: its address, labels and metadata formats."""

    base: str
    """Scheme, host and port of the archive's URLs, such as http://mtc-m16d.sid.inpe.br."""
    service: Forms
    platform_software: Forms | None = None
    """The software that runs the archive; None if it has no label."""
    formats: tuple[str, ...] = ("oai_dc",)
    """The formats in which the archive serves metadata, besides its own pages."""

    @property
    def address(self) -> str:
        """Host and port."""
        return self.base.partition("://")[2]


def respond(
    knowledge: ItemSource, identity: Identity, request: Request, issue_key: IssueKey
) -> UrlList | Confirmation | Notice | None:
    """Algorithm 1, MontarResposta. The caller counts acknowledgments."""
    match request:
        case InclusionConfirmationRequest():
            return Confirmation()
        case UrlRequest():
            return answer(knowledge, identity, request, issue_key)
        case Acknowledgment():
            return Notice()
        case _:
            raise MessageError("unknown-subject", "This is an archive: resolvers serve that.")


def answer(
    knowledge: ItemSource,
    identity: Identity,
    request: UrlRequest,
    issue_key: IssueKey,
    may_read: MayRead | None = None,
) -> UrlList | None:
    """Return the URLs and labels that the verbs lead to; None if the archive has no such item.

    Equal to Algorithm 1, lines 16 and 17: MontarListaDeUrl, and then FiltrarListaDeUrl. `may_read`
    replaces the access that follows from the addresses in the request.
    """
    may_read = may_read or reads_from(*request.clients)
    item = knowledge.find(request.label)
    if item is None:
        return None
    related: dict[Relation, Related] = {}
    for relation, reached in follow(knowledge, identity.formats, item, request.verbs):
        complete = len(relation.steps) == len(request.verbs)
        described = _related(knowledge, identity, request, reached, may_read)
        related[relation] = described if complete else Related(described.forms)
    listed = _listed(identity, item, related, issue_key)
    return _without_next_edition(listed, request.verbs)


def relations_of(
    knowledge: ItemSource, identity: Identity, item: Item, verbs: Sequence[Verb]
) -> tuple[Relation, ...]:
    """Return the relations that verbs can lead to, each as far as this archive can follow it."""
    return tuple(relation for relation, _ in follow(knowledge, identity.formats, item, verbs))


def url_list(
    knowledge: ItemSource,
    identity: Identity,
    request: UrlRequest,
    issue_key: IssueKey,
    relations: Iterable[Relation] | None = None,
) -> UrlList | None:
    """Algorithm 2, MontarListaDeUrl: the URLs of an item in all relations, or in those given."""
    # Lines 2 to 4, CriarParState: an unknown item has no list.
    item = knowledge.find(request.label)
    if item is None:
        return None
    # Lines 21 to 32.
    may_read = reads_from(*request.clients)
    related = {
        relation: _related(knowledge, identity, request, reached, may_read)
        for relation, reached in _reached(knowledge, identity, item, relations)
    }
    return _listed(identity, item, related, issue_key)


def _reached(
    knowledge: ItemSource, identity: Identity, item: Item, relations: Iterable[Relation] | None
) -> Iterator[tuple[Relation, RelatedItem]]:
    if relations is None:
        yield from all_related(knowledge, identity.formats, item)
        return
    for relation in relations:
        reached = reach(knowledge, identity.formats, item, relation)
        if reached is not None:
            yield relation, reached


def _listed(
    identity: Identity, item: Item, related: Mapping[Relation, Related], issue_key: IssueKey
) -> UrlList:
    # Lines 6 to 10: the identity of the archive and of the item.
    # `CriarPar("ibi.platformsoftware", ibi)` has the item as an argument: an item may run on other
    # software than the archive.
    software = item.platform_software or identity.platform_software
    listed = partial(UrlList, identity.address, identity.service, software, item.forms)
    # Lines 11 to 15. The pair `state Deleted` is compared with "Deleted" as printed: its value is
    # meant.
    if item.state is State.DELETED:
        deleted = item.tombstone.deleted if item.tombstone is not None else item.updated
        return listed(deleted=_timestamp(deleted))
    related = {relation: each for relation, each in related.items() if relation.steps or each.url}
    with_url = [each for each in related.values() if each.url]
    return listed(
        next_edition=item.next_edition,  # lines 17 and 18, CriarParNextEdition
        key=issue_key(with_url) if with_url else None,  # lines 19 and 20
        related=related,
    )


def filtered(listed: UrlList, verbs: Sequence[Verb]) -> UrlList:
    """FiltrarListaDeUrl: drop the relations that the verbs cannot lead to.

    Where this archive cannot follow a relation to its end, the last item on the way stays with its
    labels alone: a resolver continues from there.
    """
    if listed.deleted:
        return listed
    kept: dict[Relation, Related] = {}
    for relation in _followed(listed.related, Relation(), verbs):
        related = listed.related.get(relation)
        if related is not None and len(relation.steps) == len(verbs):
            kept[relation] = related
        elif related is not None and relation.steps:
            kept[relation] = Related(related.forms)
    key = listed.key if any(related.url for related in kept.values()) else None
    return _without_next_edition(replace(listed, key=key, related=kept), verbs)


def _followed(
    related: Mapping[Relation, Related], relation: Relation, verbs: Sequence[Verb]
) -> Iterator[Relation]:
    offered = [
        each.steps[-1] for each in related if each.steps and each.steps[:-1] == relation.steps
    ]
    chosen = _chosen(verbs[0], offered) if verbs else []
    if not chosen:
        yield relation
    for step in chosen:
        yield from _followed(related, Relation((*relation.steps, step)), verbs[1:])


def _chosen(verb: Verb, offered: Sequence[Verb]) -> Sequence[Verb]:
    if not isinstance(verb, GetTranslation):
        return [verb] if verb in offered else []
    languages = {step.language for step in offered if isinstance(step, GetTranslation)}
    return [GetTranslation(language) for language in fitting(verb.language, languages)]


def _without_next_edition(listed: UrlList, verbs: Sequence[Verb]) -> UrlList:
    """Drop the next edition, unless the request asks for the last edition of this very item.

    Section 8.1 does so: its item has a next edition, as 8.2 shows, and its answer has no such pair.
    """
    asked = bool(verbs) and isinstance(verbs[0], GetLastEdition)
    if asked or listed.next_edition is None:
        return listed
    return replace(listed, next_edition=None)


def _related(
    knowledge: ItemSource,
    identity: Identity,
    request: UrlRequest,
    reached: RelatedItem,
    may_read: MayRead,
) -> Related:
    """CriarParIbi, CriarParUrl and, if there is a URL, CriarPar for the rest (lines 22 to 32)."""
    item = reached.present
    if item is None:
        return Related(reached.forms)
    url, content = _url(knowledge, identity, request, reached, item)
    if url and not request.file_list and not may_read(item):
        # "A critério do Arquivo": the networks of its readers decide, by the IP address of the
        # user, between the URL of the item and that of its metadata (004, 7.2, CriarParUrl).
        url, content = _page(knowledge, identity, item)
    if not url:
        return Related(reached.forms)
    return Related(reached.forms, url, content, item.state, _timestamp(item.updated))


def _url(
    knowledge: ItemSource, identity: Identity, request: UrlRequest, reached: RelatedItem, item: Item
) -> tuple[str, ContentType]:
    """CriarParUrl: the URL of the file list, of one file, or of the target file."""
    content = ContentType.METADATA if item.kind == "metadata" else ContentType.DATA
    folder = _folder(identity, item)
    if request.file_list:
        short = item.forms.short.spelling
        return f"{identity.base}/displaydoccontent.cgi/{short}?displaytype=FileList", content
    if request.file:
        is_there = _is_downward if item.runs_at else partial(knowledge.has_file, item)
        if not is_there(request.file):
            return "", content
        is_landing = request.file == item.target and knowledge.lands_on_page(item)
        return folder + in_url(request.file) + (f"?{BY_PATH}" if is_landing else ""), content
    if item.runs_at:
        return folder, content
    if item.target:
        return folder + in_url(item.target) + _query(reached, item), content
    # A reader of an item that is not digital, or of the archive service, gets the metadata.
    return _page(knowledge, identity, item)


def _query(reached: RelatedItem, item: Item) -> str:
    """Return the query that selects format and language of metadata; other items have none."""
    pairs = [f"choice={reached.format}"] if reached.format else []
    if reached.language is not None and len(own_languages(item)) > 1:
        pairs.append(f"lang={reached.language}")
    return f"?{'&'.join(pairs)}" if pairs else ""


def _page(knowledge: ItemSource, identity: Identity, item: Item) -> tuple[str, ContentType]:
    page = (
        RelatedItem(item.metadata, held(knowledge, item.metadata)).present
        if item.metadata
        else None
    )
    url = _folder(identity, page) + in_url(page.target) if page and page.target else ""
    return url, ContentType.METADATA


def _folder(identity: Identity, item: Item) -> str:
    return f"{identity.base}/col/{item.forms.label.spelling}/doc/"


def _is_downward(path: str) -> bool:
    return not {".", ".."} & set(path.split("/"))


def _timestamp(nanoseconds: int) -> str:
    return Instant(nanoseconds // SECOND).iso8601
