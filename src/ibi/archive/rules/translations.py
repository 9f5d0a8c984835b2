"""Translations: a group of items, one for each language, each of which lists all the others.

A group is either of items or of metadata. Metadata may have texts in several languages themselves;
then they stand in their group for each of these. Items that other archives hold, or that are Copies
here, are listed but not changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ibi.archive.rules.item_languages import own_languages
from ibi.archive.rules.item_transitions import Draft
from ibi.errors import Sentence, StateError
from ibi.identifier.language import Language
from ibi.model.item import Item
from ibi.model.label_pair import Forms

_Group = dict[Language, Forms]


def check_free(item: Item, language: Language) -> None:
    """Raise if the group of an item has a translation into a language already."""
    if item.kind == "metadata":
        msg = Sentence(
            "%(label)s are metadata: they are described in further languages.",
            label=item.forms.label,
        )
        raise StateError(msg)
    _check_kind(item)
    if language in _group(item):
        raise StateError(
            Sentence(
                "%(label)s has a translation into %(language)s already.",
                label=item.forms.label,
                language=language,
            )
        )


def join(draft: Draft, forms: Forms, language: Language, other: Forms) -> None:
    """Make another item a translation of an item, and join their groups."""
    item, translation = _found(draft, forms), draft.find(other)
    _check_kind(item)
    if language in own_languages(item) and not item.forms.names(other):
        msg = Sentence(
            "%(label)s is in %(language)s itself: %(other)s is no translation of it.",
            label=forms.label,
            language=language,
            other=other.label,
        )
        raise StateError(msg)
    theirs: _Group = {}
    if translation is not None:
        _check_kind(translation, item)
        _check_language(translation, language)
        theirs = _group(translation)
    theirs = {language: other} | {
        into: each
        for into, each in theirs.items()
        if not each.names(other) or into.code != language.code
    }
    ours = _group(item)
    for into in ours.keys() & theirs.keys():
        if not ours[into].names(theirs[into]):
            raise StateError(
                Sentence(
                    "%(label)s has a translation into %(language)s already.",
                    label=forms.label,
                    language=into,
                )
            )
    for member in (forms, *ours.values()):
        _tell(draft, member, theirs)
    for member in theirs.values():
        _tell(draft, member, ours)


def part(draft: Draft, forms: Forms, language: Language) -> None:
    """Remove the translation into a language from the group of an item."""
    group = _group(_found(draft, forms))
    leaving = dict(_found(draft, forms).translations).get(language)
    if leaving is None:
        return
    staying = [forms, *(each for each in group.values() if not each.names(leaving))]
    for member in staying:
        _forget(draft, member, [leaving])
    if not leaving.names(forms):
        _forget(draft, leaving, staying)


def move(draft: Draft, forms: Forms, language: Language | None) -> None:
    """Change the language of an item, in its whole group."""
    item = _found(draft, forms)
    group = _group(item)
    taken = group.get(language) if language is not None else None
    if taken is not None and not taken.names(forms):
        raise StateError(
            Sentence(
                "%(label)s has a translation into %(language)s already.",
                label=forms.label,
                language=language,
            )
        )
    draft.put(replace(item, language=language))
    spread(draft, forms)


def spread(draft: Draft, forms: Forms) -> None:
    """Tell the group of an item in which languages the item is now."""
    item = _found(draft, forms)
    for language in _own(item).keys() & dict(item.translations).keys():
        raise StateError(
            Sentence(
                "%(label)s has a translation into %(language)s already.",
                label=forms.label,
                language=language,
            )
        )
    for _, member in item.translations:
        _forget(draft, member, [forms])
        _tell(draft, member, _own(item))


def _found(draft: Draft, forms: Forms) -> Item:
    item = draft.find(forms)
    assert item is not None  # noqa: S101  # it is the one that the act is about
    return item


def _group(item: Item) -> _Group:
    return dict(item.translations) | _own(item)


def _own(item: Item) -> _Group:
    return {language: item.forms for language in own_languages(item) if language is not None}


def _check_language(item: Item, language: Language) -> None:
    own = [str(each) for each in _own(item)]
    if own and language.code not in {each.code for each in _own(item)}:
        msg = Sentence(
            "%(label)s is in %(own)s: it is no translation into %(language)s.",
            label=item.forms.label,
            own=", ".join(own),
            language=language,
        )
        raise StateError(msg)


def _check_kind(item: Item, of: Item | None = None) -> None:
    if item.kind == "service":
        raise StateError(
            Sentence("%(label)s is not an item that has translations.", label=item.forms.label)
        )
    if of is not None and item.kind != of.kind:
        msg = Sentence(
            "%(label)s is no translation of %(original)s: only items are translations of items, "
            "and metadata of metadata.",
            label=item.forms.label,
            original=of.forms.label,
        )
        raise StateError(msg)


def _tell(draft: Draft, forms: Forms, news: _Group) -> None:
    item = draft.editable(forms)
    if item is None:
        return
    known = dict(item.translations)
    for language, other in news.items():
        if other.names(item.forms):
            continue
        if language in own_languages(item) or not known.get(language, other).names(other):
            raise StateError(
                Sentence(
                    "%(label)s has a translation into %(language)s already.",
                    label=forms.label,
                    language=language,
                )
            )
        known.setdefault(language, other)
    draft.put(replace(item, translations=_sorted(known.items())))


def _forget(draft: Draft, forms: Forms, others: Iterable[Forms]) -> None:
    item = draft.editable(forms)
    if item is None:
        return
    gone = tuple(others)
    kept = [pair for pair in item.translations if not any(pair[1].names(each) for each in gone)]
    draft.put(replace(item, translations=_sorted(kept)))


def _sorted(pairs: Iterable[tuple[Language, Forms]]) -> tuple[tuple[Language, Forms], ...]:
    return tuple(sorted(pairs, key=lambda pair: str(pair[0])))
