"""Related items: where the steps of a relation lead, as far as this archive knows (004, 7.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, Protocol

from ibi.archive.rules.item_languages import offers
from ibi.identifier.label import Label
from ibi.identifier.language import Language
from ibi.identifier.language_preference import nearest
from ibi.identifier.verbs import (
    COMPOSITIONS,
    GetLastEdition,
    GetMetadata,
    GetTranslation,
    Verb,
    read_modifiers,
)
from ibi.model.item import Item, State
from ibi.model.label_pair import Forms
from ibi.model.relation import Relation

MOST_EDITIONS: Final = 256
"""The most editions that are followed to find the last one. A resolver follows longer chains, with
limits of its own."""


class ItemSource(Protocol):
    """The items of an archive."""

    def find(self, label: Label) -> Item | None:
        """Return the item that has the label, deleted or not."""
        ...

    def has_file(self, item: Item, path: str) -> bool:
        """Return whether the item has a file at that path, below `doc/`."""
        ...

    def lands_on_page(self, item: Item) -> bool:
        """Return whether people who follow the label alone get a page, and not the target file."""
        ...


@dataclass(frozen=True, slots=True)
class RelatedItem:
    """A related item: its labels, and the item if the archive has it."""

    forms: Forms
    """The labels that the referring item has, which may be only one of two (Example 7.2)."""
    item: Item | None
    format: str = ""
    """The requested format of a metadata item; empty for the free form."""
    language: Language | None = None
    """The language in which a metadata item was requested; None for any."""

    @property
    def present(self) -> Item | None:
        """The item, if the archive has it and it was not deleted."""
        return None if self.item is None or self.item.state is State.DELETED else self.item


def held(knowledge: ItemSource, forms: Forms) -> Item | None:
    """Return the item that has any of the labels."""
    return next((item for label in forms if (item := knowledge.find(label)) is not None), None)


def follow(
    knowledge: ItemSource, formats: Collection[str], item: Item, verbs: Sequence[Verb]
) -> Iterator[tuple[Relation, RelatedItem]]:
    """Yield where the verbs lead: each branch to its end, or as far as this archive knows it."""
    return _follow(knowledge, formats, (Relation(), RelatedItem(item.forms, item)), verbs)


def _follow(
    knowledge: ItemSource,
    formats: Collection[str],
    so_far: tuple[Relation, RelatedItem],
    verbs: Sequence[Verb],
) -> Iterator[tuple[Relation, RelatedItem]]:
    relation, reached = so_far
    branches = list(_steps(knowledge, formats, reached, verbs[0])) if verbs else []
    if not branches:
        yield so_far
    for step, further in branches:
        longer = Relation((*relation.steps, step))
        yield from _follow(knowledge, formats, (longer, further), verbs[1:])


def reach(
    knowledge: ItemSource, formats: Collection[str], item: Item, relation: Relation
) -> RelatedItem | None:
    """Return the item in exactly this relation; None if this archive knows of none."""
    followed = dict(follow(knowledge, formats, item, relation.steps))
    return followed.get(relation)


def all_related(
    knowledge: ItemSource, formats: Collection[str], item: Item
) -> Iterator[tuple[Relation, RelatedItem]]:
    """Yield the item itself and all items related to it (Tables 6.2 and 7.5)."""
    for composition in ("", *COMPOSITIONS):
        for verbs in _in_all_formats(read_modifiers(composition)[0], formats):
            for relation, reached in follow(knowledge, formats, item, verbs):
                if len(relation.steps) == len(verbs):
                    yield relation, reached


def _in_all_formats(verbs: Iterable[Verb], formats: Collection[str]) -> Iterator[tuple[Verb, ...]]:
    in_formats = [GetMetadata(name) for name in ("", *formats)]
    return product(*(in_formats if verb == GetMetadata() else [verb] for verb in verbs))


def _steps(
    knowledge: ItemSource, formats: Collection[str], start: RelatedItem, verb: Verb
) -> Iterator[tuple[Verb, RelatedItem]]:
    """Yield the steps that a verb allows from an item."""
    item = start.present
    match verb:
        case _ if item is None:
            return
        case GetLastEdition():
            last = _last_edition(knowledge, start, item)
            if last is not None:
                yield verb, last
        case GetMetadata(format=name):
            if name not in {"", *formats}:
                return
            if item.metadata is not None:
                yield verb, RelatedItem(item.metadata, held(knowledge, item.metadata), name)
            elif item.kind == "metadata" and name:
                # A resolver that another archive led to a metadata item asks for its format here.
                yield verb, RelatedItem(start.forms, item, name)
        case GetTranslation(language=wanted):
            offered = offers(item)
            for language in fitting(wanted, offered):
                forms = offered[language] or start.forms
                other = item if offered[language] is None else held(knowledge, forms)
                translated = RelatedItem(forms, other, start.format, language)
                yield GetTranslation(language), translated


def _last_edition(knowledge: ItemSource, start: RelatedItem, item: Item) -> RelatedItem | None:
    """Return the last edition; None if another archive has it, or if the editions form a cycle.

    Without a next edition, the last edition is the item itself, under the same labels.
    """
    seen = {item.forms.label}
    reached = start
    while item.next_edition is not None:
        edition = held(knowledge, item.next_edition)
        if edition is None or edition.forms.label in seen or len(seen) == MOST_EDITIONS:
            return None
        seen.add(edition.forms.label)
        item, reached = edition, RelatedItem(edition.forms, edition, start.format)
    return reached


def fitting(
    wanted: Language | None, offered: Iterable[Language | None]
) -> Sequence[Language | None]:
    """Return the languages of translations that match a verb; None is an unknown language.

    A verb without a parameter matches all: the resolver chooses. A verb with a parameter matches
    the nearest.
    """
    if wanted is None:
        return sorted(offered, key=str)
    best = nearest(str(wanted), [each for each in offered if each is not None])
    return [] if best is None else [best]
