"""Changes of an existing item: the JSON of the API, and its effect on items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from ibi.archive.rules import access, editions, item_transitions, translations
from ibi.archive.rules.collections import membership
from ibi.archive.rules.deposit_request import NewItem
from ibi.archive.rules.file_path import check_path
from ibi.archive.rules.item_languages import own_languages
from ibi.archive.rules.item_transitions import Draft
from ibi.errors import Sentence, StateError
from ibi.identifier.label import Label, parse
from ibi.identifier.language import Language
from ibi.metadata.json_record import new_record_from
from ibi.metadata.record_languages import with_texts
from ibi.model.item import Item
from ibi.model.label_pair import Forms


class Amendment(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Fields to change; an absent field stays as it is, null removes its value."""

    metadata: dict[str, Any] | UnsetType = UNSET
    """The whole record, in all its languages."""
    texts: dict[str, dict[str, Any] | None] | UnsetType = UNSET
    """Titles, descriptions and subjects by language, which replace those in that language; the
    main language has an empty key. Null removes a language."""
    language: str | UnsetType | None = UNSET
    target: str | UnsetType = UNSET
    list_public: bool | UnsetType = UNSET
    readers: list[str] | UnsetType | None = UNSET
    """Networks from which the files may be read; none, or null, means everywhere."""
    transferable: bool | UnsetType = UNSET
    """Whether the Original may be transferred to another archive."""
    platform_software: str | UnsetType | None = UNSET
    """The label of the software that runs the item; null for that of the archive."""
    next_edition: str | UnsetType | None = UNSET
    previous_edition: str | UnsetType | None = UNSET
    translations: dict[str, str | None] | UnsetType = UNSET
    """Labels of translations by language; languages that are not named stay as they are."""
    further_names: list[str] | UnsetType = UNSET
    """Names to add; a name of an item is never removed."""
    unchecked: bool = False
    """Whether editions and translations may be items that no archive is found to hold."""


def describe(draft: Draft, forms: Forms, amendment: Amendment) -> None:
    """Apply the changes of the record of a metadata item."""
    metadata = draft.find(forms)
    if metadata is not None:
        after = _described(metadata, amendment)
        draft.put(after)
        if own_languages(after) != own_languages(metadata):
            translations.spread(draft, forms)


def _described(metadata: Item, amendment: Amendment) -> Item:
    record = metadata.record
    if not isinstance(amendment.metadata, UnsetType):
        item_transitions.check_editable(metadata)
        record = new_record_from(amendment.metadata, record)
    if not isinstance(amendment.texts, UnsetType):
        item_transitions.check_editable(metadata)
        for code, texts in amendment.texts.items():
            if record is not None:
                record = with_texts(record, metadata.language, _language(code), texts)
    return replace(metadata, record=record)


def amended(item: Item, amendment: Amendment, has_file: Callable[[str], bool]) -> Item:
    """Apply the changes that concern the item alone; return the same item if there are none."""
    item_transitions.check_editable(item)
    if not isinstance(amendment.target, UnsetType):
        target = _target(item, amendment.target, has_file)
        item = replace(item, target=target, target_chosen=True)
    if not isinstance(amendment.list_public, UnsetType):
        _check_data(item)
        item = replace(item, list_public=amendment.list_public)
    if not isinstance(amendment.readers, UnsetType):
        item = replace(item, readers=_readers(item, amendment.readers or []))
    if not isinstance(amendment.transferable, UnsetType):
        _check_markable(item)
        item = replace(item, transferable=amendment.transferable)
    return replace(item, further_names=(*item.further_names, *new_names(item, amendment)))


def new_names(item: Item, amendment: Amendment) -> list[Label]:
    """Return the further names that the item does not have yet."""
    if isinstance(amendment.further_names, UnsetType):
        return []
    names: list[Label] = [parse(name, strict=True) for name in amendment.further_names]
    return [name for name in dict.fromkeys(names) if name not in tuple(item.names)]


def new_relations(item: Item, amendment: Amendment) -> list[Label]:
    """Return the editions and translations that the item is not related to yet."""
    pairs = [
        (amendment.previous_edition, item.previous_edition),
        (amendment.next_edition, item.next_edition),
    ]
    if not isinstance(amendment.translations, UnsetType):
        known = dict(item.translations)
        pairs += [
            (text, known.get(Language.parse(code))) for code, text in amendment.translations.items()
        ]
    labels = [
        (parse(text, strict=True), tuple(forms or ()))
        for text, forms in pairs
        if text is not None and not isinstance(text, UnsetType)
    ]
    return [label for label, present in labels if label not in present]


