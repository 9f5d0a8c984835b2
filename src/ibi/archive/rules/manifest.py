"""The manifest of an item: a JSON file beside its files, with everything known about the item.

The catalogue keeps the same text without the list of files. The manifests alone suffice to rebuild
the catalogue, and can be read without this program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields as dataclass_fields
from typing import Any, Final

import msgspec

from ibi.archive.ports.catalogue import ManifestItem
from ibi.errors import IbiError, StorageError
from ibi.identifier.label import Label, parse
from ibi.identifier.language import Language
from ibi.model.item import File, Item, Kind, State, Tombstone, Transfer
from ibi.model.label_pair import Forms
from ibi.model.metadata_record import Agent, MetadataRecord

VERSION: Final = 1
_FIELDS: Final = tuple(field.name for field in dataclass_fields(MetadataRecord))


class _Tombstone(msgspec.Struct, omit_defaults=True):
    deleted: int
    who: str
    reason: str
    replaced_by: str = ""


class _Document(msgspec.Struct, omit_defaults=True):
    """An item, its labels in their issued spelling; empty fields are left out."""

    version: int
    forms: str
    further_names: list[str] = []
    state: str = "Original"
    kind: Kind = "data"
    transferable: bool = True
    language: str = ""
    target: str = ""
    target_chosen: bool = True
    runs_at: str = ""
    created: int = 0
    updated: int = 0
    metadata: str = ""
    describes: str = ""
    previous_edition: str = ""
    next_edition: str = ""
    translations: dict[str, str] = {}
    collections: list[str] = []
    list_public: bool = True
    readers: list[str] = []
    platform_software: str = ""
    origin: str = ""
    transfer: Transfer | None = None
    custody: list[str] = []
    record: MetadataRecord | None = None
    tombstone: _Tombstone | None = None


class _Manifest(_Document, omit_defaults=True, kw_only=True):
    """An item with its files, and with its number and version in the catalogue."""

    files: list[File] = []
    number: int = 0
    changes: int = 0


_ENCODE: Final = msgspec.json.Encoder().encode
_DECODE: Final = msgspec.json.Decoder(_Document).decode
_DECODE_MANIFEST: Final = msgspec.json.Decoder(_Manifest).decode


def document(item: Item) -> str:
    """Encode an item for the catalogue."""
    return _ENCODE(_Document(**_fields(item))).decode()


def manifest(item: Item, files: Sequence[File], number: int = 0, version: int = 0) -> bytes:
    """Encode an item and its files, one field a line, readable for people too.

    With its number and version in the catalogue, a rebuilt catalogue equals the lost one.
    """
    written = _Manifest(**_fields(item), files=list(files), number=number, changes=version)
    return _text_of(written)


def _text_of(written: _Manifest) -> bytes:
    return msgspec.json.format(_ENCODE(written)) + b"\n"


def read_document(text: str | bytes) -> Item:
    """Decode what `document` encoded; raise StorageError if the text is damaged."""
    with _readable("of the catalogue"):
        return _item(_DECODE(text))


def read_manifest(text: bytes, place: str = "a manifest") -> tuple[Item, tuple[File, ...]]:
    """Decode a manifest; raise StorageError if it is damaged or of a later version."""
    kept = read_kept(text, place)
    return kept.item, kept.files


def read_kept(text: bytes, place: str = "a manifest") -> ManifestItem:
    """Decode a manifest with number and version, which are 0 where the manifest has none."""
    with _readable(place):
        read = _DECODE_MANIFEST(text)
        if read.version > VERSION:
            raise StorageError(place, f"its manifest is of version {read.version}, newer than this")
        return ManifestItem(_item(read), tuple(read.files), read.number, read.changes)


@contextmanager
def _readable(place: str) -> Iterator[None]:
    try:
        yield
    except StorageError:
        raise
    # RecursionError: JSON that is nested too deep.
    except (msgspec.MsgspecError, ValueError, IbiError, RecursionError) as fault:
        reason = f": {fault}" if isinstance(fault, IbiError) else ""
        raise StorageError(place, f"its manifest cannot be read{reason}".rstrip(".")) from fault


def _fields(item: Item) -> dict[str, Any]:
    tombstone = item.tombstone
    return {
        "version": VERSION,
        "forms": str(item.forms),
        "further_names": [name.spelling for name in item.further_names],
        "state": str(item.state),
        "kind": item.kind,
        "transferable": item.transferable,
        "language": str(item.language) if item.language else "",
        "target": item.target,
        "target_chosen": item.target_chosen,
        "runs_at": item.runs_at,
        "created": item.created,
        "updated": item.updated,
        "metadata": _text(item.metadata),
        "describes": _text(item.describes),
        "previous_edition": _text(item.previous_edition),
        "next_edition": _text(item.next_edition),
        "translations": {str(language): str(forms) for language, forms in item.translations},
        "collections": [str(forms) for forms in item.collections],
        "list_public": item.list_public,
        "readers": list(item.readers),
        "platform_software": _text(item.platform_software),
        "origin": item.origin,
        "transfer": item.transfer,
        "custody": list(item.custody),
        "record": None if item.record is None else _record(item.record),
        "tombstone": None
        if tombstone is None
        else _Tombstone(
            tombstone.deleted, tombstone.who, tombstone.reason, _text(tombstone.replaced_by)
        ),
    }


def _record(record: MetadataRecord) -> dict[str, Any]:
    """Return a record to be encoded, without the later fields that are empty.

    Manifests are compared byte for byte: by the audit with their re-encoding, by a transfer with
    those of the other archive, by a bag with its checksums. So a record without the later fields is
    written as it was before there were any.
    """
    written = {name: getattr(record, name) for name in _FIELDS}
    written["creators"] = [_agent(each) for each in record.creators]
    written["publishers"] = [_agent(each) for each in record.publishers]
    written["contributors"] = [_agent(each) for each in record.contributors]
    for name in ("related", "funding"):
        if not written[name]:
            del written[name]
    return written


def _agent(agent: Agent) -> dict[str, str]:
    written = {each: getattr(agent, each) for each in ("name", "family", "given", "orcid")}
    later = {"affiliation": agent.affiliation, "role": agent.role}
    return written | {name: text for name, text in later.items() if text}


def _item(read: _Document) -> Item:
    buried = read.tombstone
    return Item(
        forms=Forms.parse(read.forms),
        further_names=tuple(map(_label, read.further_names)),
        state=State(read.state),
        kind=read.kind,
        transferable=read.transferable,
        language=_language(read.language),
        target=read.target,
        target_chosen=read.target_chosen,
        runs_at=read.runs_at,
        created=read.created,
        updated=read.updated,
        metadata=_forms(read.metadata),
        describes=_forms(read.describes),
        previous_edition=_forms(read.previous_edition),
        next_edition=_forms(read.next_edition),
        translations=tuple(
            (Language.parse(language), Forms.parse(forms))
            for language, forms in read.translations.items()
        ),
        collections=tuple(map(Forms.parse, read.collections)),
        list_public=read.list_public,
        readers=tuple(read.readers),
        platform_software=_forms(read.platform_software),
        origin=read.origin,
        transfer=read.transfer,
        custody=tuple(read.custody),
        record=read.record,
        tombstone=None
        if buried is None
        else Tombstone(buried.deleted, buried.who, buried.reason, _forms(buried.replaced_by)),
    )


def _text(forms: Forms | None) -> str:
    return "" if forms is None else str(forms)


def _forms(text: str) -> Forms | None:
    return Forms.parse(text) if text else None


def _language(text: str) -> Language | None:
    return Language.parse(text) if text else None


def _label(text: str) -> Label:
    return parse(text, strict=True)
