"""Checks of the request of a deposit against the items of this archive and of others."""

from __future__ import annotations

import msgspec

from ibi.archive.archive import Archive
from ibi.archive.deposits.adoption import Adoptions
from ibi.archive.holder_check import HolderCheck, unknown_language
from ibi.archive.ports.catalogue import StoredItem
from ibi.archive.rules import editions, item_transitions, translations
from ibi.archive.rules.collections.membership import find_collection
from ibi.archive.rules.deposit_request import DepositRequest, NewItem, Revision, read
from ibi.archive.rules.drafts.draft import DraftPurpose
from ibi.errors import ArchiveRequestError, Sentence, StateError, UnknownError
from ibi.identifier.label import Label, parse
from ibi.identifier.language import Language
from ibi.model.label_pair import Forms


class RequestCheck:
    """Raises if a request of a deposit cannot be fulfilled now."""

    def __init__(self, archive: Archive, holders: HolderCheck, adoptions: Adoptions | None) -> None:
        """Check against an archive and the archives that `holders` knows."""
        self._archive = archive
        self._holders = holders
        self._adoptions = adoptions
        self._items = archive.catalogue.items
        self._reservations = archive.catalogue.reservations
        self._drafts = archive.catalogue.drafts

    def checked(self, request: DepositRequest, deposit: str = "") -> DepositRequest:
        """Check a request; return it with what linked resolvers know of it.

        `deposit` is the id of the draft that it belongs to, if there is one.
        """
        wanted = read(request)
        self.check(wanted, deposit)
        if isinstance(wanted, NewItem):
            request = self._checked_elsewhere(request, wanted)
            for label in wanted.collections:
                find_collection(self._archive.draft(0), label)
        return request

    def check_purpose(self, purpose: DraftPurpose) -> None:
        """Raise if a draft of this purpose could not be published, whatever its description."""
        if purpose.item:
            if purpose.edition_of or purpose.translation_of:
                msg = Sentence("New files for an item are neither an edition nor a translation.")
                raise ArchiveRequestError(msg)
            self.revisable(parse(purpose.item))
        if purpose.edition_of:
            label = parse(purpose.edition_of)
            self._holders.check_exists(label)
            self.check_edition(label)
        if purpose.translation_of:
            self._holders.check_exists(parse(purpose.translation_of))

    def _checked_elsewhere(self, request: DepositRequest, wanted: NewItem) -> DepositRequest:
        """Check what linked resolvers know; return the request with what was learned."""
        if wanted.adoption is not None:
            self.adopting().check_elsewhere(wanted.adoption)
        for name in wanted.further_names:
            self._holders.check_name(name)
        if wanted.edition_of is not None and not wanted.unchecked:
            self._holders.check_exists(wanted.edition_of)
        translated = wanted.translation_of
        if translated is None or self._items.find(translated.canonical) is not None:
            return request
        if wanted.translated_from is None:
            if wanted.unchecked:
                raise unknown_language(translated)
            language = self._holders.language_elsewhere(translated)
            _check_languages(wanted, language)
            return msgspec.structs.replace(request, translated_from=str(language))
        if not wanted.unchecked:
            self._holders.check_exists(translated)
        return request

    def check(self, wanted: NewItem | Revision, deposit: str = "") -> None:
        """Check a parsed request against the items and reserved labels of this archive."""
        if isinstance(wanted, Revision):
            self.revisable(wanted.item)
            return
        if wanted.label is not None:
            self.reserved(wanted.label, deposit)
        if wanted.adoption is not None:
            self.adopting().check(wanted.adoption)
        for name in wanted.further_names:
            self._check_free(name)
        if wanted.edition_of is not None:
            self.check_edition(wanted.edition_of)
        if wanted.translation_of is not None and wanted.language is not None:
            held = self._items.find(wanted.translation_of.canonical)
            if held is not None:
                item_transitions.check_editable(held.item)
                translations.check_free(held.item, wanted.language)
            elif wanted.translated_from is not None:
                _check_languages(wanted, wanted.translated_from)

    def check_edition(self, label: Label) -> None:
        """Raise if an item of this archive has a next edition already."""
        held = self._items.find(label.canonical)
        if held is not None:
            editions.check_last(held.item, self._archive.find)

    def adopting(self) -> Adoptions:
        """Return the adoption of items; raise StateError if this archive adopts none."""
        if self._adoptions is None:
            raise StateError(Sentence("This archive adopts no items."))
        return self._adoptions

    def _check_free(self, name: Label) -> None:
        if self._items.find(name.canonical) is not None:
            msg = Sentence(
                "%(label)s names another item already: no label is given twice.", label=name
            )
            raise StateError(msg)

    def revisable(self, label: Label) -> StoredItem:
        """Return an item whose files can be changed; raise if they cannot."""
        held = self._archive.get_live(label)
        item_transitions.check_editable(held.item)
        if held.item.kind != "data" or held.item.runs_at:
            msg = Sentence("%(label)s is not an item that has files.", label=held.item.forms.label)
            raise StateError(msg)
        return held

    def reserved(self, label: Label, deposit: str = "") -> Forms:
        """Return reserved labels; raise if they are not, or only for another draft."""
        reservation = self._reservations.find(label.canonical)
        if reservation is None:
            self._check_free(label)
            raise UnknownError("reserved label", label.spelling)
        draft = self._drafts.with_label(reservation.forms.label.canonical)
        if draft not in {"", deposit}:
            msg = Sentence("%(label)s is reserved for a draft, and only for that.", label=label)
            raise StateError(msg)
        return reservation.forms


def _check_languages(wanted: NewItem, original: Language) -> None:
    """Raise if an item and its translation would be in the same language."""
    if wanted.language == original:
        msg = Sentence(
            "%(item)s is in %(original)s itself: a translation is not.",
            item=wanted.translation_of,
            original=original,
        )
        raise StateError(msg)