def relate_new(draft: Draft, item: Item, wanted: NewItem) -> Item:
    """Relate a new item to its software, editions, translations and collections; return it."""
    if wanted.platform_software is not None:
        item = replace(item, platform_software=draft.forms_of(wanted.platform_software))
    draft.add(item)
    if wanted.edition_of is not None:
        editions.join(draft, draft.forms_of(wanted.edition_of), item.forms)
    if wanted.translation_of is not None and wanted.language is not None:
        original = draft.forms_of(wanted.translation_of)
        if draft.find(original) is not None:
            translations.join(draft, original, wanted.language, item.forms)
        elif wanted.translated_from is not None:
            translations.join(draft, item.forms, wanted.translated_from, original)
    for label in wanted.collections:
        collection = membership.find_collection(draft, label)
        membership.add(draft, collection, draft.find(item.forms) or item)
    return draft.find(item.forms) or item


def relate(draft: Draft, forms: Forms, amendment: Amendment) -> None:
    """Apply the changes that name or concern related items: language, software, editions ..."""
    if not isinstance(amendment.language, UnsetType):
        _set_language(draft, forms, _language(amendment.language))
    if not isinstance(amendment.platform_software, UnsetType):
        _set_software(draft, forms, _forms(amendment.platform_software, draft.find))
    if not isinstance(amendment.previous_edition, UnsetType):
        _set_previous(draft, forms, _forms(amendment.previous_edition, draft.find))
    if not isinstance(amendment.next_edition, UnsetType):
        _set_next(draft, forms, _forms(amendment.next_edition, draft.find))
    if not isinstance(amendment.translations, UnsetType):
        for code, text in amendment.translations.items():
            _translate(draft, forms, Language.parse(code), _forms(text, draft.find))


def _set_language(draft: Draft, forms: Forms, language: Language | None) -> None:
    """Change the language of an item, and that of its metadata if both were in the same."""
    item = draft.find(forms)
    translations.move(draft, forms, language)
    metadata = draft.editable(item.metadata) if item is not None and item.metadata else None
    if item is not None and metadata is not None and metadata.language == item.language:
        translations.move(draft, metadata.forms, language)


def _set_software(draft: Draft, forms: Forms, software: Forms | None) -> None:
    item = draft.find(forms)
    if item is None:
        return
    if item.kind != "data":
        msg = Sentence(
            "%(label)s runs on the software of the archive, which is a setting of it.",
            label=item.forms.label,
        )
        raise StateError(msg)
    draft.put(replace(item, platform_software=software))


def _set_previous(draft: Draft, forms: Forms, wanted: Forms | None) -> None:
    item = draft.find(forms)
    before = None if item is None else item.previous_edition
    if before is not None and (wanted is None or not before.names(wanted)):
        editions.part(draft, before, forms)
    if wanted is not None:
        editions.join(draft, wanted, forms)


def _set_next(draft: Draft, forms: Forms, wanted: Forms | None) -> None:
    item = draft.find(forms)
    before = None if item is None else item.next_edition
    if before is not None and (wanted is None or not before.names(wanted)):
        editions.part(draft, forms, before)
    if wanted is not None:
        editions.join(draft, forms, wanted)


def _translate(draft: Draft, forms: Forms, language: Language, wanted: Forms | None) -> None:
    item = draft.find(forms)
    before = None if item is None else dict(item.translations).get(language)
    if before is not None and (wanted is None or not before.names(wanted)):
        translations.part(draft, forms, language)
    if wanted is not None:
        translations.join(draft, forms, language, wanted)


def _check_data(item: Item) -> None:
    if item.kind == "metadata":
        raise StateError(
            Sentence("%(label)s are metadata: they have no list of files.", label=item.forms.label)
        )


def _check_markable(item: Item) -> None:
    label = item.forms.label
    if item.kind == "metadata":
        raise StateError(
            Sentence(
                "%(label)s are metadata: they stay, or go, with the item they describe.",
                label=label,
            )
        )
    if item.kind == "service":
        raise StateError(
            Sentence(
                "%(label)s is the service of this archive, which is never transferred.", label=label
            )
        )


def _target(item: Item, path: str, has_file: Callable[[str], bool]) -> str:
    target = check_path(path)
    if item.kind != "data" or item.runs_at or not has_file(target):
        msg = Sentence(
            "%(label)s has no file %(target)s that could be its target.",
            label=item.forms.label,
            target=repr(target),
        )
        raise StateError(msg)
    return target


def _readers(item: Item, texts: list[str]) -> tuple[str, ...]:
    readers = access.networks(texts)
    if readers and (item.kind != "data" or item.runs_at):
        msg = Sentence(
            "%(label)s has no files here whose readers could be limited.", label=item.forms.label
        )
        raise StateError(msg)
    return readers


def _language(text: str | None) -> Language | None:
    return Language.parse(text) if text else None


def _forms(text: str | None, find: Callable[[Forms], Item | None]) -> Forms | None:
    """Return both label forms of a related item if this archive has it, else the one given."""
    if not text:
        return None
    forms = Forms.of(parse(text))
    held = find(forms)
    return forms if held is None else held.forms
