"""Checks of labels against what other archives have, as far as the linked resolvers know.

No check holds a lock of the archive: a resolver may take its time.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from itertools import islice
from typing import Final

from ibi.archive.ports.catalogue import Items
from ibi.archive.ports.holders import Finding, HolderFinder
from ibi.errors import (
    HeldElsewhereError,
    LabelError,
    NotHeldError,
    Sentence,
    StateError,
    TooManyRequestsError,
)
from ibi.errors.sentence import series
from ibi.identifier.instant import instant_of
from ibi.identifier.label import Label, did_you_mean, parse
from ibi.identifier.language import Language
from ibi.model.clock import Clock
from ibi.model.metadata_record import MetadataRecord

_MOST_SUGGESTIONS: Final = 3
_CLASSES: Final = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
"""Characters that are mistaken for one another."""


class HolderCheck:
    """Looks labels up here, and at the linked resolvers."""

    def __init__(self, items: Items, finder: HolderFinder, clock: Clock) -> None:
        """Look up items of this archive in `items`, and those of others by `finder`."""
        self._items = items
        self._finder = finder
        self._clock = clock

    def check_exists(self, label: Label) -> None:
        """Raise NotHeldError unless this archive or another one has the item, deleted or not."""
        if self._items.find(label.canonical) is None:
            self._found_elsewhere(label)

    def _found_elsewhere(self, label: Label) -> Finding:
        finding = self._finder.find(label)
        if not finding.holders:
            raise NotHeldError(label.spelling, _reason(finding), self._suggestions(label))
        return finding

    def _suggestions(self, label: Label) -> tuple[str, ...]:
        """Return similar labels of items that exist, here or elsewhere."""
        near = (each for each in similar_labels(label) if self._items.find(each.canonical))
        found = [each.spelling for each in islice(near, _MOST_SUGGESTIONS)]
        if found:
            return tuple(found)
        now = instant_of(self._clock.wall())
        try:
            return tuple(
                text
                for text in did_you_mean(label.spelling, now)
                if self._finder.find(parse(text, strict=True)).holders
            )
        except TooManyRequestsError:
            return ()

    def check_name(self, label: Label) -> None:
        """Raise HeldElsewhereError if another archive is found to have an item of this name."""
        for holder in self._finder.find(label).holders:
            raise HeldElsewhereError(label.spelling, holder.service, holder.address, holder.state)

    def check_adoptable(self, label: Label) -> tuple[str, ...]:
        """Raise unless it is certain that no other archive has the Original, or deleted it.

        Copies do not matter. Returns the resolvers that were asked.
        """
        finding = self._finder.find(label)
        for holder in finding.holders:
            if holder.state != "Copy":
                raise HeldElsewhereError(
                    label.spelling, holder.service, holder.address, holder.state
                )
        if finding.doubts:
            msg = Sentence(
                "It is not certain that no other archive has %(label)s (%(doubts)s): try again "
                "later, or adopt it unasked, with --offline.",
                label=label,
                doubts=series(finding.doubts),
            )
            raise StateError(msg)
        return finding.asked

    def language_elsewhere(self, label: Label) -> Language:
        """Return the language of an item that another archive has; raise if it is not known."""
        for holder in self._found_elsewhere(label).holders:
            language = self._finder.language(label, holder.address)
            if language is not None:
                return language
        raise unknown_language(label)

    def record_elsewhere(self, label: Label) -> tuple[MetadataRecord, tuple[str, ...]]:
        """Return the metadata of an item that another archive has, and why they are uncertain."""
        finding = self._found_elsewhere(label)
        for holder in sorted(finding.holders, key=lambda each: each.state != "Original"):
            record = self._finder.record(label, holder.address)
            if record is None:
                continue
            if holder.state == "Original":
                return record, ()
            what = Sentence("This is the description of a copy: the Original may have another.")
            return record, (what,)
        raise StateError(
            Sentence("The archives that have %(label)s do not tell its metadata.", label=label)
        )


def unknown_language(label: Label) -> StateError:
    """Return the error that the language of a translated item is not known."""
    msg = Sentence(
        "The language of %(label)s is not known here, so that nothing can be its translation: say "
        "it with --translated-from.",
        label=label,
    )
    return StateError(msg)


def _reason(finding: Finding) -> str:
    if not finding.asked:
        return Sentence(
            "it is not held here, and this archive is linked to no resolver that could know it"
        )
    if finding.doubts:
        return Sentence(
            "it is not held here, and where else is not known (%(doubts)s)",
            doubts=series(finding.doubts),
        )
    return Sentence("it is held neither here nor in any archive that the linked resolvers know")


def similar_labels(label: Label) -> Iterator[Label]:
    """Yield the labels that differ in one character, in two that are swapped, or by one less.

    A digit is replaced by digits and a letter by letters: a few hundred labels in all.
    """
    seen = {label.canonical}
    for text in _slips(label.spelling):
        try:
            similar = parse(text, strict=True)
        except LabelError:
            continue
        if similar.canonical not in seen:
            seen.add(similar.canonical)
            yield similar


def _slips(text: str) -> Iterator[str]:
    for at in range(len(text) - 1):
        yield text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    for at, character in enumerate(text):
        yield text[:at] + text[at + 1 :]
        for others in _CLASSES:
            if character in others:
                yield from (text[:at] + other + text[at + 1 :] for other in others)
