"""Rights of callers to change an item, a deposit or a draft: one check for pages and API.

A caller whose rights are limited (`rules.scopes`) changes only the items that its account
deposited. What an act does to further items by itself, as the list of translations that each of
them has, is no change by the caller; an item that the caller names is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import UNSET

from ibi.archive.archive import Archive
from ibi.archive.ports.catalogue import HistoryChoice, HistoryEntry
from ibi.archive.ports.deposits import Deposit
from ibi.archive.rules.amendment import Amendment
from ibi.archive.rules.deposit_request import DepositRequest
from ibi.archive.rules.drafts.draft import DraftPurpose
from ibi.archive.rules.scopes import CURATE, Caller
from ibi.errors import RoleError, UnknownError
from ibi.identifier.label import Label, parse
from ibi.identifier.language import Language
from ibi.model.account import owner_of
from ibi.model.item import Item
from ibi.model.label_pair import Forms

BEGINNINGS: Final = ("deposit", "adopt")
"""The acts by which an item comes into being by a deposit."""
DEPOSITOR: Final = "depositor"
"""The detail of such an act that names the depositor, if a curator published it."""


class ItemRights:
    """Raises if a caller may not change something of one archive."""

    def __init__(self, archive: Archive) -> None:
        """Look up items and their depositors in an archive."""
        self._archive = archive
        self._history = archive.catalogue.history
        self._reservations = archive.catalogue.reservations

    def check(self, caller: Caller, item: Item) -> None:
        """Raise RoleError unless the caller may change an item, or the item that it describes."""
        if not caller.is_limited:
            return
        described = item.describes if item.kind == "metadata" else None
        if self._depositor(described or item.forms) != caller.account:
            raise RoleError(CURATE)

    def _depositor(self, forms: Forms) -> str:
        found = self._archive.find(forms)
        label = (forms if found is None else found.forms).label.canonical
        choices = (HistoryChoice(label=label, act=act) for act in BEGINNINGS)
        return depositor_of(
            entry for choice in choices for entry in self._history.entries(0, 1, choice)
        )

    def check_named(self, caller: Caller, labels: Iterable[Label | str]) -> None:
        """Raise RoleError if one of these labels is an item here that is not the caller's."""
        if not caller.is_limited:
            return
        for label in labels:
            read = parse(label) if isinstance(label, str) else label
            item = self._archive.find(Forms.of(read))
            if item is not None:
                self.check(caller, item)

    def check_amendment(self, caller: Caller, item: Item, amendment: Amendment) -> None:
        """Raise RoleError if the caller may not change an item, or one to which it is related.

        A relation stands in both items: it is made and ended by those who may change both.
        """
        if not caller.is_limited:
            return
        self.check(caller, item)
        related: list[Label | str] = []
        pairs = (
            (amendment.previous_edition, item.previous_edition),
            (amendment.next_edition, item.next_edition),
        )
        for text, before in pairs:
            if text is not UNSET:
                related += [*(before or ()), *([text] if isinstance(text, str) else ())]
        if isinstance(amendment.translations, dict):
            known = dict(item.translations)
            for code, text in amendment.translations.items():
                before = known.get(Language.parse(code))
                related += [*(before or ()), *([text] if text else ())]
        self.check_named(caller, [each for each in related if each])

    def check_request(self, caller: Caller, request: DepositRequest | DraftPurpose) -> None:
        """Raise RoleError if the caller may not change an item that a deposit is about to change.

        A new item may be added to every collection: that is written in the new item alone.
        """
        if not caller.is_limited:
            return
        named = (request.item, request.edition_of, request.translation_of)
        self.check_named(caller, [each for each in named if each])
        if isinstance(request, DepositRequest) and request.label:
            reservation = self._reservations.find(parse(request.label).canonical)
            owner = "" if reservation is None else owner_of(reservation.who)
            if owner not in {"", caller.account}:
                raise RoleError(CURATE)

    def check_deposit(self, caller: Caller, deposit: Deposit) -> None:
        """Raise UnknownError if a deposit is of another account: to others it does not exist."""
        if caller.is_limited and owner_of(deposit.who) != caller.account:
            raise UnknownError("deposit", deposit.id)


def depositor_of(history: Iterable[HistoryEntry]) -> str:
    """Return the account that deposited an item, by lines of its history; empty if none did."""
    for entry in history:
        if entry.act in BEGINNINGS:
            detail = msgspec.json.decode(entry.detail or "{}", type=dict[str, object])
            return owner_of(str(detail.get(DEPOSITOR) or entry.who))
    return ""
