"""The languages of an item: those that it is written in, and those that it is offered in."""

from __future__ import annotations

from collections import Counter

from ibi.identifier.language import Language
from ibi.identifier.language_preference import LanguagePreference, nearest
from ibi.metadata.record_languages import in_language, languages_of
from ibi.model.item import Item
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import MetadataRecord


def own_languages(item: Item) -> tuple[Language | None, ...]:
    """Return the languages that an item is written in, the main one first; None is unknown.

    Only metadata are written in several: their record has each text with its language.
    """
    if item.record is None:
        return (item.language,)
    return languages_of(item.record, item.language)


def offers(item: Item) -> dict[Language | None, Forms | None]:
    """Return the languages in which an item is offered, each with its labels; None is the item.

    Its own languages count as translations, unless the item says otherwise. The order is that of
    the labels in time, so that the first deposited comes first. Where a language is offered for
    several countries and not without one, the language alone leads to the first of them: pairs are
    written in the order of their names, and a resolver could not see which one that is.
    """
    known: dict[Language | None, Forms | None] = dict.fromkeys(own_languages(item))
    known |= dict(item.translations)
    ordered = sorted(known, key=lambda each: (known[each] or item.forms).label.instant)
    offered = {language: known[language] for language in ordered}
    countries = Counter(each.code for each in ordered if each is not None and each.country)
    for language in ordered:
        if language is not None and countries[language.code] > 1:
            offered.setdefault(Language(language.code), offered[language])
    return offered


def preferred(metadata: Item, preference: LanguagePreference) -> Language | None:
    """Return the language in which a reader gets metadata; the main one if none is preferred."""
    languages = own_languages(metadata)
    known = [each for each in languages if each is not None]
    return preference.look_up(known) or languages[0]


def record_for(metadata: Item | None, preference: LanguagePreference) -> MetadataRecord | None:
    """Return the record with its texts in the language that a reader prefers of those it has."""
    if metadata is None or metadata.record is None:
        return None
    return in_language(metadata.record, metadata.language, preferred(metadata, preference))


def record_to_cite(item: Item, metadata: Item | None) -> MetadataRecord | None:
    """Return the record by which all readers cite an item: in the item's own language.

    The texts are those in the main language of the record, if it has none in that of the item.
    """
    if metadata is None or metadata.record is None:
        return None
    known = [each for each in own_languages(metadata) if each is not None]
    wanted = str(item.language or next(iter(metadata.record.languages), ""))
    best = nearest(wanted, known) or own_languages(metadata)[0]
    return in_language(metadata.record, metadata.language, best)


def translated(metadata: Item, wanted: Language) -> MetadataRecord | None:
    """Return the record in a language or in the nearest one; None if there is none."""
    if metadata.record is None:
        return None
    known = [each for each in own_languages(metadata) if each is not None]
    best = nearest(str(wanted), known)
    return None if best is None else in_language(metadata.record, metadata.language, best)
