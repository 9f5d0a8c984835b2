"""What an administrator changes of an item that is there: as the JSON of the API, and done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from ibi.archive import acts
from ibi.archive.file_path import check_path
from ibi.errors import StateError
from ibi.identifier.label import Label, parse
from ibi.identifier.language import Language
from ibi.metadata.plain_record import record_from
from ibi.model.forms import Forms
from ibi.model.item import Item


class Amendment(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What is to be different; what is left out stays, null takes it away."""

    metadata: dict[str, Any] | UnsetType = UNSET
    language: str | UnsetType | None = UNSET
    target: str | UnsetType = UNSET
    list_public: bool | UnsetType = UNSET
    next_edition: str | UnsetType | None = UNSET
    previous_edition: str | UnsetType | None = UNSET
    translations: dict[str, str | None] | UnsetType = UNSET
    """By language; those that are not named stay."""
    further_names: list[str] | UnsetType = UNSET
    """Names that are added; a name that was given stays for ever."""


def described(metadata: Item, amendment: Amendment, now: int) -> Item:
    """Return the metadata item with what it says from now on."""
    if isinstance(amendment.metadata, UnsetType):
        return metadata
    acts.check_editable(metadata)
    record = record_from(amendment.metadata)
    return metadata if record == metadata.record else replace(metadata, record=record, updated=now)


def amended(
    item: Item,
    amendment: Amendment,
    now: int,
    find: Callable[[Forms], Item | None],
    has_file: Callable[[str], bool],
) -> Item:
    """Return the item as it is from now on; the same one if nothing changes."""
    acts.check_editable(item)
    before = item
    if not isinstance(amendment.language, UnsetType):
        item = replace(item, language=_language(amendment.language))
    if not isinstance(amendment.target, UnsetType):
        item = replace(item, target=_target(item, amendment.target, has_file))
    if not isinstance(amendment.list_public, UnsetType):
        item = replace(item, list_public=amendment.list_public)
    if not isinstance(amendment.previous_edition, UnsetType):
        item = replace(item, previous_edition=_forms(amendment.previous_edition, find))
    if not isinstance(amendment.next_edition, UnsetType):
        item = _with_next_edition(item, amendment.next_edition, now, find)
    if not isinstance(amendment.translations, UnsetType):
        for code, text in amendment.translations.items():
            item = acts.with_translation(item, Language.parse(code), _forms(text, find), now)
    if not isinstance(amendment.further_names, UnsetType):
        names: list[Label] = [parse(name, strict=True) for name in amendment.further_names]
        new = [name for name in dict.fromkeys(names) if name not in tuple(item.names)]
        item = replace(item, further_names=(*item.further_names, *new))
    return item if item == before else replace(item, updated=now)


def _with_next_edition(
    item: Item, text: str | None, now: int, find: Callable[[Forms], Item | None]
) -> Item:
    forms = _forms(text, find)
    if forms is None:
        return replace(item, next_edition=None)
    return acts.succeeded(replace(item, next_edition=None), forms, now, find)


def _target(item: Item, path: str, has_file: Callable[[str], bool]) -> str:
    target = check_path(path)
    if item.kind != "data" or item.runs_at or not has_file(target):
        msg = f"{item.forms.label} has no file {target!r} that could be its target."
        raise StateError(msg)
    return target


def _language(text: str | None) -> Language | None:
    return Language.parse(text) if text else None


def _forms(text: str | None, find: Callable[[Forms], Item | None]) -> Forms | None:
    """Return all forms that are known of a label: those of the item, if it is held here."""
    if not text:
        return None
    forms = Forms.of(parse(text))
    held = find(forms)
    return forms if held is None else held.forms
