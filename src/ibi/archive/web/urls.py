"""URLs of the items of an archive: at the archive itself, and persistent ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias
from urllib.parse import unquote_to_bytes

from ibi.archive.ports.catalogue import Items, StoredItem
from ibi.archive.rules.access import MayRead, anyone
from ibi.archive.rules.answer import Identity, answer
from ibi.identifier.label import Label, longest_match
from ibi.identifier.language_preference import LanguagePreference
from ibi.identifier.persistent_url import PersistentUrl
from ibi.identifier.verbs import Verb
from ibi.model.archive_record import UrlKey
from ibi.model.item import Item
from ibi.model.label_pair import Forms
from ibi.model.relation import Relation
from ibi.wire.answer_choice import Served, choose
from ibi.wire.percent_encoding import text_of
from ibi.wire.question import Question
from ibi.wire.requests import UrlRequest
from ibi.wire.url_list import Related, UrlList

_NO_KEY: Final = UrlKey("0" * 10)
"""The key of answers that the archive gives itself, which are never acknowledged."""

Lands: TypeAlias = Callable[[StoredItem], bool]
"""Whether people who follow the label of an item get its page, and not its target file."""


def never_lands(_: StoredItem) -> bool:
    """Return False: people get the target file."""
    return False


class ItemLookup:
    """Looks each item up once, for the duration of one request (`relations.ItemSource`)."""

    def __init__(self, items: Items, lands: Lands) -> None:
        """Read from a catalogue."""
        self._lands = lands
        self._find = items.find
        self._file = items.file
        self._seen: dict[str, StoredItem | None] = {}

    def held(self, label: Label) -> StoredItem | None:
        """Return the stored item with a label."""
        name = label.canonical
        if name not in self._seen:
            found = self._seen[name] = self._find(name)
            if found is not None:  # a reference may use any of the item's labels
                self._seen.update((each.canonical, found) for each in found.item.forms)
        return self._seen[name]

    def find(self, label: Label) -> Item | None:
        """Return the item with a label."""
        held = self.held(label)
        return None if held is None else held.item

    def has_file(self, item: Item, path: str) -> bool:
        """Return whether an item has a file."""
        held = self.held(item.forms.label)
        return held is not None and self._file(held.id, path) is not None

    def lands_on_page(self, item: Item) -> bool:
        """Return whether people who follow the label of an item get its page."""
        held = self.held(item.forms.label)
        return held is not None and self._lands(held)


class ArchiveUrls:
    """Finds the URLs of items by the same rule as answers to resolvers."""

    def __init__(
        self,
        items: Items,
        identity: Identity,
        resolver: Callable[[], str],
        lands: Lands = never_lands,
    ) -> None:
        """`resolver` returns the address of a resolver that includes the archive, if any does."""
        self.items = items
        self.lands = lands
        self.identity = identity
        self.base = identity.base
        self._resolver = resolver

    def persistent(self, forms: Forms) -> str:
        """Return the persistent URL of an item: at a resolver, or at the archive itself."""
        return f"{self.persistent_base}/{forms.short.spelling}"

    @property
    def persistent_base(self) -> str:
        """The address at which persistent URLs begin."""
        return self._resolver() or self.base

    def of(self, item: Item, may_read: MayRead = anyone) -> str:
        """Return the URL of an item for a reader; empty if there is none."""
        found = self.ask(PersistentUrl(item.forms.label), may_read)
        itself = found.related.get(Relation()) if found else None
        return itself.url if itself else ""

    def ask(self, wanted: PersistentUrl, may_read: MayRead) -> UrlList | None:
        """Answer a persistent URL as a request of a resolver; None if the item is not here."""
        request = UrlRequest((), wanted.label, wanted.verbs, wanted.file_list, wanted.path)
        holdings = ItemLookup(self.items, self.lands)
        return answer(holdings, self.identity, request, lambda _: _NO_KEY, may_read)

    def choose(
        self,
        wanted: PersistentUrl,
        preference: LanguagePreference,
        may_read: MayRead,
        *,
        only_here: bool = False,
    ) -> Related | Label | None:
        """Return what fits a reader best: a URL of this archive, or the label where it is left.

        Relations are followed from item to item as a resolver does, up to a label whose item is not
        here or is deleted. `only_here` leaves out items of which the archive has the label alone.
        """
        asked = wanted
        seen: set[tuple[Label, tuple[Verb, ...]]] = set()
        while (found := self.ask(asked, may_read)) is not None and not found.deleted:
            if only_here:
                here = {each: related for each, related in found.related.items() if related.url}
                found = replace(found, related=here)
            choice = choose(found, Question.of(asked, preference))
            if isinstance(choice, Served):
                return choice.related
            if choice is None or (choice.label, choice.verbs) in seen:
                return None
            seen.add((choice.label, choice.verbs))
            asked = replace(asked, label=choice.label, verbs=choice.verbs)
        return asked.label

    def held(self, related: Related) -> StoredItem | None:
        """Return the chosen item; None if only its label is known."""
        forms = related.forms
        return self.items.find(forms.label.canonical) if forms else None


def divided(raw_path: bytes, start: bytes) -> tuple[Label, str] | None:
    """Return the label in a path and the rest, decoded once; None if there is no label."""
    text = text_of(unquote_to_bytes(raw_path[len(start) :]))
    label = longest_match(text)
    return None if label is None else (label, text[len(label.spelling) :])
